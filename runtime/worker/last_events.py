"""The last events of a drive: how a run ended, parked, or was turned back."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from runtime.execution.deadlines import clock_set_back_events
from runtime.execution.failures import quarantine
from runtime.execution.failures.stall_detector import ended_at_run
from runtime.execution.run_session import RunSession
from runtime.judgement.recovery.options import ends_run
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.rewind import nodes_dropped_by


def last_events(session: RunSession, root: asyncio.Task[ev.RunFinished]) -> list[ev.JournalEvent]:
    """What the life ends with, by what was heard so far."""
    rewind, unfinished = session.state.rewind, root.cancelled() or not root.done()
    ended_since = rewind is not None and _was_ended(session.state, rewind.seq)
    if rewind is not None and not ended_since:
        return [*_rewind_events(session), ev.RunParked(ts=session.clock(), reason="stop")]
    asked = session.state.abort is not None or ended_since or ended_at_run(session.state)
    # Also if the body came to an end all the same, because user code caught its cancellation: what was asked is done.
    if session.ending == "abort" or (unfinished and asked):
        return [_abort_event(session)]
    if not unfinished:
        return [root.result()]
    at = session.clock()  # before the look: a clock set back after it leaves the park in the future, where it is found
    for moved in clock_set_back_events(session.state, session.clock()):
        session.record_soon(moved)
    if session.ending != "park":
        return [ev.RunParked(ts=at, reason="stop")]
    incidents = tuple(sorted(wait.incident_id for wait in session.waits if wait.incident_id))
    thaw = any(wait.thaw for wait in session.waits)
    return [ev.RunParked(ts=at, reason="waiting", wake_at=_wake_at(session), incidents=incidents, thaw=thaw)]


def _was_ended(state: DurableRun, after: int) -> bool:
    """Whether an incident was answered with the end of the whole run, after an event."""
    answers = [
        found.answer for found in state.incidents.values() if found.answer is not None and found.answer.seq > after
    ]
    return any(ends_run(each) for each in answers)


def _abort_event(session: RunSession) -> ev.RunFinished:
    if session.final is not None:
        return session.final
    asked = session.state.abort
    if asked is not None:
        return ev.RunFinished(state="aborted", error=asked.reason, by=asked.by)
    answers = [found.answer for found in session.state.incidents.values() if found.answer is not None]
    last = next((found for found in reversed(answers) if ends_run(found)), None)
    return ev.RunFinished(
        state="aborted", error=last.reason if last is not None else "", by=last.by if last is not None else ev.Actor()
    )


def _rewind_events(session: RunSession) -> list[ev.JournalEvent]:
    """What turns the run back, once nothing of it runs any more: the incidents that go with it, then the rewind
    itself.
    """
    asked = session.state.rewind
    if asked is None or asked.node_id not in session.state.nodes:
        return []
    dropped = nodes_dropped_by(session.state, asked.node_id)
    gone = [found.opened for found in session.state.open_incidents if found.opened.node_id in dropped]
    if (aside := quarantine.open_quarantine(session.state)) is not None:
        gone.append(aside.opened)  # another way was found
    closed: list[ev.JournalEvent] = [
        ev.IncidentClosed(node_id=opened.node_id, incident_id=opened.incident_id, reason="the run was rewound")
        for opened in gone
    ]
    rewound = ev.RunRewound(
        node_id=asked.node_id, changes=asked.changes, dropped=len(dropped), reason=asked.reason, by=asked.by
    )
    return [*closed, rewound]


def _wake_at(session: RunSession) -> datetime | None:
    """When the run must be looked at again even without an answer: the earliest instant of what everything waits for.
    A clock that was set back makes no wait longer.
    """
    instants: list[datetime | None] = []
    for wait in session.waits:
        if wait.until is not None:
            instants.append(min(wait.until, session.clock() + timedelta(seconds=wait.at_most)))
        elif wait.incident_id and (found := session.state.incidents[wait.incident_id]).open:
            instants.append(session.deadline_of(found.opened))
    return min((each for each in instants if each is not None), default=None)
