"""Killed after every append while failures heal: the later life goes on with the same remedy, and counts it once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from runtime.execution.failures.reroute import MAX_REROUTES
from runtime.record.state.durable_run import fold_events
from tests.runtime.chaos.conftest import Tried
from tests.runtime.chaos.harness import Place

AT_ONCE = 4


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("name", "text", "phase", "output"),
    [
        ("chained", "go", "completed", "good: go"),
        ("stood_in", "go", "completed", "good: good: go"),
        ("fits", "go", "completed", "read 2 pages"),
        ("team", "once", "completed", "lead: measured 21 degrees"),
        ("routed", "go", "completed", "good: "),
        ("degraded", "go", "degraded", "good: go"),
    ],
)
async def test_a_remedy_outlives_its_process(  # noqa: PLR0917 - a row of a table
    place: Callable[[str], Place], tried: Tried, name: str, text: str, phase: str, output: str
) -> None:
    async def one(n: int) -> int:
        async with place(str(n)) as found:
            run = await found.start(f"repair:{name}", text)
            died, doubts = await found.to_the_end([run], always={"max_attempts": 2}, die_after=n)
            state = fold_events(await found.journal.read(run))
        assert state.anomalies == 0
        for wish, limit in MAX_REROUTES.items():
            assert sum(each.remedy == wish for each in state.returned) <= limit
        if not doubts:
            assert (state.phase, not state.incidents) == (phase, True), n
            assert state.output.startswith(output)
        return died

    deaths = 0
    for n in range(1, 100, AT_ONCE):
        died = await asyncio.gather(*(one(n + each) for each in range(AT_ONCE)))
        deaths += sum(died)
        if not all(died):
            break
    tried(f"SIGKILL after an append of repair:{name}", deaths)
    assert deaths >= 3
