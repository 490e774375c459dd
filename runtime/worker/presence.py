"""The presence of a worker: it says every few seconds that it is there (heartbeat), and what it sees of the others.

From what workers say of themselves it is known which labels of code have a worker. A run whose label has none is told
of, and where the policy is `latest`, workers of the newest label move it to theirs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime

from runtime.record.journal import JournalError, StaleSequence
from runtime.record.journal_care import JournalCare
from runtime.record.state import events as ev
from runtime.record.workers import (
    BEAT_S,
    LOST_AFTER_S,
    CodePolicy,
    ListedWorker,
    PlacedRun,
    WorkerNeed,
    WorkerReport,
    newest_label,
    placed_runs,
    unserved_runs,
)

log = logging.getLogger("runtime.supervisor")

LOCAL_BEAT_S = 10.0
"""How often, in seconds, the one runtime of a directory says so: it writes to a disk that could sleep."""
_POLICY = ev.Actor(name="code_policy", channel="rule")

assert LOCAL_BEAT_S < LOST_AFTER_S


class Presence:
    """Tells a journal of one worker, until it is cancelled.

    Args:
        journal: Where it is told.
        report: What the worker says of itself now.
        policy: What becomes of runs of other labels.
        continue_since: Called once, with the time since which other workers have been there.
    """

    def __init__(
        self,
        journal: JournalCare,
        report: Callable[[], WorkerReport],
        *,
        policy: CodePolicy = "pinned",
        continue_since: Callable[[datetime], None] = lambda _: None,
    ) -> None:
        self.unserved: dict[WorkerNeed, list[str]] = {}
        """Ids of the runs that no worker takes up, by what they need of a worker."""
        self._journal = journal
        self._report = report
        self._policy = policy
        self._continue_since = continue_since
        self._period_s = LOCAL_BEAT_S if journal.is_local else BEAT_S
        self._last_error = ""

    async def serve(self) -> None:
        """Until cancelled; then the worker is signed off."""
        try:
            with suppress(JournalError):
                self._inherit(await self._journal.workers())
            while True:
                try:
                    await self.beat()
                    self._last_error = ""
                except JournalError as exc:
                    if str(exc) != self._last_error:
                        log.warning("the presence of this worker cannot be written: %s", exc)
                    self._last_error = str(exc)
                await asyncio.sleep(self._period_s)
        finally:
            with suppress(JournalError):
                await self._journal.sign_off(self._report().id)

    async def beat(self) -> None:
        """Say that the worker is there, and look which runs have none."""
        report = self._report()
        await self._journal.beat(report)
        listed = await self._journal.workers()
        placed = await placed_runs(self._journal, listed)
        if self._policy == "latest" and not report.draining:
            mine = {queue for queue in {run.need.queue for run in placed} if self._moves(queue, report, listed)}
            placed = [run for run in placed if run.need.queue not in mine or not await self._move(run, report.code)]
        self.unserved = unserved_runs(placed, listed)

    def _moves(self, queue: str, report: WorkerReport, listed: Sequence[ListedWorker]) -> bool:
        """Whether runs of a queue are moved to this worker's label."""
        return queue in (report.queues or (queue,)) and report.code == newest_label(listed, queue)

    async def _move(self, run: PlacedRun, code: str) -> bool:
        """Move a run with a label to `code`; whether it goes on with that now."""
        if run.need.code in ("", code):
            return True
        moved = ev.RunMoved(code=code, before=run.need.code, by=_POLICY)
        try:
            await self._journal.post(run.run_id, moved, effective=True)
        except StaleSequence:
            return False  # it has ended at this moment
        log.info("run %s: goes on with code %s, in place of %s", run.run_id, code or "of any label", run.need.code)
        return True

    def _inherit(self, listed: Sequence[ListedWorker]) -> None:
        since = [each.report.alive_since for each in listed if not each.is_lost]
        if since and not self._journal.is_local:
            self._continue_since(min(since))
