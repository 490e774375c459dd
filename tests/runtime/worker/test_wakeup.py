"""What makes a supervisor look for runs: the journal itself, for any writer; and by itself, if a word is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.worker.supervisor import Supervisor
from tests.runtime.bench import Bench
from tests.runtime.record.journal_samples import elsewhere

NEVER_S = 3600.0
ANSWER = """
from runtime.operations.decisions import Decisions
from runtime.record.state import events as ev
from pathlib import Path
(found,) = await journal.incidents()
by = ev.Actor(name="other", channel="cli")
await Decisions(journal, Path("/")).answer(found.opened.incident_id, "grant", {}, by=by)
"""


@asynccontextmanager
async def driving(bench: Bench, period_s: float) -> AsyncIterator[Supervisor]:
    given = ExecutionConfig(workspace=str(bench.root), policy=RetryPolicy(max_attempts=1), grace_s=0.0, drain_s=0.2)
    supervisor = Supervisor(bench.journal, given, period_s=period_s)
    serving = asyncio.create_task(supervisor.serve())
    try:
        yield supervisor
    finally:
        supervisor.stop()
        await serving


async def _answered_by_another_process(bench: Bench) -> None:
    opener = f"__import__('runtime.record.places', fromlist=['open_journal']).open_journal({str(bench.root)!r})"
    process = elsewhere(opener, ANSWER)
    _, errors = await asyncio.to_thread(process.communicate)
    assert (process.returncode, errors) == (0, "")


async def test_an_answer_of_another_process_is_taken_up_though_no_look_is_due(bench: Bench) -> None:
    async with driving(bench, NEVER_S) as supervisor:
        run = await bench.start("saver")
        await bench.until(run, lambda state: state.phase == "waiting")
        while supervisor.driving:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.01)
        await _answered_by_another_process(bench)
        assert (await bench.ended(run)).phase == "completed"
    assert len(bench.effects) == 1


@pytest.fixture
async def deaf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    """Its journal's notifications are lost: a waiter for news of all runs hears nothing."""
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    async with await open_journal(tmp_path) as journal:
        hearing = journal.tail

        def tail(
            run_id: str | None = None, after: int = 0, *, kinds: Collection[type[ev.JournalEvent]] | None = None
        ) -> AsyncIterator[list[ev.JournalEvent]]:
            return hearing("no such run" if run_id is None else run_id, after, kinds=kinds)

        monkeypatch.setattr(journal, "tail", tail)
        yield Bench(tmp_path, journal)


async def test_an_answer_whose_notification_is_lost_is_found_by_looking(deaf: Bench) -> None:
    async with driving(deaf, 0.02):
        run = await deaf.start("saver")
        await deaf.until(run, lambda state: state.phase == "waiting")
        await _answered_by_another_process(deaf)
        assert (await deaf.ended(run)).phase == "completed"
    assert len(deaf.effects) == 1
