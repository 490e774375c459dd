"""The engine port, and `LocalEngine`, which drives each submitted run in this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

from runtime.worker.drive import DriveOutcome

log = logging.getLogger("runtime.supervisor")

EngineOutcome = DriveOutcome | Literal["held up"]
DriveRun = Callable[[str], Awaitable[EngineOutcome]]


class Engine(Protocol):
    """Sees to it that submitted runs are driven; made by a call with the drive. `claim` is the only gate: what an
    engine does too often costs a claim that is refused, what it does not do is submitted again.
    """

    @property
    def driving(self) -> list[str]:
        """Ids of the runs that are driven here now."""
        ...

    def submit(self, run_id: str) -> bool:
        """Have a run driven, now or when there is room; False if there is none now. May be called too often."""
        ...

    async def join(self) -> None:
        """Wait until nothing is driven any more."""
        ...


class LocalEngine:
    """Drives runs as tasks of the running loop, at most `slots` at once."""

    def __init__(self, carry_on: DriveRun, *, slots: int = 64) -> None:
        self._carry_on = carry_on
        self._slots = slots
        self._driving: dict[str, asyncio.Task[None]] = {}

    @property
    def driving(self) -> list[str]:
        return list(self._driving)

    def submit(self, run_id: str) -> bool:
        if run_id in self._driving:
            return True
        if len(self._driving) >= self._slots:
            return False
        task = asyncio.create_task(self._drive(run_id), name=f"drive {run_id}")
        self._driving[run_id] = task
        task.add_done_callback(lambda _: self._driving.pop(run_id, None))
        return True

    async def _drive(self, run_id: str) -> None:
        try:
            outcome = await self._carry_on(run_id)
            log.info("run %s: %s", run_id, outcome)
        except Exception:
            log.exception("run %s: its drive failed; it is tried again when its lease has run out", run_id)

    async def join(self) -> None:
        """Wait until nothing is driven any more."""
        while self._driving:
            # `wait` gives the loop a turn, in which tasks that ended leave. `gather` does not, since Python 3.12, where
            # all of its tasks have ended: it would be repeated for ever.
            await asyncio.wait(self._driving.values())
