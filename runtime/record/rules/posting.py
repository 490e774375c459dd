"""Whether an event that needs no lease may be written to a run, given the run's state in the same transaction."""

from __future__ import annotations

from runtime.record.state import events as ev
from runtime.record.state.summary import RUN_TERMINAL

_POSTABLE_AFTER_END = (
    ev.AnalysisStarted,
    ev.AnalysisAdded,
    ev.AnswerProposed,
    ev.RewindRequested,
    ev.LateResultDropped,
    ev.IncidentClosed,
)
"""What may be written to a run that has ended."""


def refusal(event: ev.JournalEvent, state: str) -> str:
    """Why the event would have no effect on a run in `state`; empty where it has one."""
    if state in RUN_TERMINAL and not isinstance(event, _POSTABLE_AFTER_END):
        why = {
            ev.AbortRequested: "only a run that has not ended can be aborted",
            ev.ClockStepped: "it waits for nothing",
        }
        return f"is {state} already: {why.get(type(event), 'it has ended')}"
    if isinstance(event, ev.RunFrozen) and state == "frozen":
        return "is frozen already"
    if isinstance(event, ev.RunThawed) and state != "frozen":
        return f"is {state}, not frozen: only a frozen run can be thawed"
    return ""
