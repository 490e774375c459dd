"""Seeds 001 to 004 after `kill -9`: what a run waits for, and what was decided for it, outlives its process.

Each life is a process of its own that dies by SIGKILL; another one goes on.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from runtime.record.journal import AnswerAccepted
from runtime.record.state.durable_run import fold_events
from tests.runtime.chaos.harness import ME, ForkServer, Lives, Place
from tests.runtime.chaos.pairs import PAIRS


@pytest.fixture
def lives(fork_server: ForkServer) -> Lives:
    return Lives(PAIRS[0], fork_server)


class Asked(NamedTuple):
    """A run that asks; what is answered after the death, and what it comes to."""

    run: str
    option: str
    params: dict[str, Any]
    phase: str
    output: str
    effects: Sequence[str] = ()


ASKED = [
    Asked("nested:budget_team", "extend", {"amount": 5}, "completed", "looked at all", ("look 0", "look 1", "look 2")),
    Asked("authors:lost_user", "result", {"value": "21 degrees"}, "completed", "told: 21 degrees", ("lost",) * 3),
    Asked("authors:misconfigured_user", "result", {"value": "7"}, "completed", "told: 7"),
    Asked(
        "authors:strict_user",
        "edit",
        {"arguments": {"amount": "7"}},
        "completed",
        "told: 7 it is\n[tester changed the arguments of this call to {'amount': '7'}]",
        ("strict:7", "strict:many"),
    ),
    Asked("authors:demanding_agent", "input", {"value": "rain"}, "completed", "heard: rain", ("instructions",) * 2),
    Asked("authors:throttled_agent", "wait_retry", {"seconds": 0.05}, "completed", "heard: go", ("instructions",) * 2),
    Asked(
        "guarded:helper_team", "grant", {"for": "once"}, "completed", "told: told: the books are closed", ("closed",)
    ),
    Asked(
        "guarded:by_agent_top",
        "grant",
        {"for": "once"},
        "completed",
        "told: the books are closed",
        ("closed", "refused"),
    ),
    Asked("repair:misrouted", "abort", {}, "aborted", "", ("ask badkey",) * 2 + ("ask stubborn",) * 2),
    Asked("subagents:workflow_undeclared", "skip", {}, "degraded", "good"),
    Asked("subagents:group_violated", "skip", {}, "degraded", ""),
]


async def answered_after_a_kill(place: Place, row: Asked) -> Asked:
    """The row with what came of the run."""
    async with place:
        run = await place.start(row.run)
        life = place.lives.begin("live", place.root, stay=True, grace_s=60)
        before = await place.until(run, lambda state: bool(state.open_incidents))
        await life.signal(signal.SIGKILL)
        assert await life.status() == -signal.SIGKILL
        (incident,) = await place.journal.incidents(run)
        assert [incident.opened] == [each.opened for each in before.open_incidents]
        given = await place.decisions.answer(incident.opened.incident_id, row.option, row.params, by=ME)
        assert isinstance(given, AnswerAccepted), given
        assert await place.lives.live(place.root) == 0
        state = fold_events(await place.journal.read(run))
    assert state.anomalies == 0
    return row._replace(phase=state.phase, output=state.output, effects=tuple(sorted(place.effects.elements())))


async def test_what_a_run_waits_for_is_answered_after_the_death_of_its_process(tmp_path: Path, lives: Lives) -> None:
    room = asyncio.Semaphore(3)  # so many processes at once

    async def tried(number: int, row: Asked) -> Asked:
        async with room:
            return await answered_after_a_kill(Place(tmp_path / str(number), PAIRS[0], lives), row)

    found = await asyncio.gather(*(tried(number, row) for number, row in enumerate(ASKED)), return_exceptions=True)
    assert found == ASKED
