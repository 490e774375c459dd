"""The fold of events at a node: scopes open and close, steps are tried, incidents are opened and answered.

Each handler says whether its event could be: False leaves the state as it was and is counted as an anomaly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Cause
from runtime.record.state.nodes import (
    MAX_DEATHS,
    MAX_FAILED_ATTEMPTS,
    NOTHING,
    FailedAttempt,
    Incident,
    Node,
    with_proposal,
)
from runtime.record.state.summary import NODE_TERMINAL, NodePhase

if TYPE_CHECKING:
    from runtime.record.state.run_data import RunData


def cancel_below(s: RunData, top: Node, e: ev.JournalEvent) -> None:
    """What is still open under a node that ended can only have been cancelled."""
    stack = [top]
    while stack:
        node = stack.pop()
        if node.children:
            below = [s.nodes[child] for child in node.children]
            stack.extend([each for each in below if each.children or each.phase not in NODE_TERMINAL])
        if node.phase not in NODE_TERMINAL:
            node.closed_at = e.ts
            s.move(node, "cancelled")


def reopen(s: RunData, node: Node) -> None:
    s.enter(node, "running")
    node.output, node.error, node.closed_at, node.closed_seq = "", "", None, 0


def node_opened(s: RunData, e: ev.NodeOpened) -> bool:
    if e.node_id in s.nodes:
        return False
    node = Node(
        e.node_id, e.parent_id, e.kind, e.name, info=e.info, opened_at=e.ts, opened_seq=e.seq,
        requested=NOTHING, effective=NOTHING, delivered=NOTHING,
    )  # fmt: skip
    node.active_at_open = s.active_seconds(e.ts)
    s.declared = s.declared.union(e.info)
    s.add(node)
    return True


def node_closed(s: RunData, e: ev.NodeClosed) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None or node.terminal:
        return False
    node.output, node.error, node.closed_at, node.closed_seq = e.output, e.error, e.ts, e.seq
    s.move(node, e.state)
    cancel_below(s, node, e)
    return True


def warned(s: RunData, e: ev.Warned) -> bool:
    node = s.nodes.get(e.node_id)
    if node is not None:
        node.warnings += (e.text,)
    return True


def _introduce(s: RunData, e: ev.StepRecord, phase: NodePhase) -> Node:
    node = Node(
        e.node_id, e.parent_id, e.kind, e.name, e.agent, phase, NOTHING,
        opened_at=e.ts, opened_seq=e.seq, is_step=True,
        requested=e.requested, effective=NOTHING, permissions=e.permissions, idempotent=e.idempotent,
        delivered=NOTHING,
    )  # fmt: skip
    s.add(node)
    s.steps += 1
    return node


def step_requested(s: RunData, e: ev.StepRequested) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None:
        _introduce(s, e, "pending")
    elif not (node.recorded or node.hooks_due):
        node.requested = e.requested
    return True


def step_started(s: RunData, e: ev.StepStarted) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None:
        node = _introduce(s, e, "running")
    else:
        if node.secret:
            node.secret = False
            reopen(s, node)
        if node.terminal or node.recorded or node.hooks_due or not node.is_step:
            return False
        if requested := e.requested:
            node.requested = requested
    node.effective = e.effective or NOTHING
    if not node.attempts:
        if s.unplaced:
            node.deaths = 1  # it may be what ended the process: the last life ended too soon to say so
        if e.kind == "llm":
            s.llm_calls += 1
        elif e.kind == "tool":
            s.tool_calls += 1
    s.busy.setdefault(node.id)
    if node.open_children and node.in_flight in s.let_go:
        node.resumed += 1
    node.attempts += 1
    node.round += 1
    node.in_flight, node.retry, node.cancel = e.epoch, None, None
    node.began_at, node.began_seq = e.ts, e.seq
    return s.move(node, "running")


def step_edited(s: RunData, e: ev.StepEdited) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None:
        return False
    node.edits = e.changes
    return True


def step_ended(s: RunData, e: ev.StepEnded) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None or node.recorded or node.hooks_due or not node.is_step:
        return False
    fault, read, written = e.fault, e.input_tokens, e.output_tokens
    node.in_flight, node.fault, node.by, node.deaths = None, fault, e.by, 0
    s.unplaced = False
    s.busy.pop(node.id, None)
    if e.unpriced:
        s.unpriced_calls += 1
    if read or written:
        node.input_tokens += read
        node.output_tokens += written
        s.input_tokens += read
        s.output_tokens += written
    if e.cost_usd is not None:
        node.cost_usd = (node.cost_usd or 0.0) + e.cost_usd
        s.cost_usd = (s.cost_usd or 0.0) + e.cost_usd
    if fault is not None:
        node.error = fault.technical or fault.user_message
        if e.by is None:
            failed = FailedAttempt(e.attempt, e.ts, e.seconds, fault.cause.value, node.error[:500], seq=e.seq)
            node.tries = (*node.tries, failed)[-MAX_FAILED_ATTEMPTS:]
    if e.secret:
        node.secret, node.closed_at, node.closed_seq = True, e.ts, e.seq
        return s.move(node, "succeeded")
    if fault is not None and not e.absorbed:
        return True
    node.result = e.result
    if e.settled:
        return _settle(s, node, e)
    node.recorded, node.hooks_due = False, True
    return True


def _settle(s: RunData, node: Node, e: ev.JournalEvent) -> bool:
    node.recorded, node.hooks_due, node.closed_at, node.closed_seq = True, False, e.ts, e.seq
    if node.by is not None and isinstance(e, ev.StepEnded) and e.skipped:
        return s.move(node, "skipped")
    if node.fault is None:
        return s.move(node, "succeeded")
    return s.move(node, "timed_out" if node.fault.cause is Cause.TIMEOUT else "failed")


def cancel_requested(s: RunData, e: ev.CancelRequested) -> bool:
    node = s.nodes.get(e.node_id)
    if node is not None and node.under_way and node.attempts == e.attempt:  # else it came to its end meanwhile
        node.cancel = e
    return True


def step_settled(s: RunData, e: ev.StepSettled) -> bool:
    node = s.nodes.get(e.node_id)
    return node is not None and node.hooks_due and _settle(s, node, e)


def step_fell_back(s: RunData, e: ev.StepFellBack) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None or node.recorded:
        return False
    node.fell_back += (e,)
    node.round = 0
    return True


def step_compacted(s: RunData, e: ev.StepCompacted) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None or node.recorded:
        return False
    node.compactions = max(node.compactions, e.round)
    node.compacted += (e,)
    return True


def control_returned(s: RunData, e: ev.ControlReturned) -> bool:
    s.returned.append(e)
    node = s.nodes.get(e.node_id)
    if node is None:
        return not e.node_id
    node.returned = e
    return True


def retry_scheduled(s: RunData, e: ev.RetryScheduled) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None or node.recorded:
        return False
    node.retry = e
    if node.tries:
        node.tries = (*node.tries[:-1], replace(node.tries[-1], wait_s=e.delay_s, wait_source=e.source))
    return s.move(node, "retrying")


def late_result(s: RunData, e: ev.LateResultDropped) -> bool:
    node = s.nodes.get(e.node_id)
    if node is not None:
        node.warnings += (f"attempt {e.attempt} came back after it had been given up: {e.summary}",)
    return True


def incident_opened(s: RunData, e: ev.IncidentOpened) -> bool:
    if e.incident_id in s.incidents:
        return False
    s.incidents[e.incident_id] = Incident(e)
    node = s.nodes.get(e.node_id)
    if node is None:
        return not e.node_id
    node.incidents += (e.incident_id,)
    return s.move(node, "waiting")


def incident_answered(s: RunData, e: ev.IncidentAnswered) -> bool:
    incident = s.incidents.get(e.incident_id)
    if incident is None or not incident.open:
        return False
    incident.answer = e
    if s.phase == "waiting":
        s.phase = "queued"
    node = s.nodes.get(incident.opened.node_id)
    s.deaths = min(s.deaths, MAX_DEATHS - 1)  # one more try
    if node is not None:
        node.deaths = min(node.deaths, MAX_DEATHS - 1)
    if node is not None and not node.terminal:
        node.round, node.retry = 0, None  # a wait that was scheduled before is the answer's affair now
        s.move(node, "running")
    return True


def incident_closed(s: RunData, e: ev.IncidentClosed) -> bool:
    incident = s.incidents.get(e.incident_id)
    if incident is None or not incident.open:
        return False
    incident.closed = e.reason
    if s.phase == "waiting":
        s.phase = "queued"
    return True


def answer_proposed(s: RunData, e: ev.AnswerProposed) -> bool:
    incident = s.incidents.get(e.incident_id)
    if incident is None:
        return False
    incident.proposals = with_proposal(incident.proposals, e)
    return True


def grant_used(s: RunData, e: ev.GrantUsed) -> bool:
    s.granted.setdefault(e.node_id, []).append(e)  # of a step that has not begun: its node comes after
    return True


def analysis_started(s: RunData, e: ev.AnalysisStarted) -> bool:
    incident = s.incidents.get(e.incident_id)
    if incident is None:
        return False
    if incident.analysis is None:
        incident.analysing = e
    return True


def analysis_added(s: RunData, e: ev.AnalysisAdded) -> bool:
    incident = s.incidents.get(e.incident_id)
    if incident is None:
        return False
    incident.analysing, incident.analysis = None, e
    if e.cost_usd is not None:
        s.cost_usd = (s.cost_usd or 0.0) + e.cost_usd
    return True
