"""`LocalEngine`: drives each run that can go on in this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from runtime.worker.engines.port import DriveRun, FindRuns, TakenUp

log = logging.getLogger("runtime.supervisor")

LOOK_AT = 100
"""So many runs are looked for at once, besides those that are held up."""


class LocalEngine:
    """Drives runs as tasks of the running loop, at most `slots` at once."""

    def __init__(self, carry_on: DriveRun, find: FindRuns, *, slots: int = 64) -> None:
        self._carry_on = carry_on
        self._find = find
        self._slots = slots
        self._driving: dict[str, asyncio.Task[None]] = {}

    @property
    def driving(self) -> list[str]:
        return list(self._driving)

    @property
    def refused(self) -> dict[str, str]:
        return {}

    async def take_up(self, held: Collection[str]) -> TakenUp:
        # What is held up must not hide what is not.
        found = await self._find(LOOK_AT + len(held))
        taken = [self.submit(run_id) for run_id in found if run_id not in held]
        return TakenUp(bool(found), all(taken))

    def submit(self, run_id: str) -> bool:
        """Drive a run; False if there is no room for it now."""
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
        while self._driving:
            # `wait` gives the loop a turn, in which tasks that ended leave. `gather` does not, since Python 3.12, where
            # all of its tasks have ended: it would be repeated for ever.
            await asyncio.wait(self._driving.values())
