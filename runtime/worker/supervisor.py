"""The supervisor: finds runs that can go on, and drives them.

The reconciler is one query and one submit: an enqueue may happen too often, never too rarely; `claim` is the only gate
(facts/engine, section 5). It runs by a hint, when the journal has news (`attendants.Wakeup`), when a wait ends, and
after a pause: `RECONCILE_S` while a run is driven here, `IDLE_RECONCILE_PERIODS` times that in a runtime at rest.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from runtime.config.workspace_keys import read_keys
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.failures.crash_loop import TrialQueue
from runtime.execution.secret_vault import VAULT
from runtime.execution.wait_tracker import Room
from runtime.judgement.faults.classify import classify
from runtime.record.journal import Journal, JournalError
from runtime.record.lease_owner import owner_name
from runtime.record.state.fault_taxonomy import Classification, Effect, Origin
from runtime.swarms import imports
from runtime.worker.attendants import Attendants
from runtime.worker.blocked_runs import BlockedRun, block_run
from runtime.worker.clock_watch import SUSPEND_GAP_S, ClockWatch, suspended_s
from runtime.worker.drive import LEASE_S, drive
from runtime.worker.engines.local import LocalEngine
from runtime.worker.engines.port import EngineError, EngineOutcome, MakeEngine
from runtime.worker.stop_signal import StopSignal

log = logging.getLogger("runtime.supervisor")

RECONCILE_S = 0.25
"""How often, in seconds, the journal is asked for runs that can go on, without a hint, while a run is driven."""
IDLE_RECONCILE_PERIODS = 8
"""So many periods later it is asked where nothing is driven: what brings a run whose hint was lost, or whose lease ran
out.
"""
STRANDED_CHECK_S = 60.0
"""How often, in seconds, runs are looked for that wait for nothing."""


class Supervisor:
    """The driving side of a runtime. One per process; `serve` runs until `stop`.

    Raises:
        ConfigurationError: the file of the workspace's keys, where one is named, cannot be used.
    """

    def __init__(
        self,
        journal: Journal,
        config: ExecutionConfig,
        *,
        clock: Callable[[], datetime] | None = None,
        lease_s: float = LEASE_S,
        engine: MakeEngine | None = None,
        period_s: float = RECONCILE_S,
        gap_s: float = SUSPEND_GAP_S,
        slept: Callable[[], float] = suspended_s,
        owner: str = "",
    ) -> None:
        self.owner = owner or owner_name()
        if config.secret_keys_file:
            VAULT.share(read_keys(Path(config.workspace) / Path(config.secret_keys_file).expanduser()))
        self._journal = journal
        self._room = Room()
        self._clock = clock = clock or journal.now
        self._clock_watch = ClockWatch(journal, clock, slept, gap_s)
        self._config = replace(
            config, alive_since=lambda: self._clock_watch.alive_since, room=self._room, trial_queue=TrialQueue()
        )
        self._lost_again_at = 0.0
        self._last_error = ""
        self._queue_fault: Classification | None = None
        self._lease_s = lease_s
        self._period_s = period_s
        self._drives = 0
        self._held_up: dict[str, BlockedRun] = {}
        self._stopping = StopSignal()
        self._hint = asyncio.Event()
        engine = engine or partial(LocalEngine, slots=config.slots)
        self._engine = engine(self._resume_blocked, self._find)

    @property
    def driving(self) -> list[str]:
        """Ids of the runs that are driven here now."""
        return self._engine.driving

    @property
    def alive_since(self) -> datetime:
        """Since when a worker has been there without a break, by the clock that waits are held against."""
        return self._clock_watch.alive_since

    def continue_since(self, instant: datetime) -> None:
        """Other workers have been there since then: that this one begins now does not count as a break."""
        self._clock_watch.alive_since = min(self._clock_watch.alive_since, instant)

    @property
    def is_stopping(self) -> bool:
        """Whether no more runs are taken up."""
        return self._stopping.is_set()

    @property
    def held_back(self) -> str:
        """Why what happens is held in memory, in words; empty where it is written. For any thread."""
        return self._journal.held_back

    @property
    def queue_fault(self) -> Classification | None:
        """Why runs are not given out to this worker; None where they are. For any thread."""
        return self._queue_fault

    @property
    def refused_runs(self) -> dict[str, str]:
        """Runs that the engine's queue does not take, with the reason in words. For any thread."""
        return dict(self._engine.refused)

    @property
    def blocked_runs(self) -> list[BlockedRun]:
        """Runs that could not be carried on, and why, until they are taken up again; and those whose import hangs. For
        any thread.
        """
        driving = set(self._engine.driving)
        waiting = [each for each in list(self._held_up.values()) if each.run_id not in driving]
        return [
            *waiting,
            *(
                BlockedRun("" if each.given_up else each.run_id, str(each), each.since, alarming=each.late)
                for each in imports.hanging_imports()
            ),
        ]

    def now(self) -> datetime:
        """The time by the clock that leases and waits are held against."""
        return self._clock()

    async def serve(self) -> None:
        """Drive what is runnable until `stop`; then stop what runs (it is found as it was) and return."""
        attendants = Attendants(
            self._journal, self._config, self.owner, clock=self._clock, hint=self.hint, again_s=self._lease_s / 3
        )
        serving = asyncio.create_task(attendants.serve())
        try:
            await self._drive_all()
            if not self._stopping.at_once:
                await attendants.finish()
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    async def _drive_all(self) -> None:
        while not self._stopping.is_set():
            self._hint.clear()
            pause = await self._reconcile()
            try:
                async with asyncio.timeout(pause):
                    await self._hint.wait()
            except TimeoutError:
                continue
        # What cannot be written for as long as steps are waited for is given up: the next life finds them in doubt.
        timeout_s = self._stopping.timeout_s(self._config)
        giving_up = asyncio.get_running_loop().call_later(timeout_s, self._journal.hold_back, False)
        try:
            await self._engine.join()
        finally:
            giving_up.cancel()

    def hint(self) -> None:
        """Something may have become runnable."""
        self._hint.set()

    def stop(self, *, whole: bool = False, at_once: bool = False) -> None:
        """Let go of everything.

        See `StopSignal`. For the loop's own thread; see `asyncio.loop.call_soon_threadsafe`.
        """
        self._stopping.whole = whole
        self._stopping.at_once = self._stopping.at_once or at_once
        self._stopping.set()
        self._hint.set()

    async def _find_stranded(self) -> list[str]:
        """Runs that wait for nothing, as earlier programs could leave them; asked for at the start and now and then."""
        if time.monotonic() < self._lost_again_at:
            return []
        found = await self._journal.stranded(code=self._config.code, queues=self._config.queues)
        if found:
            log.warning("%d runs waited for nothing and are driven again: %s", len(found), ", ".join(found[:20]))
        else:
            self._lost_again_at = time.monotonic() + STRANDED_CHECK_S
        return found

    async def _find(self, limit: int) -> list[str]:
        """Runs that can go on here, and that no process drives."""
        given = self._config
        ready = await self._journal.runnable(limit, code=given.code, queues=given.queues)
        return [*await self._find_stranded(), *ready]

    async def _reconcile(self) -> float:
        """Have driven what is runnable; after how many seconds to look again, if no hint comes before."""
        try:
            await self._clock_watch.check()
            ticks = time.monotonic()
            taken = await self._engine.take_up(
                {each.run_id for each in self._held_up.values() if each.again_at > ticks}
            )
            wake_at = None if taken.found or self._busy else await self._journal.next_wake()
        except (JournalError, EngineError) as exc:
            # No run was begun.
            queue = isinstance(exc, EngineError)
            self._queue_fault = classify(exc, origin=Origin.QUEUE, effect=Effect.NOT_ATTEMPTED) if queue else None
            if str(exc) != self._last_error:  # found four times a second, and the log is to keep what came before
                log.exception("runs are not given out" if queue else "the journal cannot be used")
            self._last_error = str(exc)
            return self._period_s
        self._last_error, self._queue_fault = "", None
        self._room.set_wanted(not taken.has_room)
        if taken.found or self._busy:
            return self._period_s
        idle_s = IDLE_RECONCILE_PERIODS * self._period_s
        until = (wake_at - self._clock()).total_seconds() if wake_at is not None else idle_s
        return min(idle_s, max(self._period_s, until))

    @property
    def _busy(self) -> bool:
        """Whether something here may change without a word in the journal."""
        return bool(self._engine.driving or self._held_up)

    async def _resume_blocked(self, run_id: str) -> EngineOutcome:
        # Each drive is an owner of its own. What this process drives it does not take up again (`LocalEngine`); a lease
        # that one of its drives could not give back, with the disk full, runs out like anybody's.
        self._drives += 1
        before = self._held_up.get(run_id)
        try:
            driven = await drive(
                self._journal,
                run_id,
                f"{self.owner}#{self._drives}",
                self._config,
                clock=self._clock,
                lease_s=self._lease_s,
                stopping=self._stopping,
                failed=before.reason_to_quarantine if before is not None else None,
            )
        except Exception as exc:
            self._held_up[run_id] = block_run(run_id, before, exc, self._clock(), self._lease_s)
            return "held up"
        self._held_up.pop(run_id, None)
        if self._room.is_wanted:
            self.hint()  # another run may have its place
        return driven
