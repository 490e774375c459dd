"""Killed after every append while a run is turned back, or while a fork of it begins: once turned back, once forked."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from runtime.operations.run_controls import RunControls
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events
from tests.runtime.chaos.conftest import Tried
from tests.runtime.chaos.harness import ME, Place
from tests.runtime.chaos.pairs import Pair, clone

AT_ONCE = 4
AT = "swarm(noter...)~0/parallel~1/note~0.1"
ONCE = Counter(["note one", "note two", "note p0", "note p1", "note p2", "look p"])


async def _completed(place: Callable[[str], Place]) -> tuple[Path, str]:
    """Where a run has come to its end, and the run."""
    async with place("origin") as found:
        run = await found.start("zoo:workflow")
        await found.to_the_end([run])
    return found.root, run


async def _copy(pair: Pair, origin: Path, name: str) -> str:
    await clone(pair, origin, origin.with_name(name))
    return name


async def _deaths(one: Callable[[int], Awaitable[int]]) -> int:
    deaths = 0
    for n in range(1, 100, AT_ONCE):
        died = await asyncio.gather(*(one(n + each) for each in range(AT_ONCE)))
        deaths += sum(died)
        if not all(died):
            return deaths
    raise AssertionError("it never lived to its end")


@pytest.mark.timeout(600)
async def test_a_rewind_is_done_once_however_often_its_process_dies(
    pair: Pair, place: Callable[[str], Place], tried: Tried
) -> None:
    origin, run = await _completed(place)

    async def one(n: int) -> int:
        async with place(await _copy(pair, origin, f"rewind-{n}")) as found:
            assert found.effects == ONCE
            await RunControls(found.journal).rewind(run, AT, confirm=True, by=ME)
            died, doubts = await found.to_the_end([run], die_after=n)
            events = await found.journal.read(run)
            state = fold_events(events)
            assert (state.phase, state.anomalies, state.output) == ("completed", 0, "done: three notes")
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            assert sum(isinstance(event, ev.RunRewound) for event in events) == 1
            assert len(state.rewound) == 1
            again = found.effects - ONCE
            assert set(again) <= {"note p1"}, "nothing else is done a second time"
            assert again["note p1"] == 1 or doubts, "it is done again, unless an operator said that it had been"
        return died

    tried("SIGKILL after an append of a run that is turned back", await _deaths(one))


@pytest.mark.timeout(600)
async def test_a_fork_begins_whole_or_not_at_all_however_often_its_process_dies(
    pair: Pair, place: Callable[[str], Place], tried: Tried
) -> None:
    origin, run = await _completed(place)

    async def one(n: int) -> int:
        async with place(await _copy(pair, origin, f"fork-{n}")) as found:
            before = await found.journal.read(run)
            forked = await RunControls(found.journal).fork(run, AT, by=ME)
            died, doubts = await found.to_the_end([forked], die_after=n)
            state = fold_events(await found.journal.read(forked))
            assert (state.phase, state.anomalies, state.output) == ("completed", 0, "done: three notes")
            again = found.effects - ONCE
            assert set(again) <= {"note p1"}
            assert again["note p1"] == 1 or doubts
            assert await found.journal.read(run) == before, "its source is left alone"
        return died

    tried("SIGKILL after an append of a fork", await _deaths(one))
