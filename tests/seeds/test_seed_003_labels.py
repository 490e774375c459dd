"""Seed 003: the labels of `UserRecoveryHandler._get_recovery_options`, by the cause of an error of user code."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.record.inbox_row import InboxRow
from tests.runtime.bench import ME, Bench

AUTHORS = Path(__file__).parents[1] / "data" / "swarms" / "authors.py"


async def start(bench: Bench, name: str) -> str:
    return await bench.decisions.start(f"{AUTHORS}:{name}", "go", by=ME)


async def opened(bench: Bench, name: str) -> InboxRow:
    (found,) = await bench.incidents(await start(bench, name))
    return found


def labels(found: InboxRow) -> dict[str, str]:
    return {option.id: option.label for option in found.opened.options}


async def test_9_a_validation_error_of_a_tool_takes_corrected_input_in_the_form_of_its_arguments(bench: Bench) -> None:
    async with bench.driving():
        found = await opened(bench, "strict_user")
        assert labels(found)["edit"] == "Provide corrected input"
        form = found.opened.arguments_schema
        assert form is not None
        assert list(form["properties"]) == ["amount"]
        assert found.opened.fault.context == {"field": "amount"}
        state = await bench.ended_by(found, "edit", arguments={"amount": "7"})
    assert state.phase == "completed"
    assert state.output.startswith("told: 7 it is")


async def test_9_a_validation_error_of_an_agent_takes_corrected_input(bench: Bench) -> None:
    async with bench.driving():
        found = await opened(bench, "demanding_agent")
        assert labels(found)["input"] == "Provide corrected input"
        state = await bench.ended_by(found, "input", value="the weather in Oslo")
    assert (state.phase, state.output) == ("completed", "heard: the weather in Oslo")


async def test_4_4_a_rate_limit_of_an_agent_offers_wait_and_retry_and_waits_as_long_as_the_error_says(
    bench: Bench,
) -> None:
    async with bench.driving():
        found = await opened(bench, "throttled_agent")
        assert found.opened.fault.retry_after_s == 0.05
        assert labels(found)["wait_retry"] == "Wait and retry"
        state = await bench.ended_by(found, "wait_retry")
    assert (state.phase, state.output) == ("completed", "heard: go")


async def test_4_4_a_rate_limit_of_a_tool_has_the_seeds_labels_and_nothing_to_check(bench: Bench) -> None:
    async with bench.driving():
        found = await opened(bench, "limited_user")
    offered = labels(found)
    assert list(offered)[:2] == ["wait_retry", "retry"]
    assert (offered["wait_retry"], offered["retry"], offered["abort"]) == (
        "Wait and retry",
        "Retry operation",
        "Abort execution",
    )


async def test_8_recoverable_true_offers_retry(bench: Bench) -> None:
    async with bench.driving():
        found = await opened(bench, "retryable_user")
    assert found.opened.fault.recoverable is True
    assert labels(found)["retry"] == "Retry operation"


async def test_8_recoverable_false_ends_the_repetition_and_takes_retry_away(bench: Bench) -> None:
    async with bench.driving():
        found = await opened(bench, "final_user")
    assert bench.effects == ["final"]
    assert not {"retry", "wait_retry"} & set(labels(found))


@pytest.mark.parametrize("name", ["strict_user", "final_user", "locked_user", "throttled_agent", "demanding_agent"])
async def test_10_no_suggestion_names_an_option_that_is_not_offered(bench: Bench, name: str) -> None:
    async with bench.driving():
        found = await opened(bench, name)
    offered = labels(found)
    said = " ".join(found.opened.fault.suggestions).lower()
    for word, option in (("grant", "grant"), ("another model", "switch_model"), ("wait and retry", "wait_retry")):
        assert word not in said or option in offered
    assert "retry" not in said or {"retry", "wait_retry"} & set(offered)
