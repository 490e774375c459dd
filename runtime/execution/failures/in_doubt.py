"""Steps in doubt: begun, and without a known end; whether to ask a person first, and with which words."""

from __future__ import annotations

import os
import socket
from typing import Any

from orbiter.steps import Step
from runtime.execution.incidents import IncidentDraft
from runtime.record.journal import Lease
from runtime.record.lease_owner import has_died
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Origin,
    Persistence,
)
from runtime.record.state.nodes import Node

_PROCESS_ENDED_TEXT = "had begun when its process ended"
_MESSAGE_FORMAT = "{} {}: it is not known whether it took effect"


def draft_in_doubt(step: Step[Any, Any], happened: str, action: dict[str, Any]) -> IncidentDraft:
    """What to ask before a step is carried out again of which `happened` says why its effect is not known."""
    message = _MESSAGE_FORMAT.format(step.name, happened)
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
        alike=_MESSAGE_FORMAT.format(step.name, _PROCESS_ENDED_TEXT),  # the same question, however it came to that
        action=action,
        not_offered=step.traits.not_offered,
        in_doubt=True,
        result_type=step.traits.result_type,
    )


def doubt_reason(node: Node, state: DurableRun, lease: Lease) -> str:
    """Why the effect of a step's last attempt is not known, in words; empty where it is."""
    if not node.attempts or node.round == 0:
        return ""
    if node.in_flight is not None:
        return _cut_off(node.in_flight, state, lease) if node.in_flight != lease.epoch else ""
    if node.fault is None or node.retry is not None or node.fault.repeatable:
        return ""
    if node.fault.rule_id == "cancelled":
        return "was cancelled while it was under way"
    said = node.fault.user_message or node.fault.technical
    return f"came to no clear end ({said})" if said else "came to no clear end"


def _cut_off(epoch: int, state: DurableRun, lease: Lease) -> str:
    """How the life ended in which an attempt began that has no end."""
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
