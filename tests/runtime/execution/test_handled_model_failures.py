"""Failures of models that an agent of another framework deals with itself: they go to it, as they do without us. Where
an exception comes out of all its code, a person is asked, once.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.record.state.durable_run import RUN_TERMINAL
from tests.data.swarms import (
    handled_model_failures as agents,  # the frameworks, before a limit of time holds for the import
)
from tests.runtime.bench import Bench
from tests.runtime.guest_bench import output_alone, parked, starts, two_lives

FILE = Path(agents.__file__)
start = starts(FILE)
ASKED_TWICE = ["ask first 1", "ask first 3"]
FELL_BACK = ["ask first 1", "ask second 1", "ask first 3"]


def requests(done: list[str]) -> list[str]:
    """The requests to models among what was done."""
    return [each for each in done if each.startswith(("ask ", "look "))]


@pytest.mark.parametrize(
    ("name", "gives"),
    [
        ("hook", ("first: waited for 429 slow_down 0 0.0", ASKED_TWICE)),
        ("around", ("first: waited for 429 slow_down 0 0.0", ASKED_TWICE)),
        ("fallback", ("first: waited for x", FELL_BACK)),
        ("fallback_model", ("first: waited for x", FELL_BACK)),
        ("inner", ("first: waited for x", FELL_BACK)),
        ("outer", ("first: waited for 429 slow_down 7 http://model.example/v1", ASKED_TWICE)),
        ("outer_fallback", ("first: waited for x", FELL_BACK)),
        ("as_tool", ("waited for x", ["look m", "ask helper", "look h", "look m", "look m"])),
        ("wrapper", ("waited for x", ["look f", "look m", "look f"])),
    ],
)
async def test_the_agent_is_told_as_it_is_alone_and_also_in_a_second_life(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, gives: tuple[str, list[str]]
) -> None:
    output, expected = gives
    state = await two_lives(bench, FILE, name, at="/wait~")
    assert (state.output, len(state.incidents)) == (output, 1)
    assert requests(bench.effects) == expected
    assert await output_alone(FILE, name, tmp_path / "alone", monkeypatch) == output
    made = (tmp_path / "alone" / "effects").read_text().splitlines()
    assert requests(made) == expected


@pytest.mark.parametrize("name", ["hook_raises", "fallback_raises", "outer_raises", "as_tool_raises"])
async def test_what_comes_out_is_asked_once_and_a_retry_goes_on(bench: Bench, name: str) -> None:
    (bench.root / "reached").touch()
    async with bench.driving(grace_s=0.0):
        run = await start(bench, name)
        (asked,) = await bench.incidents(run)
        assert "/llm~" in asked.opened.node_id
        await bench.until(run, parked)
        before = requests(bench.effects)
    async with bench.driving(grace_s=0.0):
        await bench.until(run, parked)
        assert await bench.incidents(run) == [asked]
        assert requests(bench.effects) == before
        state = await bench.ended_by(asked, "retry")
    assert (state.phase, len(state.incidents)) == ("completed", 1)
    assert bench.effects.count("note wait x") == 1


async def test_the_retries_of_middleware_and_ours_are_not_multiplied(bench: Bench) -> None:
    (bench.root / "reached").touch()
    async with bench.driving(grace_s=0.0, policy=RetryPolicy(max_attempts=4, base=0.01)):
        (asked,) = await bench.incidents(await start(bench, "retrying"))
        assert bench.effects == ["ask first 1"] * 3
        state = await bench.ended_by(asked, "retry")
    assert (state.output, len(state.incidents)) == ("first: waited for x", 1)
    assert bench.effects.count("ask first 1") == 4


BREAKING = FaultHandling(circuit_breaker_threshold=1, circuit_breaker_timeout=3000)


@pytest.mark.parametrize("name", ["fallback", "outer_fallback"])
async def test_an_open_breaker_lets_the_fallback_of_the_agent_go_at_once(bench: Bench, name: str) -> None:
    (bench.root / "reached").touch()
    async with bench.driving(errors=BREAKING):
        for _ in range(2):
            run = await start(bench, name)
            state = await bench.until(run, lambda each: bool(each.incidents) or each.phase in RUN_TERMINAL)
            assert (state.output, state.incidents) == ("second: waited for x", {})
    assert requests(bench.effects) == ["ask first 1", *["ask second 1", "ask second 3"] * 2]


@pytest.mark.parametrize(("opens", "name"), [("fallback", "hook_raises"), ("outer_fallback", "outer_raises")])
async def test_an_open_breaker_that_comes_out_of_the_agent_is_waited_for_and_the_request_made_once(
    bench: Bench, opens: str, name: str
) -> None:
    (bench.root / "reached").touch()
    async with bench.driving(errors=BREAKING, grace_s=0.0):
        await bench.ended(await start(bench, opens))
        run = await start(bench, name)
        (asked,) = await bench.incidents(run)
        assert (asked.opened.fault.cause, asked.opened.node_id) == ("circuit_open", f"{name}~0/llm~1")
        await bench.until(run, parked)
        assert bench.effects.count("ask first 1") == 1
    async with bench.driving(errors=BREAKING, grace_s=0.0):
        state = await bench.ended_by(asked, "reset")
    assert (state.output, len(state.incidents)) == ("first: waited for x", 1)
    assert bench.effects.count("ask first 1") == 2
