"""Agents that have code of their own around their tools: it is told of a tool's failure before a person is.

Such code is a capability that wraps tools or deals with their errors, or a tool set that is wrapped around another one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import ValidationError
from pydantic_ai.capabilities import AbstractCapability, Hooks
from pydantic_ai.capabilities.abstract import CapabilityOrdering
from pydantic_ai.exceptions import (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    SkipToolExecution,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
)
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, WrapperToolset

from orbiter.guests.handled_failures import HandledCall
from orbiter.guests.pydantic_ai.life import current_life

_STEERING = (
    ApprovalRequired,
    CallDeferred,
    ModelRetry,
    SkipToolExecution,
    ToolFailed,
    ToolFailedError,
    ToolRetryError,
    ValidationError,
)
"""What is raised around a tool to steer pydantic-ai."""
_HOOKS = ("wrap_tool_execute", "on_tool_execute_error")
_OF_THE_FRAMEWORK = "pydantic_ai."


class ToolGuard(AbstractCapability[Any]):
    """Asks a person of a tool's failure that comes out of all code around the tool.

    Args:
        handles: The agent has a tool set that may deal with failures.
    """

    def __init__(self, *, handles: bool) -> None:
        self.handles = handles

    def get_ordering(self) -> CapabilityOrdering:
        """Outside of all others."""
        return CapabilityOrdering(position="outermost")

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> Any:
        """Call the tool, with all code around it."""
        life = current_life()
        if life is None or not (self.handles or _told_of_failures(ctx.root_capability)):
            return await handler(args)
        return await HandledCall(life).through(lambda: handler(dict(args)), _STEERING)


def handles_failures(toolset: AbstractToolset[Any]) -> bool:
    """Whether a tool set is, or has in it, one of a user's own that calls the tools of another one."""
    if isinstance(toolset, CombinedToolset):
        return any(map(handles_failures, toolset.toolsets))
    if not isinstance(toolset, WrapperToolset):
        return False
    own = not type(toolset).call_tool.__module__.startswith(_OF_THE_FRAMEWORK)
    return own or handles_failures(toolset.wrapped)


def _told_of_failures(root: AbstractCapability[Any] | None) -> bool:
    """Whether one of the capabilities of a run's own is told of the failures of tools."""
    found: list[AbstractCapability[Any]] = []
    if root is not None:
        root.apply(found.append)
    return any(_is_told(each) for each in found if not isinstance(each, ToolGuard))


def _is_told(capability: AbstractCapability[Any]) -> bool:
    if type(capability) is Hooks:
        # Private in pydantic-ai. A version without it: taken as told, then a person is asked after the hooks.
        registered = getattr(capability, "_get", None)
        return registered is None or any(map(registered, _HOOKS))
    methods = (getattr(type(capability), name) for name in _HOOKS)
    return not all(method.__module__.startswith(_OF_THE_FRAMEWORK) for method in methods)
