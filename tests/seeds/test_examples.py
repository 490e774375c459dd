"""The examples in the manner of seeds 002, 003 and 004: each fails as its seed says, and goes on after an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.console.example import Example


def option_ids(incident: dict[str, Any]) -> list[str]:
    return [option["id"] for option in incident["options"]]


@pytest.fixture
def example(tmp_path: Path, request: pytest.FixtureRequest) -> Example:
    return Example(tmp_path, request.param)


@pytest.mark.parametrize("example", ["sensor_history.py"], indirect=True)
def test_002_the_author_says_what_failed_and_the_operator_corrects_it(example: Example) -> None:
    run = ("run", "sensor_history.py:control_room", "How was the pressure today?")
    (asked,) = example.waits(*run)
    assert asked["fault"]["user_message"] == "The archive has no channel named main_pressure"
    report = example.say("report", asked["id"])
    assert report.startswith("**What:** The archive has no channel named main_pressure\n")
    assert "Take one of these channels: pressure, temperature" in report
    assert "**Error Message:** The archive has no channel named main_pressure" in report
    assert "Retry attempts: 1" in report  # the refused connection
    example.say("answer", asked["id"], "edit", "--arguments", '{"channel": "pressure"}')
    end = example.end_of(run)
    assert end["state"] == "completed"
    assert end["output"].startswith("Today's values: 1.2 bar, 1.3 bar, 1.9 bar")


@pytest.mark.parametrize("example", ["market_report.py"], indirect=True)
def test_003_a_rate_limit_waits_for_an_operator_and_a_permission_is_granted(example: Example, tmp_path: Path) -> None:
    run = ("run", "market_report.py:desk", "Lamps")
    quota = tmp_path / "quota-is-used-up"
    quota.touch()
    (limited,) = example.waits(*run)
    assert (limited["fault"]["cause"], limited["fault"]["exception"]) == ("rate_limited", "RateLimitError")
    assert limited["fault"]["context"]["limit"] == 100
    assert {"retry", "wait_retry", "abort"} <= set(option_ids(limited))
    quota.unlink()
    example.say("answer", limited["id"], "retry")
    (locked,) = example.waits(*run, "--resume")
    assert "grant" in option_ids(locked)
    example.say("answer", locked["id"], "grant", "--for", "once")
    assert example.end_of(run)["output"] == "The report is out."
    assert (tmp_path / "market-report.txt").read_text() == "Lamps: 12.50\n"


@pytest.mark.parametrize("example", ["research_team.py"], indirect=True)
def test_004_an_optional_member_may_fail_and_a_spent_budget_is_extended(example: Example) -> None:
    run = ("run", "research_team.py:team", "Bees")
    (spent,) = example.waits(*run)
    assert spent["action"]["budget"]["limit"] == "max_tool_calls"
    assert option_ids(spent)[0] == "extend"
    example.say("answer", spent["id"], "extend", "--amount", "1")
    end = example.end_of(run)
    assert (end["state"], end["output"]) == ("degraded", "Bees dance, fly and sting.")
