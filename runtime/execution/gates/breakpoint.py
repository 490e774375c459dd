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


def has_breakpoint(life: RunSession, what: Literal["tool", "agent"], name: str) -> bool:
    """Whether a breakpoint of the run names this tool or agent."""
    return any(kind == what and fnmatchcase(name, pattern) for kind, pattern in life.state.breakpoints)


def was_released(life: RunSession, node_id: str) -> bool:
    """Whether somebody let this node go on after a breakpoint already."""
    node = life.state.nodes.get(node_id)
    found = (life.state.incidents[incident_id] for incident_id in (node.incidents if node is not None else ()))
    return any(incident.opened.fault.rule_id == RULE_ID and incident.answer is not None for incident in found)


def breakpoint_fault(what: Literal["tool", "agent"], name: str) -> Classification:
    """Nothing failed: the go-ahead of a person is what is missing."""
    return Classification(
        origin=Origin.HUMAN,
        cause=Cause.MISSING_INPUT,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        user_message=f"breakpoint before {what} {name}",
        rule_id=RULE_ID,
    )
