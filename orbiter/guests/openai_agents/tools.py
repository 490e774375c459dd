"""Function tools whose calls are steps, in place of an agent's own; those that run an agent are nodes."""

from __future__ import annotations

import copy
import json
from typing import Any

from agents import FunctionTool, ModelBehaviorError
from agents.tool_context import ToolContext

from orbiter import steps
from orbiter.guests.openai_agents import sdk
from orbiter.guests.openai_agents.approvals import allowed_arguments, ask_permission
from orbiter.guests.openai_agents.life import Life, current_life, telling
from orbiter.guests.openai_agents.messages import read_arguments
from orbiter.guests.openai_agents.tool_call import TOOL_CALL, ToolAsk, call_tool, outcome
from orbiter.guests.tool_settings import ToolSettings, approval_of, read_tool_settings
from orbiter.steps import Skipped, Step


def durable_tool(tool: FunctionTool) -> FunctionTool:
    """A copy of the tool, whose calls are steps. Its time limit is that of the step: it does not run while a person is
    waited for.
    """

    async def invoke(context: ToolContext[Any], arguments: str) -> Any:
        life = current_life()
        if life is None:
            return await tool.on_invoke_tool(context, arguments)
        try:
            given = read_arguments(tool.name, arguments)
        except ModelBehaviorError as exc:
            return await _tell_mistake(tool, context, exc)
        settings = read_tool_settings(tool.name, life.declared(tool.name), life.root.tool_settings(tool.name))
        if settings.composite or tool._is_agent_tool:
            return await _call_as_node(life, tool, context, given, settings)
        return await _call_as_step(life, tool, context, given, settings)

    durable = copy.copy(tool)
    durable.on_invoke_tool = invoke
    durable.timeout_seconds = None
    if callable(tool.needs_approval):
        durable.needs_approval = _policy(tool)
    return durable


def _policy(tool: FunctionTool) -> Any:
    async def needs_approval(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
        return await sdk.needs_approval(tool, context, arguments, call_id)

    return needs_approval


async def _tell_mistake(tool: FunctionTool, context: ToolContext[Any], mistake: ModelBehaviorError) -> str:
    """The model is told of its mistake, as the SDK does. The tool is not called: no step would have recorded it."""
    told = await sdk.failure_text(tool, context, mistake)
    if told is None:
        raise mistake
    return told


async def _call_as_step(
    life: Life, tool: FunctionTool, context: ToolContext[Any], given: dict[str, Any], settings: ToolSettings
) -> Any:
    raising = sdk.raising_copy(tool)

    async def make(arguments: dict[str, Any]) -> Any:
        if arguments == given:
            return await raising.on_invoke_tool(context, context.tool_arguments)
        changed = json.dumps(arguments, ensure_ascii=False)
        return await raising.on_invoke_tool(sdk.with_arguments(context, changed), changed)

    async def explain(exc: Exception) -> str | None:
        return await sdk.failure_text(tool, context, exc)

    call_id = context.tool_call_id
    needed = (approval_of(tool.name),) if call_id in life.approved else ()
    if settings.timeout is None and tool.timeout_seconds is not None:
        settings = settings.model_copy(update={"timeout": tool.timeout_seconds})
    traits = settings.traits(*needed, schema=tool.params_json_schema)
    late, shared = sdk.timeout_text(tool), context.context
    ask = ToolAsk(tool.name, call_id, given, make, explain, late, settings.failure, context=shared)
    place = life.place_of_call(tool.name, call_id)
    step = Step("tool", tool.name, life.agent, place, ask, call_tool, TOOL_CALL, traits)
    return outcome(ask, await life.scope.step(step))


async def _call_as_node(
    life: Life, tool: FunctionTool, context: ToolContext[Any], given: dict[str, Any], settings: ToolSettings
) -> Any:
    """Call a tool that only runs agents: their model and tool calls are the steps. An operator may skip it. Where its
    author wrote what the model is told of a failure, the model is told; else a person is asked where it failed.
    """
    call_id, arguments = context.tool_call_id, context.tool_arguments
    if call_id in life.approved:
        answer = await ask_permission(life, tool.name, call_id, given)
        if "error" in answer:
            return answer["error"]
        arguments = json.dumps(allowed_arguments(answer), ensure_ascii=False)
        context = sdk.with_arguments(context, arguments)
    try:
        async with life.scope.scope("tool", tool.name, life.place_of_call(tool.name, call_id)) as scope:
            told = settings.failure == "continue" or (settings.failure != "fail" and sdk.has_own_failure_text(tool))
            with steps.entered(scope), telling(told):
                return await tool.on_invoke_tool(context, arguments)
    except Skipped as skipped:
        return skipped.value if isinstance(skipped.value, str) else json.dumps(skipped.value, ensure_ascii=False)
