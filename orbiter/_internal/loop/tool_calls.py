"""The tool calls of one agent run: from a model's request to results that it can read."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from orbiter import steps
from orbiter._internal.concurrency import gather_fail_fast
from orbiter._internal.loop.composite_tool import call_composite
from orbiter._internal.loop.tool_step import (
    REFUSED_TRAITS,
    TOOL_CODEC,
    ToolInvocation,
    invoke_tool,
    traits_of,
)
from orbiter._internal.output_parser import OutputParseError, is_too_deep, parse_tool_call
from orbiter._internal.run_warnings import warn_needs_runtime
from orbiter.errors import AgentError
from orbiter.hooks import HookPoint
from orbiter.steps import DIRECT, Place, Scope, Step, Traits
from orbiter.types import ToolCall, ToolResult

if TYPE_CHECKING:
    from orbiter.agent import Agent

ExplainPeer = Callable[[str], str | None]
"""For another agent's name: what the model should do to reach it. None for strangers."""


class ToolCalls:
    """What an agent may call in one run, and how it is called.

    Args:
        agent: Whose tools and hooks.
        delegates: Tools of this run alone, by name: a team's delegate tools, and what tool sets were opened to.
        peers: See `ExplainPeer`.
    """

    __slots__ = ("agent", "delegates", "peers", "where")

    def __init__(self, agent: Agent, delegates: Mapping[str, Any], peers: ExplainPeer | None) -> None:
        self.agent = agent
        self.delegates = delegates
        self.peers = peers
        self.where: Mapping[str, Any] = {}

    async def open_toolsets(self) -> None:
        """Take in the tools of the agent's tool sets: what they hold is known only now.

        Raises:
            AgentError: A tool has the name of another.
        """
        agent = self.agent
        for number, toolset in enumerate(agent.toolsets):
            others = {**agent.tools, **self.delegates}
            opened = {tool.name: tool for tool in await toolset.open(agent.name, number, others)}
            if taken := opened.keys() & others.keys():
                raise AgentError(
                    f"Duplicate tool name '{min(taken)}' on agent '{agent.name}': '{toolset.name}' brings it too",
                    suggestion="Give the agent's own tool another name=, or leave the other out with only=.",
                )
            self.delegates = {**self.delegates, **opened}

    def prepare(self, call: ToolCall) -> ToolInvocation:
        """A call, ready to be made or to be refused."""
        name = call.name
        tool = self.delegates.get(name) or self.agent.tools.get(name)
        problem, hint = (None, "") if tool is not None else self._describe_unknown(name)
        try:
            arguments = from_json(call.arguments)
        except ValueError:
            arguments = None
        if type(arguments) is not dict or is_too_deep(call.arguments, arguments):
            # Slower, and with the words of seed 000 for what is wrong.
            try:
                arguments = parse_tool_call(call).arguments
            except OutputParseError as exc:
                return ToolInvocation(tool, name, {}, call.id, self.agent, problem or str(exc), hint, problem is None)
        return ToolInvocation(tool, name, arguments, call.id, self.agent, problem, hint)

    def _describe_unknown(self, name: str) -> tuple[str, str]:
        """What to say to a model that calls what is not there: the error, and below it what there is. An agent's name
        gets what to do instead (seed 003).
        """
        text = f"Unknown tool '{name}'"
        pattern = self.peers(name) if self.peers is not None else None
        if pattern is None and name in self.agent.handoffs:
            pattern = explain_handoff(name)
        if pattern is not None:
            return f"{text}: '{name}' is an agent, not a tool. {pattern}", ""
        known = ", ".join([*self.agent.tools, *self.delegates])
        return text, f"Available tools: {known}" if known else "You have no tools; answer in text."

    async def call_all(self, scope: Scope, turn: int, invocations: list[ToolInvocation]) -> list[ToolResult]:
        """Make the calls of one reply side by side."""
        return await gather_fail_fast([self.call(scope, Place(turn, at), each) for at, each in enumerate(invocations)])

    def call(self, scope: Scope, place: Place, invocation: ToolInvocation) -> Coroutine[Any, Any, ToolResult]:
        """One call: a step, or a node of its own if the tool only runs agents."""
        tool = invocation.tool
        hooks = self.agent.hook_manager.registered
        before = after = None
        if hooks and not invocation.malformed:
            self.where = hook_location(scope, place.seq)
            if HookPoint.PRE_TOOL_CALL in hooks:
                before = self._run_pre_hooks
            if HookPoint.POST_TOOL_CALL in hooks:
                after = self._run_post_hooks
        if invocation.problem is None and getattr(tool, "composite", False) is True:
            return call_composite(scope, place, invocation, before, after)
        traits = self._traits(tool) if invocation.problem is None else REFUSED_TRAITS
        if scope is DIRECT and (traits.permissions or traits.timeout is not None or traits.retry_policy is not None):
            warn_needs_runtime(f"Tool '{invocation.tool_name}' declares permissions, a time-out or a retry policy")
        if scope is not DIRECT:
            traits = steps.with_authors(traits)
        return scope.step(
            Step(
                "tool",
                invocation.tool_name,
                self.agent.name,
                place,
                invocation,
                invoke_tool,
                TOOL_CODEC,
                traits,
                before,
                after,
            )
        )

    def policy(self, invocation: ToolInvocation) -> str:
        """What this call's failure means: as the tool declares, else as the agent does."""
        return traits_of(invocation.tool).failure or self.agent.failure.tool

    def _traits(self, tool: Any) -> Traits:
        traits = traits_of(tool)
        policy = self.agent.failure.tool
        return replace(traits, failure=policy) if policy != "continue" and not traits.failure else traits

    async def _run_pre_hooks(self, invocation: ToolInvocation) -> None:
        await self.agent.hook_manager.run(
            HookPoint.PRE_TOOL_CALL,
            agent=self.agent,
            tool_name=invocation.tool_name,
            arguments=invocation.arguments,
            tool_call_id=invocation.tool_call_id,
            **self.where,
        )

    async def _run_post_hooks(self, invocation: ToolInvocation, result: ToolResult) -> None:
        await self.agent.hook_manager.run(
            HookPoint.POST_TOOL_CALL,
            agent=self.agent,
            tool_name=invocation.tool_name,
            result=result,
            tool_call_id=invocation.tool_call_id,
            **self.where,
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
