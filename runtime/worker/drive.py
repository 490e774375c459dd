"""`drive`: claims a run's lease (its length: `LEASE_S`), replays the run, and drives it until it ends or parks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from orbiter._internal.user_code import UserCodeError
from orbiter.errors import ExecutionError
from orbiter.runner import run as run_swarm
from orbiter.steps import Aborted, Skipped, entered
from runtime.execution.durable_scope import DurableScope
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.failures import quarantine
from runtime.execution.failures.crash_loop import (
    EndedItsProcess,
    is_suspect,
    run_alone,
    until_progress,
)
from runtime.execution.failures.stall_detector import ended_at_run, watch_progress
from runtime.execution.fork import copied_events
from runtime.execution.run_session import RunSession
from runtime.record.journal import Fenced, Journal, JournalError, Lease, StaleSequence, Unrecordable, Unwritable
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events
from runtime.record.state.nodes import MAX_DEATHS
from runtime.record.state.rewind import nodes_dropped_by
from runtime.swarms import imports

log = logging.getLogger("runtime.drive")

DriveOutcome = Literal["finished", "parked", "busy", "fenced", "stranded"]
LEASE_S = 10.0
"""How long a run stays with a process that no longer renews. Three renewals fit in."""
_CANCEL_RETRY_S = 5.0
_CANCELLATIONS = 3


class StopSignal(asyncio.Event):
    """Set when runs are to be let go of.

    `whole`: not only what must not be begun twice comes to its end first, but every step under way. For a stop that
    nobody waits for; a person who does takes it back. `at_once`: no step is waited for, for another process works here.
    """

    whole = False
    at_once = False

    def timeout_s(self, conditions: ExecutionConfig) -> float:
        """How long, in seconds, the steps that are waited for may take."""
        if self.at_once:
            return 0.0
        return conditions.change_s if self.whole else conditions.drain_s


class UncausedCancellation(ExecutionError):
    """A swarm's code raised `CancelledError` though nobody cancelled it."""

    def __init__(self, ref: str) -> None:
        super().__init__(
            f"{ref} raised CancelledError though nobody cancelled it",
            hint="Do not let a cancellation of your own tasks leave a tool or a hook; catch it where you await them.",
        )


class LeaseUnavailable(JournalError):
    """The journal cannot be written now, so nobody can take the run up; nothing was begun."""


class NewerProgramJournal(ExecutionError):
    """The run's journal has events that a newer program wrote: nothing may be done that they might forbid."""

    def __init__(self, types: Collection[str]) -> None:
        super().__init__(
            f"a newer program has driven this run: {', '.join(sorted(types))} in its journal is not known here",
            hint="Update orbiter-console and start its runtime again, then retry; or abort the run.",
        )


async def drive(
    journal: Journal,
    run_id: str,
    owner: str,
    conditions: ExecutionConfig,
    *,
    clock: Callable[[], datetime] = ev.utc_now,
    lease_s: float = LEASE_S,
    stopping: StopSignal | None = None,
    failed: Exception | None = None,
) -> DriveOutcome:
    """Carry a run on from where it is; with `failed`, the reason why it cannot be, set it aside instead.

    Returns `busy` if it is another's or not runnable, `parked` if it waits (or `stopping` was set), `fenced` if
    another took it over, `stranded` if the run is at fault itself (see `runtime.execution.failures.quarantine`).

    Raises:
        JournalError: the journal cannot be used now. The run stays as it was last written; its lease runs out.
    """
    try:
        lease = await journal.claim(run_id, owner, lease_s)
    except JournalError as exc:
        raise LeaseUnavailable(str(exc)) from exc
    if lease is None:
        return "busy"
    try:
        driven = await _drive_to_end(journal, lease, conditions, clock, stopping, failed)
    except Fenced:
        return "fenced"
    except asyncio.CancelledError:
        with suppress(JournalError):
            await journal.release(lease)
        raise
    # Where something went wrong the lease is kept instead, and runs out: what fails at once is not tried at once again.
    with suppress(JournalError):
        await journal.release(lease)
    return driven


async def _drive_to_end(  # noqa: PLR0917 - of one caller
    journal: Journal,
    lease: Lease,
    conditions: ExecutionConfig,
    clock: Callable[[], datetime],
    stopping: StopSignal | None,
    failed: Exception | None,
) -> DriveOutcome:
    if failed is None:
        try:
            return await _resume(journal, lease, conditions, clock, stopping)
        except (Unrecordable, EndedItsProcess) as exc:
            failed = exc
    driven = await quarantine.quarantine_run(journal, lease, conditions, clock, failed)
    log.error("run %s: it cannot be carried on and is set aside", lease.run_id, exc_info=failed)
    return driven


async def _resume(
    journal: Journal,
    lease: Lease,
    conditions: ExecutionConfig,
    clock: Callable[[], datetime],
    stopping: StopSignal | None,
) -> DriveOutcome:
    recorded = await journal.read(lease.run_id)
    state = fold_events(recorded)
    life = RunSession(journal, lease, state, conditions, clock)
    async with AsyncExitStack() as trial:
        if is_suspect(state.deaths_if_started(lease.owner)):
            renewing = asyncio.create_task(_renew_lease(life, lease))
            try:
                if not await run_alone(life, trial, stopping):
                    return "parked"
            finally:
                renewing.cancel()
        started = ev.RunStarted(epoch=lease.epoch, owner=lease.owner, program=conditions.program)
        await life.record(started, *life.clock_set_back_events(), *(await _copy_fork(life) if not state.lives else ()))
        if state.terminal:
            return "finished"
        if state.deaths >= MAX_DEATHS and not (state.abort or state.rewind or quarantine.open_quarantine(state)):
            raise EndedItsProcess(state)
        return await _run_session(life, recorded[-1].seq if recorded else 0, stopping, trial)


async def _copy_fork(life: RunSession) -> list[ev.JournalEvent]:
    """What a fork begins with. Written with its first start, in one piece: it has all of it or was never begun."""
    plan = life.state.options.get("fork")
    if not isinstance(plan, dict):
        return []
    recorded = await life.journal.read(str(plan["of"]))
    if not recorded:
        # Without its source it would do everything again from the beginning, which is not what a fork was asked for.
        gone = f"the run {plan['of']}, of which this is a fork, is gone (pruned)"
        return [ev.RunFinished(state="failed", error=gone)]
    source = fold_events(event for event in recorded if event.seq <= int(plan["seq"]))
    return copied_events(source, str(plan["at"]), life.state.id[-4:])


async def _run_session(
    life: RunSession, after: int, stopping: StopSignal | None, trial: AsyncExitStack
) -> DriveOutcome:
    """One life, with its attendants: hearing, renewing, watching for idleness and for the stop."""
    root = asyncio.create_task(_run_root(life), name=f"run {life.state.id}")
    life.set_root_task(root)
    attendants = [
        asyncio.create_task(_listen(life, after)),
        asyncio.create_task(_renew_lease(life, life.lease)),
        asyncio.create_task(_park(life)),
        asyncio.create_task(watch_progress(life)),
    ]
    if life.state.deaths:
        attendants.append(asyncio.create_task(until_progress(life, trial)))
    if stopping is not None:
        attendants.append(asyncio.create_task(_release_run(life, stopping)))
    if life.state.abort is not None or ended_at_run(life.state):
        life.end("abort")
    elif life.state.rewind is not None:
        life.end("rewind")
    try:
        await _wait_for_root(life, root)
        return await _record_outcome(life, root)
    finally:
        for task in attendants:
            task.cancel()
        for result in await asyncio.gather(*attendants, return_exceptions=True):
            if isinstance(result, Exception):
                log.error("run %s: %r", life.state.id, result)
        if not root.done():
            # The drive itself was cancelled: what ran is stopped and awaited, and found in doubt by the next life.
            life.end("stop")
            await _wait_for_root(life, root)


async def _wait_for_root(life: RunSession, root: asyncio.Task[ev.RunFinished]) -> None:
    """Wait for the root. Code that holds on to a cancellation is cancelled again, and at last left behind: nothing that
    it still does can be written, and its step is found in doubt.
    """
    either: set[asyncio.Future[Any]] = {root, life.ended}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    for left in reversed(range(_CANCELLATIONS)):
        await asyncio.wait({root}, timeout=_CANCEL_RETRY_S)
        if root.done():
            return
        log.warning("run %s: its code caught its cancellation%s", life.state.id, "; again" if left else ": left behind")
        root.cancel()


async def _park(life: RunSession) -> None:
    life.park(await life.watch_idleness())


async def _listen(life: RunSession, after: int) -> None:
    try:
        await life.listen(after)
    except JournalError:
        log.exception("run %s: what others write to it cannot be read; it is let go of", life.state.id)
        life.end("broken")


async def _release_run(life: RunSession, stopping: StopSignal) -> None:
    """Let go of the run: nothing new begins, and what must not be begun twice comes to its end, if it does so soon."""
    await stopping.wait()
    waits = life.is_idle()  # before everything else waits, too
    life.pause()
    if under_way := _open_steps_text(life, whole=stopping.whole):
        log.info("run %s: waits for the end of %s", life.state.id, under_way)
    try:
        async with asyncio.timeout(stopping.timeout_s(life.config)):
            await life.wait_until_drained(lambda: stopping.whole)
    except TimeoutError:
        log.warning("run %s: cuts off %s", life.state.id, _open_steps_text(life, whole=stopping.whole))
    if waits:
        life.park(waits)
    else:
        life.end("stop")


def _open_steps_text(life: RunSession, *, whole: bool) -> str:
    """The steps that a stop waits for, in words."""
    steps = life.state.in_flight if whole or life.has_unrepeatable_call else []
    return ", ".join(f"{node.agent}: {node.name}" for node in steps)


async def _renew_lease(life: RunSession, lease: Lease) -> None:
    while True:
        await asyncio.sleep(lease.ttl_s / 3)
        try:
            await life.journal.renew(lease)
        except Fenced:
            life.end("fenced")
            return
        except Unwritable:
            continue  # nobody can take the run over where nothing can be written; what it writes is fenced
        except JournalError:
            life.end("broken")
            return


async def _record_outcome(life: RunSession, root: asyncio.Task[ev.RunFinished]) -> DriveOutcome:
    """Write how the life ended, which is decided by all that the run was told until it is written."""
    await life.wait_for_writes()
    if root.done() and not root.cancelled() and life.ending:
        root.exception()  # whatever it was, it came of being ended
    if life.ending == "fenced":
        return "fenced"
    while True:
        last = _last_events(life, root)
        try:
            await life.close(*last)
        except StaleSequence:
            await life.catch_up()
        else:
            return "finished" if isinstance(last[-1], ev.RunFinished) else "parked"


def _last_events(life: RunSession, root: asyncio.Task[ev.RunFinished]) -> list[ev.JournalEvent]:
    """What the life ends with, by what was heard so far."""
    rewind, unfinished = life.state.rewind, root.cancelled() or not root.done()
    ended_since = rewind is not None and _was_ended(life.state, rewind.seq)
    if rewind is not None and not ended_since:
        return [*_record_rewind(life), ev.RunParked(ts=life.clock(), reason="stop")]
    asked = life.state.abort is not None or ended_since or ended_at_run(life.state)
    # Also if the body came to an end all the same, because user code caught its cancellation: what was asked is done.
    if life.ending == "abort" or (unfinished and asked):
        return [_record_abort(life)]
    if not unfinished:
        return [root.result()]
    at = life.clock()  # before the look: a clock set back after it leaves the park in the future, where it is found
    for moved in life.clock_set_back_events():
        life.record_soon(moved)
    if life.ending != "park":
        return [ev.RunParked(ts=at, reason="stop")]
    incidents = tuple(sorted(wait.incident_id for wait in life.waits if wait.incident_id))
    thaw = any(wait.thaw for wait in life.waits)
    return [ev.RunParked(ts=at, reason="waiting", wake_at=_wake_at(life), incidents=incidents, thaw=thaw)]


def _was_ended(state: DurableRun, after: int) -> bool:
    """Whether an incident was answered with the end of the whole run, after an event."""
    answers = [
        found.answer for found in state.incidents.values() if found.answer is not None and found.answer.seq > after
    ]
    return any((each.option, each.reach) == ("abort", "run") for each in answers)


def _record_abort(life: RunSession) -> ev.RunFinished:
    if life.final is not None:
        return life.final
    asked = life.state.abort
    if asked is not None:
        return ev.RunFinished(state="aborted", error=asked.reason, by=asked.by)
    answers = [found.answer for found in life.state.incidents.values() if found.answer is not None]
    last = next((found for found in reversed(answers) if found.option == "abort" and found.reach == "run"), None)
    return ev.RunFinished(
        state="aborted", error=last.reason if last is not None else "", by=last.by if last is not None else ev.Actor()
    )


def _record_rewind(life: RunSession) -> list[ev.JournalEvent]:
    """What turns the run back, once nothing of it runs any more: the incidents that go with it, then the rewind
    itself.
    """
    asked = life.state.rewind
    if asked is None or asked.node_id not in life.state.nodes:
        return []
    dropped = nodes_dropped_by(life.state, asked.node_id)
    gone = [found.opened for found in life.state.open_incidents if found.opened.node_id in dropped]
    if (aside := quarantine.open_quarantine(life.state)) is not None:
        gone.append(aside.opened)  # another way was found
    closed: list[ev.JournalEvent] = [
        ev.IncidentClosed(node_id=opened.node_id, incident_id=opened.incident_id, reason="the run was rewound")
        for opened in gone
    ]
    rewound = ev.RunRewound(
        node_id=asked.node_id, changes=asked.changes, dropped=len(dropped), reason=asked.reason, by=asked.by
    )
    return [*closed, rewound]


def _wake_at(life: RunSession) -> datetime | None:
    """When the run must be looked at again though nobody answered: the earliest instant of what everything waits for.
    A clock that was set back makes no wait longer.
    """
    instants: list[datetime | None] = []
    for wait in life.waits:
        if wait.until is not None:
            instants.append(min(wait.until, life.clock() + timedelta(seconds=wait.at_most)))
        elif wait.incident_id and (found := life.state.incidents[wait.incident_id]).open:
            instants.append(life.deadline_of(found.opened))
    return min((each for each in instants if each is not None), default=None)


async def _run_root(life: RunSession) -> ev.RunFinished:
    """The swarm itself, under the root scope. A fault that nothing inside took up parks here."""
    async with DurableScope(life, "", "root", life.state.ref) as root:
        await root.wait_until_released()
        while True:
            try:
                with entered(root):
                    output = await _load_swarm(life)
                return _final_event(life, output)
            except Skipped as skipped:
                return _final_event(life, str(skipped.value))
            except BaseException as caught:
                if isinstance(caught, asyncio.CancelledError | GeneratorExit) and life.ending:
                    raise
                exc = _failure(life, caught)
                try:
                    await root.fault(exc)
                except Aborted as aborted:
                    return ev.RunFinished(state="failed", error=str(aborted))
                except Skipped as skipped:
                    return _final_event(life, str(skipped.value))
                except Exception as final:
                    return ev.RunFinished(state="failed", error=str(final) or type(final).__name__)


def _failure(life: RunSession, caught: BaseException) -> Exception:
    """What the swarm raised, as an error that a person can be asked about."""
    if isinstance(caught, Exception):
        return caught
    if isinstance(caught, asyncio.CancelledError):
        # Cancelled by nobody here: user code that cancels itself. A run that waited for nobody would be lost.
        return UncausedCancellation(life.state.ref)
    return UserCodeError(life.state.ref, caught)


async def _load_swarm(life: RunSession) -> str:
    if life.state.foreign:
        raise NewerProgramJournal(life.state.foreign)
    conditions = life.config
    swarm = await imports.load(
        life.state.ref, Path(conditions.workspace), limit_s=conditions.import_limit_s, run_id=life.state.id
    )
    if life.state.deaths:
        await life.record(ev.SwarmLoaded())
    result = await run_swarm(swarm, life.state.input)
    return str(result.output)


def _final_event(life: RunSession, output: str) -> ev.RunFinished:
    scopes = [node for node in life.state.nodes.values() if not node.is_step]
    degraded = any(node.phase in ("degraded", "skipped") for node in scopes)
    return ev.RunFinished(state="degraded" if degraded else "completed", output=output)
