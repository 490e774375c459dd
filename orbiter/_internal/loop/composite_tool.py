"""Composite tools: calls of tools that only run agents are a node, not a step.

Such a call is never in doubt and has no time-out of its own; what happens in it is recorded by the agents inside.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal

from orbiter import steps
from orbiter._internal.loop.tool_step import (
    TOOL_CODEC,
    ToolInvocation,
    as_text,
    invoke_tool,
    tool_error_of,
    tool_result_of,
)
from orbiter._internal.loop.value_step import run_hook_once
from orbiter.steps import HandedBack, Place, Scope, Skipped
from orbiter.types import ToolResult, content_text

BeforeHook = Callable[[ToolInvocation], Awaitable[None]]
NodeEnd = Literal["degraded", "failed"]
AfterHook = Callable[[ToolInvocation, ToolResult], Awaitable[None]]


async def call_composite(
    parent: Scope, place: Place, invocation: ToolInvocation, before: BeforeHook | None, after: AfterHook | None
) -> ToolResult:
    """Run the tool inside a node of kind ``tool``. A failing worker is an error for the model that asked for it."""
    info = {"task": as_text(invocation.arguments.get("task", invocation.arguments)), "id": invocation.tool_call_id}
    with steps.at(parent, place):
        async with steps.opening("tool", invocation.tool_name, info) as scope:
            recorded, agent = {"tool": invocation.tool_name}, getattr(invocation.agent, "name", "")
            if before is not None:
                await run_hook_once(scope, "before", Place(0), partial(before, invocation), recorded, agent=agent)
            result, state = await _execute(scope, invocation)
            if after is not None:
                await run_hook_once(scope, "after", Place(1), partial(after, invocation, result), recorded, agent=agent)
            if result.error is None:
                scope.outcome(content_text(result.content))
            else:
                scope.outcome(result.error, state=state)
            return result


async def _execute(scope: Scope, invocation: ToolInvocation) -> tuple[ToolResult, NodeEnd]:
    """The result, and as what the node ends if it is an error."""
    try:
        with steps.at(scope, Place(0)):
            return await invoke_tool(invocation), "degraded"
    except Skipped as skipped:
        return tool_result_of(invocation, skipped.value), "degraded"
    except HandedBack as back:
        # The agent that delegated makes another plan or another choice, or goes on without: the run is as good as that.
        if back.remedy not in ("replan", "reroute") and (back.remedy, back.scope) != ("go_on", scope.node_id):
            raise
        return tool_error_of(invocation, back.reason), "failed"
    except Exception as exc:
        absorbed = TOOL_CODEC.absorb(invocation, exc)
        if absorbed is None:
            raise
        return absorbed, "degraded"
