"""The supervisor: finds runs that can go on, drives them, renews their leases.

The reconciler is one query and one submit: an enqueue may happen too often, never too rarely; `claim` is the only gate
(facts/engine, section 5). It runs by a hint, when the journal has news (`runtime.worker.wakeup`), when a wait ends, and
after a pause: `RECONCILE_S` while a run is driven here, `IDLE_S` in a runtime at rest.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.failures.crash_loop import Trials
from runtime.judgement.reports.notices import NoticeRules
from runtime.record.journal import Journal, JournalError, Unrecordable
from runtime.record.lease_owner import owner_name
from runtime.record.state import events as ev
from runtime.record.state.events import utc_now
from runtime.swarms import imports
from runtime.worker.drive import (
    LEASE_S,
    LeaseUnavailable,
    StopSignal,
    drive,
)
from runtime.worker.duties.analyst import Analyst
from runtime.worker.duties.notifier import Notifier
from runtime.worker.engines.local import (
    DriveRun,
    Engine,
    EngineOutcome,
    LocalEngine,
)
from runtime.worker.wakeup import Wakeup

log = logging.getLogger("runtime.supervisor")

SUSPEND_GAP_S = 5.0
"""By how much, in seconds, the clock may differ from the time that has passed before it counts as set, and how long the
computer may sleep before that counts as a break in which nobody was alive.
"""
RECONCILE_S = 0.25
"""How often, in seconds, the journal is asked for runs that can go on, without a hint, while a run is driven."""
IDLE_RECONCILE_PERIODS = 8
"""So many periods later it is asked where nothing is driven: what brings a run whose hint was lost, or whose lease ran
out.
"""
STRANDED_CHECK_S = 60.0
"""How often, in seconds, runs are looked for that wait for nothing."""
MAX_HOLD_UP_TRIES = 3
"""How often a run is taken up again whose drive fails without the journal being to blame, before it is set aside."""
_MAX_RETRY_S = 30.0
"""The longest pause between two tries of a run that cannot be carried on, in lengths of a lease."""


def suspended_s() -> float:
    """Seconds for which the computer has slept since it was started: Linux and macOS each have a clock that counts them
    and one that does not (clock_gettime(2), clock_gettime(3)).
    """
    if sys.platform == "darwin":
        return time.clock_gettime(time.CLOCK_MONOTONIC) - time.clock_gettime(time.CLOCK_UPTIME_RAW)
    return time.clock_gettime(time.CLOCK_BOOTTIME) - time.clock_gettime(time.CLOCK_MONOTONIC)


@dataclass(slots=True, frozen=True)
class BlockedRun:
    """A run that cannot be carried on now: its incident could not be written, and it is tried again; or the import of
    its file hangs (with an empty `run_id` where a file is only checked).
    """

    run_id: str
    reason: str
    since: datetime
    times: int = 0
    again_at: float = 0.0
    """By `time.monotonic`."""
    failed: Exception | None = None
    """Where the journal is not to blame."""


class Duty(Protocol):
    """Works beside the drives, and begins from what the journal says."""

    async def serve(self) -> None:
        """Until cancelled."""
        ...


async def _serve_with_restart(attendant: Callable[[], Duty], lost: str, again_s: float) -> None:
    """Let an attendant serve; one that fails (with the disk full, say) is made anew when `again_s` have passed."""
    while True:
        try:
            await attendant().serve()
        except Exception:
            log.exception("%s; again in %g s", lost, again_s)
        await asyncio.sleep(again_s)


class Supervisor:
    """The driving side of a runtime. One per process; `serve` runs until `stop`."""

    def __init__(
        self,
        journal: Journal,
        conditions: ExecutionConfig,
        *,
        clock: Callable[[], datetime] = utc_now,
        lease_s: float = LEASE_S,
        engine: Callable[[DriveRun], Engine] = LocalEngine,
        period_s: float = RECONCILE_S,
        gap_s: float = SUSPEND_GAP_S,
        slept: Callable[[], float] = suspended_s,
    ) -> None:
        self.owner = owner_name()
        self._journal = journal
        self._crowded = asyncio.Event()
        self._conditions = replace(
            conditions, alive_since=lambda: self._alive_since, crowded=self._crowded, trials=Trials()
        )
        self._clock = clock
        self._alive_since = self._looked_at = clock()
        self._ticked_at = time.monotonic()
        self._slept = slept
        self._slept_s = slept()
        self._roused = False
        self._lost_again_at = 0.0
        self._trouble = ""
        self._lease_s = lease_s
        self._period_s = period_s
        self._gap_s = gap_s
        self._drives = 0
        self._held_up: dict[str, BlockedRun] = {}
        self._stopping = StopSignal()
        self._hint = asyncio.Event()
        self._engine = engine(self._resume_blocked)

    @property
    def driving(self) -> list[str]:
        """Ids of the runs that are driven here now."""
        return self._engine.driving

    @property
    def held_back(self) -> str:
        """Why what happens is held in memory, in words; empty where it is written. For any thread."""
        return self._journal.held_back

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
                BlockedRun("" if each.given_up else each.run_id, str(each), each.since)
                for each in imports.hanging_imports()
            ),
        ]

    def now(self) -> datetime:
        """The time by the clock that leases and waits are held against."""
        return self._clock()

    async def serve(self) -> None:
        """Drive what is runnable until `stop`; then stop what runs (it is found as it was) and return."""
        attendant = asyncio.create_task(self._serve_duties())
        try:
            await self._drive_all()
        finally:
            attendant.cancel()
            await asyncio.gather(attendant, return_exceptions=True)

    async def _serve_duties(self) -> None:
        """Work beside the runs. What goes wrong here is logged; no run is worse for it."""
        given = self._conditions
        again_s = self._lease_s / 3
        async with asyncio.TaskGroup() as group:
            wakeup = partial(Wakeup, self._journal, self.hint)
            group.create_task(_serve_with_restart(wakeup, "runs are found by looking for them only", again_s))
            if given.analysis != "off":
                group.create_task(_serve_with_restart(self._analyst, "incidents are not analysed now", again_s))
            if self._notifier().is_configured:
                group.create_task(_serve_with_restart(self._notifier, "nobody is told of incidents now", again_s))

    def _analyst(self) -> Analyst:
        given = self._conditions
        return Analyst(
            self._journal,
            model=given.analysis,
            patterns=given.redact,
            prices=given.prices,
            breaker=given.errors.breaker_policy(),
            deltas=given.deltas,
        )

    def _notifier(self) -> Notifier:
        given = self._conditions
        rules = given.notices or NoticeRules.of_errors(given.errors)
        return Notifier(self._journal, rules, patterns=given.redact, clock=self._clock)

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
        patience = self._stopping.timeout_s(self._conditions)
        giving_up = asyncio.get_running_loop().call_later(patience, self._journal.hold_back, False)
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

    async def _watch_suspend(self) -> None:
        """A computer that slept: nobody was alive in the time that is missing. One whose clock was set: by how much is
        known here, and no wait gets longer or shorter by it. Where it was set back before this process began, nobody
        waits longer than from now.
        """
        now, ticks, slept = self._clock(), time.monotonic(), self._slept()
        gap = (now - self._looked_at).total_seconds() - (ticks - self._ticked_at)
        asleep = slept - self._slept_s
        step = gap - asleep
        stepped = abs(step) > self._gap_s
        self._looked_at, self._ticked_at, self._slept_s = now, ticks, slept
        if stepped:
            self._alive_since += timedelta(seconds=step)
            self._roused = False  # also if not all of them can be told
            await self._clock_stepped(step)
        if asleep > self._gap_s:
            self._alive_since = now
        if not self._roused:
            for run_id in await self._journal.wake_future_parks(now):
                log.info("run %s: the clock was set back; its wait is held against the new time", run_id)
            self._roused = True

    async def _find_stranded(self) -> list[str]:
        """Runs that wait for nothing, as earlier programs could leave them; asked for at the start and now and then."""
        if time.monotonic() < self._lost_again_at:
            return []
        found = await self._journal.stranded()
        if found:
            log.warning("%d runs waited for nothing and are driven again: %s", len(found), ", ".join(found[:20]))
        else:
            self._lost_again_at = time.monotonic() + STRANDED_CHECK_S
        return found

    async def _clock_stepped(self, seconds: float) -> None:
        """Say so in every run that waits for an instant, or that is at work, in whose state it may."""
        log.warning("the clock was set by %+.0f s: waits are as long as they were", seconds)
        runs = await self._journal.runs(1_000_000, states=("queued", "running", "waiting", "frozen"))
        told = [each.id for each in runs if each.state != "waiting" or each.wake_at is not None]
        event = ev.ClockStepped(seconds=round(seconds, 3), ts=self._clock())
        for outcome in await asyncio.gather(
            *(self._journal.post(run_id, event) for run_id in told), return_exceptions=True
        ):
            if isinstance(outcome, JournalError):
                log.info("not told that the clock was set: %s", outcome)  # it ended at this moment, as a rule
            elif isinstance(outcome, BaseException):
                raise outcome

    async def _reconcile(self) -> float:
        """Have driven what is runnable; after how many seconds to look again, if no hint comes before."""
        try:
            await self._watch_suspend()
            ticks = time.monotonic()
            held = {each.run_id for each in self._held_up.values() if each.again_at > ticks}
            # What is held up must not hide what is not.
            found = [*await self._find_stranded(), *await self._journal.runnable(self._clock(), 100 + len(held))]
            taken = [self._engine.submit(run_id) for run_id in found if run_id not in held]
            wake_at = None if found or self._busy else await self._journal.next_wake()
        except JournalError as exc:
            if (
                str(exc) != self._trouble
            ):  # it is asked for four times a second, and the log is to keep what came before
                log.exception("the journal cannot be used")
            self._trouble = str(exc)
            return self._period_s
        self._trouble = ""
        if all(taken):
            self._crowded.clear()
        else:
            self._crowded.set()
        if found or self._busy:
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
                self._conditions,
                clock=self._clock,
                lease_s=self._lease_s,
                stopping=self._stopping,
                failed=before.failed if before is not None and before.times >= MAX_HOLD_UP_TRIES else None,
            )
        except Exception as exc:
            self._block_run(run_id, before, exc)
            return "held up"
        self._held_up.pop(run_id, None)
        return driven

    def _block_run(self, run_id: str, before: BlockedRun | None, exc: Exception) -> None:
        """What cannot be done now (with the disk full, say) is done again: after ever longer pauses where it had begun,
        for each time may cost a call of a model.
        """
        times = before.times if before is not None else 0
        times += not isinstance(exc, LeaseUnavailable)
        pause = min(self._lease_s / 3 * 2.0 ** min(max(times - 1, 0), 30), self._lease_s * _MAX_RETRY_S)
        if isinstance(exc, LeaseUnavailable):
            pause = self._lease_s / 3
        own = not isinstance(exc, JournalError)
        reason = f"{type(exc).__name__}: {exc}" if own else str(exc)
        since = before.since if before is not None else self._clock()
        known = before is not None and before.reason == reason
        what = "its drive failed" if own else "its journal cannot be written; it stays as it was"
        told = "run %s: %s; again in %.0f s at the earliest: %s"
        log.error(told, run_id, what, pause, reason, exc_info=None if known else exc)
        # Not for the journal's sake: what is tried from the third time on is to say so, and no model is asked any more.
        mine = own or isinstance(exc, Unrecordable)
        failed = exc if mine else before.failed if before is not None else None
        self._held_up[run_id] = BlockedRun(run_id, reason, since, times, time.monotonic() + pause, failed)
