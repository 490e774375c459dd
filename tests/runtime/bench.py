"""A workspace in a temporary directory, a real journal in it, and a runtime that drives it in this loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.operations.decisions import Decisions
from runtime.record.inbox_row import InboxRow
from runtime.record.journal import AnswerAccepted
from runtime.record.journal_care import JournalCare
from runtime.record.state import events as ev
from runtime.record.state.durable_run import RUN_TERMINAL, DurableRun
from runtime.worker.supervisor import Supervisor
from tests.patience import PATIENCE_S

ZOO = Path(__file__).parents[1] / "data" / "swarms" / "zoo.py"
PARAMS = ("value", "arguments", "model", "for", "subject", "pattern", "until", "message", "seconds", "amount")
ME = ev.Actor(name="tester", channel="cli")


class Bench:
    """What a test needs of a workspace: start, answer, wait for a fact, look."""

    def __init__(self, root: Path, journal: JournalCare) -> None:
        self.root = root
        self.journal = journal
        self.decisions = Decisions(journal, root)
        self.effects_file = root / "effects"

    @property
    def effects(self) -> list[str]:
        return self.effects_file.read_text().splitlines() if self.effects_file.exists() else []

    async def start(self, name: str, text: str = "go", **more: Any) -> str:
        return await self.decisions.start(f"{ZOO}:{name}", text, by=ME, **more)

    async def state(self, run_id: str) -> DurableRun:
        return await self.decisions.state(run_id)

    async def until(self, run_id: str, fact: Callable[[DurableRun], bool]) -> DurableRun:
        """The state as soon as `fact` holds of it; looks again at every event."""
        state = DurableRun()
        async with asyncio.timeout(PATIENCE_S):
            async for batch in self.journal.tail(run_id):
                for event in batch:
                    state.apply(event)
                if fact(state):
                    return state
        raise AssertionError("the journal was closed")

    async def file(self, name: str) -> None:
        """Wait for a file below `root`, by which code of a swarm tells where it is."""
        async with asyncio.timeout(PATIENCE_S):
            while not (self.root / name).exists():  # noqa: ASYNC110 - told by a file
                await asyncio.sleep(0.005)

    async def ended(self, run_id: str) -> DurableRun:
        return await self.until(run_id, lambda state: state.phase in RUN_TERMINAL)

    async def incidents(self, run_id: str, count: int = 1) -> list[InboxRow]:
        await self.until(run_id, lambda state: len(state.open_incidents) >= count)
        return await self.journal.incidents(run_id)

    async def asked(self, name: str, text: str = "go", **more: Any) -> tuple[str, InboxRow]:
        """Start a run, and wait for the one incident that it waits with."""
        run_id = await self.start(name, text, **more)
        (incident,) = await self.incidents(run_id)
        return run_id, incident

    async def answer(self, incident: InboxRow, option: str, **more: Any) -> None:
        params = {key: more.pop(key) for key in list(more) if key in PARAMS}
        given = await self.decisions.answer(incident.opened.incident_id, option, params, by=ME, **more)
        assert isinstance(given, AnswerAccepted), given

    async def ended_by(self, incident: InboxRow, option: str, **more: Any) -> DurableRun:
        """Answer an incident: its run as it ended."""
        await self.answer(incident, option, **more)
        return await self.ended(incident.run_id)

    @asynccontextmanager
    async def driving(
        self, *, grace_s: float = 60.0, policy: RetryPolicy | None = None, **more: Any
    ) -> AsyncIterator[Supervisor]:
        quick = RetryPolicy(max_attempts=2, base=0.01)
        more.setdefault("drain_s", 0.2)  # most tools that still run at a test's end run for ever
        config = ExecutionConfig(workspace=str(self.root), policy=policy or quick, grace_s=grace_s, **more)
        supervisor = Supervisor(self.journal, config, period_s=0.02)
        serving = asyncio.create_task(supervisor.serve())
        try:
            yield supervisor
        finally:
            supervisor.stop()
            await serving
