"""`metrics`, as a textfile collector and as a scraper use it."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.console.program import SWARM, Program

MANUAL = Path(__file__).parents[3] / "docs" / "monitoring"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    root = tmp_path_factory.mktemp("metrics")
    (root / "keeper.py").write_text(SWARM)
    program = Program(root)
    assert program("run", "keeper.py:swarm", "tea").returncode == 3
    return program


def values(text: str) -> dict[str, float]:
    """The samples, by name and the values of their labels."""
    return {
        " ".join((each.name, *each.labels.values())): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


def test_the_text_has_the_waiting_run_its_incident_and_its_calls(program: Program) -> None:
    done = program("metrics")
    assert done.returncode == 0, done.stderr
    found = values(done.stdout)
    assert found["orbiter_runs waiting"] == 1
    assert found["orbiter_runs failed"] == 0
    assert found["orbiter_incidents_open permission_denied"] == 1
    assert found["orbiter_incident_oldest_seconds"] > 0
    assert found["orbiter_attempts_total llm ok"] == 2
    assert found["orbiter_attempts_total tool ok"] == 1
    assert found["orbiter_tokens_total scripted:keeper input"] > 0


def test_a_scraper_gets_the_same_over_http_and_sees_what_came_since(program: Program) -> None:
    with program.start("metrics", "--listen", "127.0.0.1:0") as process:
        place = next(
            match[0] for line in process.stderr if (match := re.search(r"http://127\.0\.0\.1:\d+/metrics", line))
        )
        with urllib.request.urlopen(place, timeout=30) as reply:
            assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert values(reply.read().decode())["orbiter_runs waiting"] == 1
        (incident,) = program.json("incidents")
        assert program("answer", incident["id"], "deny").returncode == 0
        with urllib.request.urlopen(place, timeout=30) as reply:
            assert values(reply.read().decode())["orbiter_decisions_total deny cli"] == 1
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(place + "/other", timeout=30)


@pytest.mark.parametrize("place", ["9464", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:70000", "192.0.2.1:9464"])
def test_a_place_that_cannot_be_listened_on_is_bad_input(program: Program, place: str) -> None:
    done = program("metrics", "--listen", place)
    assert done.returncode == 2
    assert "127.0.0.1:9464" in done.stderr or "cannot listen on 192.0.2.1:9464" in done.stderr


def test_where_nothing_has_run_it_says_so(tmp_path: Path) -> None:
    done = Program(tmp_path)("metrics")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nothing has been run here yet" in done.stderr


def test_the_alert_rules_and_the_dashboard_ask_for_metrics_that_there_are(program: Program) -> None:
    there = set(re.findall(r"^# TYPE (\w+)", program("metrics").stdout, flags=re.MULTILINE))
    for name in ("alerts.yml", "dashboard.json"):
        text = (MANUAL / name).read_text()
        asked = {re.sub(r"_(bucket|sum|count)$", "", each) for each in re.findall(r"\borbiter_\w+", text)}
        assert asked
        assert asked <= there, name
    dashboard = json.loads((MANUAL / "dashboard.json").read_text())
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
