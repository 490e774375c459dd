"""`drive`: claims a run's lease (its length: `LEASE_S`), replays the run, and drives it until it ends or parks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from datetime import datetime
from typing import Literal

from runtime.execution.deadlines import clock_set_back_events
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
from runtime.record.journal import Fenced, Journal, JournalError, Lease, StaleSequence, Unrecordable
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events
from runtime.record.state.nodes import MAX_DEATHS
from runtime.worker.last_events import last_events
from runtime.worker.lease_renewal import keep_renewed, let_go
from runtime.worker.run_root import run_root
from runtime.worker.stop_signal import StopSignal

log = logging.getLogger("runtime.drive")

DriveOutcome = Literal["finished", "parked", "busy", "fenced", "stranded"]
LEASE_S = 10.0
"""How long a run stays with a process that no longer renews (`lease_renewal`)."""
_CANCEL_RETRY_S = 5.0
_CANCELLATIONS = 3


class LeaseUnavailable(JournalError):
    """The journal cannot be written now, so no process can take the run up; nothing was begun."""


async def drive(
    journal: Journal,
    run_id: str,
    owner: str,
    config: ExecutionConfig,
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
        lease = await journal.claim(run_id, owner, lease_s, code=config.code, queues=config.queues)
    except JournalError as exc:
        raise LeaseUnavailable(str(exc)) from exc
    if lease is None:
        return "busy"
    # The last events give the lease back. Where something went wrong it is kept instead, and runs out: what fails at
    # once is not tried at once again.
    try:
        return await _drive_to_end(journal, lease, config, clock, stopping, failed)
    except Fenced:
        return "fenced"
    except asyncio.CancelledError:
        await _give_back(journal, lease)
        raise


async def _give_back(journal: Journal, lease: Lease) -> None:
    with suppress(JournalError):  # it runs out
        await journal.release(lease)


async def _drive_to_end(  # noqa: PLR0917 - of one caller
    journal: Journal,
    lease: Lease,
    config: ExecutionConfig,
    clock: Callable[[], datetime],
    stopping: StopSignal | None,
    failed: Exception | None,
) -> DriveOutcome:
    if failed is None:
        try:
            return await _resume(journal, lease, config, clock, stopping)
        except (Unrecordable, EndedItsProcess) as exc:
            failed = exc
    driven = await quarantine.quarantine_run(journal, lease, config, clock, failed)
    log.error("run %s: it cannot be carried on and is set aside", lease.run_id, exc_info=failed)
    return driven


async def _resume(
    journal: Journal,
    lease: Lease,
    config: ExecutionConfig,
    clock: Callable[[], datetime],
    stopping: StopSignal | None,
) -> DriveOutcome:
    # The events themselves are not kept: this frame lives as long as the run does here.
    state = fold_events(await journal.read(lease.run_id))
    session = RunSession(journal, lease, state, config, clock)
    trial = AsyncExitStack() if is_suspect(state.deaths_if_started(lease.owner)) else None
    keep_renewed(journal, lease, session.end)
    listening = session.listen()
    try:
        if trial is not None and not await run_alone(session, trial, stopping):
            await _give_back(journal, lease)
            return "parked"
        await session.record(
            ev.RunStarted(epoch=lease.epoch, owner=lease.owner, program=config.program, code=config.code),
            *clock_set_back_events(state, clock()),
            *(await _copy_fork(session) if not state.lives else ()),
        )
        if state.terminal:
            await _give_back(journal, lease)
            return "finished"
        if state.deaths >= MAX_DEATHS and not (state.abort or state.rewind or quarantine.open_quarantine(state)):
            raise EndedItsProcess(state)
        return await _run_session(session, stopping, trial)
    finally:
        listening.stop()
        let_go(journal, lease)
        if trial is not None:
            await trial.aclose()


async def _copy_fork(session: RunSession) -> list[ev.JournalEvent]:
    """What a fork begins with. Written with its first start, in one piece: it has all of it or was never begun."""
    origin = session.state.fork_origin
    if not origin.run_id:
        return []
    recorded = await session.journal.read(origin.run_id)
    if not recorded:
        # Without its source it would do everything again from the beginning, which is not what a fork was asked for.
        gone = f"the run {origin.run_id}, of which this is a fork, is gone (pruned)"
        return [ev.RunFinished(state="failed", error=gone)]
    source = fold_events(event for event in recorded if event.seq <= origin.seq)
    return copied_events(source, origin.node_id, session.state.id[-4:])


async def _run_session(session: RunSession, stopping: StopSignal | None, trial: AsyncExitStack | None) -> DriveOutcome:
    """One life, with what watches it: for a standstill, for progress, for the stop."""
    root = asyncio.create_task(run_root(session), name=f"run {session.state.id}")
    session.set_root_task(root)
    attendants: list[asyncio.Task[None]] = []
    if session.config.stall_s is not None:
        attendants.append(asyncio.create_task(watch_progress(session, session.config.stall_s)))
    if session.state.deaths:
        attendants.append(asyncio.create_task(until_progress(session, trial)))
    if stopping is not None:
        stopping.add(session)
    if session.state.abort is not None or ended_at_run(session.state):
        session.end("abort")
    elif session.state.rewind is not None:
        session.end("rewind")
    try:
        await _wait_for_root(session, root)
        return await _record_outcome(session, root)
    finally:
        session.tracker.close()
        if stopping is not None:
            stopping.remove(session)
        for task in attendants:
            task.cancel()
        for result in await asyncio.gather(*attendants, return_exceptions=True):
            if isinstance(result, Exception):
                log.error("run %s: %r", session.state.id, result)
        if not root.done():
            # The drive itself was cancelled: what ran is stopped and awaited, and found in doubt by the next life.
            session.end("stop")
            await _wait_for_root(session, root)


async def _wait_for_root(session: RunSession, root: asyncio.Task[ev.RunFinished]) -> None:
    """Wait for the root. Code that holds on to a cancellation is cancelled again, and at last left behind: nothing that
    it still does can be written, and its step is found in doubt.
    """
    if not session.ended.done():
        await session.ended
    if root.done():
        return
    for left in reversed(range(_CANCELLATIONS)):
        if not root.done():
            await asyncio.wait({root}, timeout=_CANCEL_RETRY_S)
        if root.done():
            return
        log.warning(
            "run %s: its code caught its cancellation%s", session.state.id, "; again" if left else ": left behind"
        )
        root.cancel()


async def _record_outcome(session: RunSession, root: asyncio.Task[ev.RunFinished]) -> DriveOutcome:
    """Write how the life ended, which is decided by all that the run was told until it is written."""
    await session.writer.wait_for_writes()
    if root.done() and not root.cancelled() and session.ending:
        root.exception()  # whatever it was, it came of being ended
    if session.ending == "fenced":
        return "fenced"
    while True:
        last = last_events(session, root)
        try:
            await session.writer.close(*last)
        except StaleSequence:
            await session.catch_up()
        else:
            return "finished" if isinstance(last[-1], ev.RunFinished) else "parked"
