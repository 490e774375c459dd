"""The tool calls of one agent run: from a model's request to results that it can read."""

from __future__ import annotations

import re
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json

from orbiter import steps
from orbiter._internal.concurrency import gather_fail_fast
from orbiter._internal.loop.composite_tool import call_composite
from orbiter._internal.loop.tool_step import (
    TOOL_CODEC,
    UNKNOWN_TOOL_TRAITS,
    ToolInvocation,
    invoke_tool,
    traits_of,
)
from orbiter._internal.output_parser import OutputParseError, is_too_deep, read_arguments
from orbiter._internal.run_warnings import warn_needs_runtime
from orbiter._internal.values.field_check import wrong_field
from orbiter.errors import AgentError, HookError
from orbiter.hooks import HookPoint
from orbiter.steps import DIRECT, Place, Scope, Step, Traits
from orbiter.types import ToolCall, ToolResult

if TYPE_CHECKING:
    from orbiter._internal.loop.agent_run_data import AgentRunData
    from orbiter.agent import Agent


async def open_toolsets(run: AgentRunData) -> None:
    """Take in the tools of the agent's tool sets: what they hold is known only now.

    Raises:
        AgentError: A tool has the name of another.
    """
    agent, found = run.agent, run.delegates
    for number, toolset in enumerate(agent.toolsets):
        others = {**agent.tools, **found}
        opened = {tool.name: tool for tool in await toolset.open(agent.name, number, others)}
        if taken := opened.keys() & others.keys():
            raise AgentError(
                f"Duplicate tool name '{min(taken)}' on agent '{agent.name}': '{toolset.name}' brings it too",
                suggestion="Give the agent's own tool another name=, or leave the other out with only=.",
            )
        found = {**found, **opened}
    run.extra_tools = found


_MAY_BE_INFINITE: Final = re.compile(r"\d[eE]\+?\d{3}|\d{309}")
"""Numbers that a float may not hold: this reader makes them infinite."""


def prepare_call(run: AgentRunData, call: ToolCall) -> ToolInvocation:
    """A call, ready to be made or to be refused."""
    name, agent = call.name, run.agent
    tool = run.extra_tools.get(name) or agent.tools.get(name)
    problem, hint = (None, "") if tool is not None else _describe_unknown(run, name)
    try:
        arguments = from_json(call.arguments, allow_inf_nan=False)
    except ValueError:
        arguments = None
    if _MAY_BE_INFINITE.search(call.arguments):
        arguments = None
    if type(arguments) is not dict or is_too_deep(call.arguments, arguments):
        # Slower, and with the words of seed 000 for what is wrong.
        try:
            arguments = read_arguments(call)
        except OutputParseError as exc:
            return ToolInvocation(tool, name, {}, call.id, agent, problem or str(exc), hint, problem is None)
    return ToolInvocation(tool, name, arguments, call.id, agent, problem, hint)


def _describe_unknown(run: AgentRunData, name: str) -> tuple[str, str]:
    """What to say to a model that calls what is not there: the error, and below it what there is. An agent's name gets
    what to do instead (seed 003).
    """
    text = f"Unknown tool '{name}'"
    pattern = run.peers(name) if run.peers is not None else None
    if pattern is None and name in run.agent.handoffs:
        pattern = explain_handoff(name)
    if pattern is not None:
        return f"{text}: '{name}' is an agent, not a tool. {pattern}", ""
    known = ", ".join([*run.agent.tools, *run.extra_tools])
    return text, f"Available tools: {known}" if known else "You have no tools; answer in text."


async def call_tools(run: AgentRunData, turn: int, invocations: list[ToolInvocation]) -> list[ToolResult]:
    """Make the calls of one reply side by side."""
    return await gather_fail_fast([call_tool(run, Place(turn, at), each) for at, each in enumerate(invocations)])


def call_tool(run: AgentRunData, place: Place, invocation: ToolInvocation) -> Coroutine[Any, Any, ToolResult]:
    """One call: a step, or a node of its own if the tool only runs agents. To be awaited at once."""
    agent, scope, tool = run.agent, run.scope, invocation.tool
    hooks = agent.hook_manager.registered
    before = after = None
    if hooks and not invocation.malformed:
        where = hook_location(scope, place.seq)
        if HookPoint.PRE_TOOL_CALL in hooks:
            before = partial(_run_pre_hooks, agent, where)
        if HookPoint.POST_TOOL_CALL in hooks:
            after = partial(_run_post_hooks, agent, where)
    composite = getattr(tool, "composite", False) is True
    if composite and invocation.problem is None:
        return call_composite(scope, place, invocation, before, after)
    traits = _traits(agent, tool) if tool is not None else UNKNOWN_TOOL_TRAITS
    if composite:  # what it does is what its agents do, and they have steps of their own
        traits = replace(traits, idempotent=True)
    if scope is not DIRECT:
        traits = steps.with_authors(traits)
    elif traits.permissions or traits.timeout is not None or traits.retry_policy is not None:
        warn_needs_runtime(f"Tool '{invocation.tool_name}' declares permissions, a time-out or a retry policy")
    return scope.step(
        Step(
            "tool",
            invocation.tool_name,
            agent.name,
            place,
            invocation,
            invoke_tool,
            TOOL_CODEC,
            traits,
            before,
            after,
            refused=invocation.problem is not None,
        )
    )


def failure_policy(agent: Agent, invocation: ToolInvocation) -> str:
    """What this call's failure means: as the tool declares, else as the agent does."""
    return traits_of(invocation.tool).failure or agent.failure.tool


def _traits(agent: Agent, tool: Any) -> Traits:
    traits = traits_of(tool)
    policy = agent.failure.tool
    return replace(traits, failure=policy) if policy != "continue" and not traits.failure else traits


async def _run_pre_hooks(agent: Agent, where: Mapping[str, Any], invocation: ToolInvocation) -> None:
    await agent.hook_manager.run(
        HookPoint.PRE_TOOL_CALL,
        agent=agent,
        tool_name=invocation.tool_name,
        arguments=invocation.arguments,
        tool_call_id=invocation.tool_call_id,
        **where,
    )


async def _run_post_hooks(
    agent: Agent, where: Mapping[str, Any], invocation: ToolInvocation, result: ToolResult
) -> None:
    await agent.hook_manager.run(
        HookPoint.POST_TOOL_CALL,
        agent=agent,
        tool_name=invocation.tool_name,
        result=result,
        tool_call_id=invocation.tool_call_id,
        **where,
    )
    check_left(agent.name, HookPoint.POST_TOOL_CALL, wrong_field(ToolResult, result))


def check_left(agent: str, point: HookPoint, wrong: str | None) -> None:
    """See to it that hooks left behind what can be used; `wrong` says what cannot, with its field.

    Raises:
        HookError: There is something.
    """
    if wrong is not None:
        raise HookError(
            f"A {point.name} hook of agent '{agent}' left what cannot be used: {wrong}",
            hint='Leave objects of orbiter.types there, such as UserMessage(content="Go on")',
        )


def hook_location(scope: Scope, turn: int) -> dict[str, Any]:
    """What a hook may want to know of the place at which it fires, under a runtime; without one there is nothing."""
    if scope is DIRECT:
        return {}
    return {"run_id": scope.run_id, "node_id": scope.node_id, "step": turn}


def explain_handoff(name: str) -> str:
    """How a model hands over in handoff mode, in words for it."""
    return f"To hand the conversation over to it, reply with exactly its name, without a tool call: {name}"


def explain_delegation(name: str) -> str:
    """How a lead reaches a worker in team mode, in words for it."""
    return f"""Call the tool 'delegate_to_{name}' instead, with arguments {{"task": "what {name} should do"}}."""
