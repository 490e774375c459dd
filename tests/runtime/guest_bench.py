"""What tests of guests under a runtime share: the files with the agents, and what is looked at of a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from runtime.record.inbox_row import InboxRow
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.swarms.loader import load_swarm
from tests.runtime.bench import ME, Bench

_SWARMS = Path(__file__).parents[1] / "data" / "swarms"
PYDANTIC_AI, LANGGRAPH, OPENAI_AGENTS = _SWARMS / "guests.py", _SWARMS / "graphs.py", _SWARMS / "openai_guests.py"
"""The file with the agents of each framework. An agent has the same name where it does the same."""


def starts(file: Path) -> Callable[..., Awaitable[str]]:
    """A function that starts an agent of the file, by its name."""

    async def start(bench: Bench, name: str, text: str = "go") -> str:
        return await bench.decisions.start(f"{file}:{name}", text, by=ME)

    return start


def options(incident: InboxRow) -> list[str]:
    return [option.id for option in incident.opened.options]


def effects(bench: Bench) -> list[str]:
    """What was done but for the requests to models."""
    return [each for each in bench.effects if each not in ("look model", "look m")]


async def two(bench: Bench, run: str) -> list[InboxRow]:
    """The two incidents of a run, in the order of their calls."""
    return sorted(await bench.incidents(run, 2), key=lambda each: each.opened.node_id)


async def asked(bench: Bench, run: str, question: str) -> InboxRow:
    """The incident that asks this, and perhaps says more after it on the same line."""

    def asks(incident: ev.IncidentOpened) -> bool:
        return incident.question == question or incident.question.startswith(f"{question} ")

    await bench.until(run, lambda state: any(asks(each.opened) for each in state.open_incidents))
    return next(each for each in await bench.journal.incidents(run) if asks(each.opened))


async def two_lives(bench: Bench, file: Path, name: str, option: str = "retry", *, at: str = "") -> DurableRun:
    """A run of an agent whose first life ends as it waits, at such a step; in the second one an answer ends it."""
    async with bench.driving(grace_s=0.0):
        run = await starts(file)(bench, name)
        (waiting,) = await bench.incidents(run)
        assert at in waiting.opened.node_id
        await bench.until(run, parked)
    async with bench.driving(grace_s=0.0):
        state = await bench.ended_by(waiting, option)
    assert (state.phase, state.lives) == ("completed", 2)
    return state


async def output_alone(file: Path, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What an agent gives without a runtime, in a folder of its own: its effects are in `effects` there."""
    folder.mkdir()
    (folder / "reached").touch()
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(folder / "effects"))
    return (await load_swarm(f"{file}:{name}", folder).run("go")).output


def parked(state: DurableRun) -> bool:
    return state.phase == "waiting"
