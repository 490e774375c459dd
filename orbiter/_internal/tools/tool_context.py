"""What a tool may know of the call that it serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know of the call that it serves: annotate a parameter with it, and it is filled in.

    Args:
        agent: The name of the agent that calls.
        tool_name: The tool's name.
        tool_call_id: The model's own id of the call.
        run_id: The run; empty under plain `run`.
        node_id: The node of the call in the run's tree; empty under plain `run`.
        attempt: Counted from 1.
        scope: The open node (see orbiter.steps).
        metadata: The agent's `context`.

    Examples:
        >>> from orbiter import ToolContext, tool
        >>> @tool
        ... def note(text: str, context: ToolContext) -> str:
        ...     "Note something."
        ...     return f"{context.agent}: {text}"
        >>> list(note.parameters["properties"])
        ['text']
    """

    agent: str = ""
    tool_name: str = ""
    tool_call_id: str = ""
    run_id: str = ""
    node_id: str = ""
    attempt: int = 1
    scope: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


_NO_CONTEXT = ToolContext()
TOOL_CONTEXT: ContextVar[ToolContext | Callable[[], ToolContext]] = ContextVar(
    "orbiter_tool_context", default=_NO_CONTEXT
)
"""The context, or what makes it: an agent sets the latter, since most tools never ask for it."""


def current_tool_context() -> ToolContext:
    """The context of the tool call that this code serves; an empty one outside any.

    Returns:
        The context.

    Examples:
        >>> from orbiter.tool import current_tool_context
        >>> current_tool_context().agent  # outside a call of a tool
        ''
    """
    found = TOOL_CONTEXT.get()
    return found if isinstance(found, ToolContext) else found()


@contextmanager
def tool_context(context: ToolContext) -> Iterator[None]:
    """Make `context` the one that tools called inside get.

    Args:
        context: What they get.

    Returns:
        A context manager.
    """
    token = TOOL_CONTEXT.set(context)
    try:
        yield
    finally:
        TOOL_CONTEXT.reset(token)
