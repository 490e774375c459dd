"""Quarantine: a run that cannot be driven is set aside with an incident that says why.

What fails again each time (an event that cannot be written or read back, a fault of the runtime's own) is not done
again unasked: every try would call models again. The run waits as a row like any other, until an operator says retry or
abort.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Literal

from msgspec.structs import replace

from runtime.execution import incidents
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.failures.crash_loop import EndedItsProcess
from runtime.execution.incidents import IncidentDraft
from runtime.execution.run_session import RunSession
from runtime.execution.wait_tracker import Activity
from runtime.judgement.recovery.option_table import effect_of
from runtime.judgement.recovery.options import ends_run
from runtime.record.journal import Journal, Lease, Unrecordable
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Incident, fold_events
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
)

RULE_ID = "run-stranded"
_END_MARKS = ('"type":"run.finished"', '"type":"run.rewind_requested"')
_DECISION_MARKS = ('"type":"run.abort_requested"', '"type":"incident.answered"')


async def quarantine_run(
    journal: Journal, lease: Lease, config: ExecutionConfig, clock: Callable[[], datetime], exc: Exception
) -> Literal["stranded", "finished"]:
    """Park the run under its lease, with an incident that names `exc`; or end it, if an operator asked for that and its
    events cannot even be read. The lease is given back with that.

    Raises:
        JournalError: this cannot be written either.
    """
    try:
        state, old = fold_events(await journal.read(lease.run_id)), None
    except Unrecordable:
        old = await journal.summary(lease.run_id)
        if (ended := await _ended_by(journal, lease.run_id)) is not None:
            summary = replace(old, state="aborted", open_incidents=0) if old is not None else None
            await journal.append(lease, [ended], summary=summary, release=True)
            return "finished"
        # What a person is told of it is what was last known.
        state = (
            DurableRun(id=lease.run_id, ref=old.ref, input=old.input) if old is not None else DurableRun(lease.run_id)
        )
    opened = incidents.incident_event(RunSession(journal, lease, state, config, clock), "", _quarantine_incident(exc))
    parked = ev.RunParked(ts=clock(), reason="waiting", wake_at=opened.deadline, incidents=(opened.incident_id,))
    told = [opened, parked]
    if old is None:
        for event in told:
            state.apply(event)
        await journal.append(lease, told, summary=state.summary(), release=True)
    else:
        now_open = len(await journal.incidents(lease.run_id)) + 1
        waiting = replace(old, state="waiting", open_incidents=now_open, wake_at=opened.deadline)
        await journal.append(lease, told, summary=waiting, release=True)
    return "stranded"


def _quarantine_incident(exc: Exception) -> IncidentDraft:
    why = str(exc) if isinstance(exc, Unrecordable | EndedItsProcess) else f"{type(exc).__name__}: {exc}"
    message = f"the run cannot be carried on: {why}"
    fault = Classification(
        origin=Origin.STORE if isinstance(exc, Unrecordable) else Origin.RUNNER,
        cause=Cause.INTERNAL,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NONE,
        impact=Impact.RUN,
        user_message=message,
        technical=f"{type(exc).__name__}: {exc}",
        suggestions=(exc.hint or "",)
        if isinstance(exc, EndedItsProcess)
        else (
            "Retry goes on from what is recorded; the call that was not recorded is made again.",
            "Rewind to a node before it, with another input or model, if the same comes back; or abort.",
        ),
        rule_id=RULE_ID,
    )
    return IncidentDraft(fault=fault, where="run", message=message, error=exc, in_place=False)


async def _ended_by(journal: Journal, run_id: str) -> ev.RunFinished | None:
    """The end that an operator asked for, of a run whose events cannot all be read."""
    for placed in reversed(await journal.latest(run_id, marks=(*_END_MARKS, *_DECISION_MARKS))):
        event = placed.event
        if isinstance(event, ev.AbortRequested) or (isinstance(event, ev.IncidentAnswered) and ends_run(event)):
            return ev.RunFinished(state="aborted", error=event.reason, by=event.by)
        if isinstance(event, ev.RunFinished | ev.RewindRequested):
            return None
    return None


def open_quarantine(state: DurableRun) -> Incident | None:
    """The incident that says that the run is stranded, while it is not answered."""
    return next((found for found in state.open_incidents if found.opened.fault.rule_id == RULE_ID), None)


async def wait_until_released(session: RunSession, activity: Activity) -> None:
    """Return once the run is not stranded. To be called where nothing of it has begun."""
    while (found := open_quarantine(session.state)) is not None:
        answer = await session.wait_for_answer(found.opened.incident_id, activity)
        if effect_of(answer.option) == "abort":
            session.end("abort")
            raise asyncio.CancelledError
