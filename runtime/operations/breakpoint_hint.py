"""The hint on a breakpoint that matches nothing so far: the name may be misspelled, or of the other kind."""

from __future__ import annotations

from fnmatch import fnmatchcase

from orbiter.parsing.near_names import near_names
from runtime.operations.requests.runs import BreakpointKind
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.nodes import Node

COARSE = "is a graph that is recorded by supersteps"
"""What is said of a node for which `is_coarse` is true."""


def unmatched_breakpoint_text(state: DurableRun, what: BreakpointKind, pattern: str) -> str:
    """What to say of a breakpoint that matches nothing that is known of the run; empty where it does, or where nothing
    has begun.
    """
    if refused := _without_turns(state, what, pattern):
        return refused
    names = {
        "agent": {node.name for node in state.nodes.values() if node.kind == "agent"}
        | {str(name) for node in state.nodes.values() for name in node.info.get("members", ())},
        "tool": {node.name for node in state.nodes.values() if node.kind == "tool"}
        | {str(name) for node in state.nodes.values() if node.kind == "agent" for name in node.info.get("tools", ())},
    }
    if not state.nodes or any(fnmatchcase(name, pattern) for name in names[what]):
        return ""
    other: BreakpointKind = "agent" if what == "tool" else "tool"
    if any(fnmatchcase(name, pattern) for name in names[other]):
        hint = f"{pattern} is the name of an {other}" if other == "agent" else f"{pattern} is the name of a {other}"
        hint = f"{hint}: {other}:{pattern} would stop there"
    elif near := near_names(pattern, sorted(names[what]), most=3):
        hint = f"did you mean {' or '.join(near)}?"
    else:
        listed = sorted(names[what])
        hint = f"it has {', '.join(listed[:12])}{', …' if len(listed) > 12 else ''}" if listed else f"it has no {what}"
    return f"no {what} of run {state.id} is known so far that matches {pattern!r}: {hint}"


def _without_turns(state: DurableRun, what: BreakpointKind, pattern: str) -> str:
    """What to say where all that matches is in graphs of guests that are recorded coarsely; empty where it is not."""
    agents = [node for node in state.nodes.values() if node.kind == "agent"]
    if what == "tool" and any(node.kind == "tool" and fnmatchcase(node.name, pattern) for node in state.nodes.values()):
        return ""
    matching = [
        node
        for node in agents
        if any(
            fnmatchcase(str(name), pattern)
            for name in ((node.name,) if what == "agent" else node.info.get("tools", ()))
        )
    ]
    if not matching or not all(is_coarse(node) for node in matching):
        return ""
    return f"{matching[0].name} {COARSE}, so it does not stop before its turns and tools"


def is_coarse(node: Node) -> bool:
    """Whether a node is a graph of a guest of which no single call is recorded, so that nothing acts between calls."""
    return bool(node.info.get("depth") == "coarse")
