"""Steps in doubt: begun, and without a known end; whether to ask a person first, and with which words."""

from __future__ import annotations

import os
import socket

from runtime.execution.incidents import IncidentDraft
from runtime.execution.step_context import StepContext
from runtime.record.lease_owner import has_died
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Origin,
    Persistence,
)
from runtime.record.state.nodes import Node

_PROCESS_ENDED_TEXT = "had begun when its process ended"
_MESSAGE_FORMAT = "{} {}: nobody knows whether it took effect"


def in_doubt_incident(c: StepContext) -> IncidentDraft | None:
    """What to ask before the first attempt of this life: an incident that is open, or an effect nobody knows."""
    node = c.node
    if node is None:
        return None
    if node.incidents and c.session.state.incidents[node.incidents[-1]].open:
        return IncidentDraft(
            fault=c.session.state.incidents[node.incidents[-1]].opened.fault, where=c.step.kind, message=""
        )
    if c.repeatable or not node.attempts or node.round == 0:
        return None
    what = _what_happened(c, node)
    if not what:
        return None
    message = _MESSAGE_FORMAT.format(c.step.name, what)
    fault = Classification(
        origin=Origin.TOOL,
        cause=Cause.CANCELLED,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.UNKNOWN,
        user_message=message,
        rule_id="in-doubt",
    )
    return IncidentDraft(
        fault=fault,
        where="tool",
        message=message,
        alike=_MESSAGE_FORMAT.format(c.step.name, _PROCESS_ENDED_TEXT),  # the same question, however it came to that
        action=c.action_text({}),
        in_doubt=True,
        result_type=c.step.traits.result_type,
    )


def _what_happened(c: StepContext, node: Node) -> str:
    """Why the effect of the last attempt is not known, in words; empty where it is."""
    if node.in_flight is not None:
        return _cut_off(c, node.in_flight) if node.in_flight != c.session.lease.epoch else ""
    if node.fault is None or node.retry is not None or node.fault.repeatable:
        return ""
    if node.fault.rule_id == "cancelled":
        return "was cancelled while it was under way"
    said = node.fault.user_message or node.fault.technical
    return f"came to no clear end ({said})" if said else "came to no clear end"


def _cut_off(c: StepContext, epoch: int) -> str:
    """How the life ended in which an attempt began that has no end."""
    state, lease = c.session.state, c.session.lease
    if epoch in state.let_go:
        return f"had begun when {state.let_go[epoch]}, and was cut off"
    owner = state.owners.get(epoch, "")
    if owner.partition("#")[0] == lease.owner.partition("#")[0] and owner != lease.owner:
        return "had begun, and how it ended could not be written to the journal"
    machine, _, rest = owner.partition(":")
    if machine == socket.gethostname() and not has_died(owner):
        return f"had begun in another process ({owner}), which this one took the run over from"
    # Our own number is that of an earlier process too, where a container gives it again.
    return "had begun when its runtime ended" if rest.startswith(f"{os.getpid()}:") else _PROCESS_ENDED_TEXT
