"""The breakpoint gate: a run waits before a tool or agent that an operator named."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

from runtime.execution.run_session import RunSession
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Origin,
    Persistence,
)

RULE_ID = "breakpoint"


def breakpoint_fault(
    session: RunSession, node_id: str, what: Literal["tool", "agent"], name: str
) -> Classification | None:
    """What to ask before a node of this tool or agent runs; None where no breakpoint names it, or a person let this
    node go on already. Nothing failed: the go-ahead of a person is what is missing.
    """
    if not any(kind == what and fnmatchcase(name, pattern) for kind, pattern in session.state.breakpoints):
        return None
    if _was_released(session, node_id):
        return None
    return Classification(
        origin=Origin.HUMAN,
        cause=Cause.MISSING_INPUT,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        user_message=f"breakpoint before {what} {name}",
        rule_id=RULE_ID,
    )


def _was_released(session: RunSession, node_id: str) -> bool:
    node = session.state.nodes.get(node_id)
    found = (session.state.incidents[incident_id] for incident_id in (node.incidents if node is not None else ()))
    return any(incident.opened.fault.rule_id == RULE_ID and incident.answer is not None for incident in found)
