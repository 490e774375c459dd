"""The state of a run as a pure fold of its events.

`DurableRun.apply` takes the events of one run in order of `seq`. It never raises on what it reads: a transition that
cannot be (a node that closed twice, an answer to an unknown incident) leaves the state as it is and is counted in
`anomalies`, so that one odd event never hides a run from its operator. No terminal state is ever left.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.record.state import events as ev
from runtime.record.state import fold_runs as runs
from runtime.record.state import fold_steps as at_node
from runtime.record.state.nodes import (
    MAX_FAILED_ATTEMPTS,
    FailedAttempt,
    Incident,
    Node,
    NodeKind,
)
from runtime.record.state.run_data import RunData
from runtime.record.state.summary import (
    FOLD_VERSION,
    NODE_TERMINAL,
    RUN_TERMINAL,
    NodePhase,
    RunPhase,
    Summary,
)


@dataclass(slots=True)
class DurableRun(RunData):
    """One run, as far as its events tell: the data, and the fold that fills it in."""

    def apply(self, event: ev.JournalEvent) -> None:
        """Take one event into account."""
        kind, seq, ts = type(event), event.seq, event.ts
        self.last_seq = max(self.last_seq, seq)
        if kind is ev.RunStarted and self.active_since is not None:
            # A life ended without a word: its time is not known, so the last event counts.
            self.active_s = self.active_seconds(self.updated_at or ts)
            self.active_since = None
        self.updated_at = ts
        if event.v > ev.EVENT_VERSION or kind is ev.UnknownEvent:
            self.foreign |= {getattr(event, "type", "")}
        handler = _HANDLERS.get(kind)
        if handler is None:
            return
        # After the end nothing happens any more, but that a late analysis or proposal comes in, or that an operator
        # turns it back.
        node_id = event.node_id
        if (self.phase in RUN_TERMINAL and kind not in _AFTER_END_EVENTS) or not handler(self, event):
            self.anomalies += 1
        else:
            if node_id:
                self.moved, self.deaths = True, 0
            if kind in _TIMED:
                self._book_time(ts)
        node = self.nodes.get(node_id) if kind in _OF_ONE_NODE else None
        if node is None:
            self.changed_seq = seq
        else:
            node.changed_seq = seq

    def deaths_if_started(self, owner: str) -> int:
        """What `deaths` is if `owner` begins a life now."""
        return runs.deaths_after(self, owner)

    def _book_time(self, now: datetime) -> None:
        """Begin or end the stretch in which the run works, as it now does or does not."""
        works = self.phase == "running" and bool(self.busy)
        if works and self.incidents and self.open_incidents:
            works = any(not self.waits_within(found) for found in self.busy)
        if works and self.active_since is None:
            self.active_since = now
        elif not works and self.active_since is not None:
            self.active_s = self.active_seconds(now)
            self.active_since = None


def fold_events(events: Iterable[ev.JournalEvent]) -> DurableRun:
    """The state after `events`, which are one run's, in order."""
    state = DurableRun()
    for event in events:
        state.apply(event)
    return state


_HANDLERS: dict[type[ev.JournalEvent], Any] = {
    ev.RunCreated: runs.run_created,
    ev.RunStarted: runs.run_started,
    ev.RunParked: runs.run_parked,
    ev.RunFinished: runs.run_finished,
    ev.AbortRequested: runs.abort_requested,
    ev.RunFrozen: runs.run_frozen,
    ev.RunThawed: runs.run_thawed,
    ev.RunMoved: runs.run_moved,
    ev.RewindRequested: runs.rewind_requested,
    ev.RunRewound: runs.run_rewound,
    ev.SwarmLoaded: runs.swarm_loaded,
    ev.ClockSetBack: runs.clock_set_back,
    ev.ClockStepped: runs.clock_stepped,
    ev.BreakpointSet: runs.breakpoint_changed,
    ev.BreakpointCleared: runs.breakpoint_changed,
    ev.MessageInjected: runs.message_injected,
    ev.MessageDelivered: runs.message_delivered,
    ev.NodeOpened: at_node.node_opened,
    ev.NodeClosed: at_node.node_closed,
    ev.Warned: at_node.warned,
    ev.StepRequested: at_node.step_requested,
    ev.StepStarted: at_node.step_started,
    ev.StepEdited: at_node.step_edited,
    ev.StepEnded: at_node.step_ended,
    ev.StepSettled: at_node.step_settled,
    ev.RetryScheduled: at_node.retry_scheduled,
    ev.StepFellBack: at_node.step_fell_back,
    ev.StepCompacted: at_node.step_compacted,
    ev.ControlReturned: at_node.control_returned,
    ev.LateResultDropped: at_node.late_result,
    ev.CancelRequested: at_node.cancel_requested,
    ev.IncidentOpened: at_node.incident_opened,
    ev.IncidentAnswered: at_node.incident_answered,
    ev.IncidentClosed: at_node.incident_closed,
    ev.AnswerProposed: at_node.answer_proposed,
    ev.GrantUsed: at_node.grant_used,
    ev.AnalysisStarted: at_node.analysis_started,
    ev.AnalysisAdded: at_node.analysis_added,
}

_AFTER_END_EVENTS = (ev.AnalysisStarted, ev.AnalysisAdded, ev.AnswerProposed, ev.RewindRequested, ev.LateResultDropped)

_OF_ONE_NODE: frozenset[type[ev.JournalEvent]] = frozenset(
    {
        ev.StepRequested, ev.StepStarted, ev.StepEdited, ev.StepEnded, ev.StepSettled, ev.RetryScheduled,
        ev.StepFellBack, ev.StepCompacted, ev.CancelRequested, ev.LateResultDropped, ev.Warned, ev.GrantUsed,
    }
)  # fmt: skip
"""Events that change no node but the one that they name; of those above it only whether something moves below."""

_TIMED: frozenset[type[ev.JournalEvent]] = frozenset(
    {
        ev.RunStarted, ev.RunParked, ev.RunFinished, ev.RunFrozen, ev.RunThawed, ev.RunRewound, ev.AbortRequested,
        ev.StepStarted, ev.StepEnded, ev.IncidentOpened, ev.IncidentAnswered, ev.IncidentClosed,
    }
)  # fmt: skip
"""Events after which a run may have begun or ceased to work."""
