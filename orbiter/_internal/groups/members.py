"""Running a member of a swarm or group: an agent, a group, a nested swarm, or an object with the same methods."""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from orbiter import steps
from orbiter._internal.call_runner import read_returned, run_agent
from orbiter._internal.declarations.container import run_declared, runs_as_declared
from orbiter._internal.loop.agent_run_data import ExplainPeer
from orbiter._internal.loop.providers import provider_for
from orbiter._internal.loop.run_results import copy_result, sum_usage
from orbiter._internal.loop.tool_step import as_text
from orbiter._internal.run_options import RunSettings
from orbiter.agent import Agent
from orbiter.steps import DIRECT, Aborted, HandedBack, Place, Scope
from orbiter.types import Message, RunResult, SystemMessage, Usage

logger = logging.getLogger("orbiter")

FallbackAgents = Mapping[str, tuple[Any, ...]]
"""Who stands in for whom when an agent has failed for good: agents by the failed one's name."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(slots=True)
class RunTotals:
    """What all members of one swarm run came to together."""

    used: list[Usage] = field(default_factory=list)
    steps: int = 0
    outputs: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    degraded: bool = False

    def add(self, name: str, result: RunResult) -> None:
        """Book a member's result."""
        self.used.append(result.total_usage if result.total_usage is not None else result.usage)
        self.steps += result.total_steps or result.steps
        self.outputs[name] = result.output
        if result.warnings:
            self.warnings.extend(result.warnings)
        if result.state == "degraded":
            self.degraded = True

    @property
    def usage(self) -> Usage:
        """The sum."""
        return sum_usage(self.used)

    def apply_to(self, result: RunResult) -> RunResult:
        """The last member's result with the swarm's totals in their own fields."""
        return copy_result(
            result,
            {
                "total_usage": self.usage,
                "total_steps": self.steps,
                "outputs": dict(self.outputs),
                "warnings": list(self.warnings),
                "state": "degraded" if self.degraded else "completed",
            },
        )


def is_container(member: Any) -> bool:
    """Whether a member's own `run` takes care of its agents: a group, a nested swarm, a swarm."""
    return (
        getattr(member, "is_group", False) is True
        or getattr(member, "is_swarm", False) is True
        or isinstance(getattr(member, "flow_order", None), (list, tuple))
    )


class MemberContext(NamedTuple):
    """What the members of a container have in common while it runs.

    Attributes:
        scope: The container's node.
        settings: What `run` was told.
        messages: The conversation before.
        delegates: A team's delegate tools, by name.
        peers: What to say to a model that calls another member as if it were a tool.
        fallbacks: Who stands in for whom.
    """

    scope: Scope
    settings: RunSettings
    messages: list[Message] | None = None
    delegates: Mapping[str, Any] = _NOTHING
    peers: ExplainPeer | None = None
    fallbacks: FallbackAgents = _NOTHING


def run_member(member: Any, input: str, place: Place, context: MemberContext) -> Coroutine[Any, Any, RunResult]:
    """Run one member where its container placed it. To be awaited at once."""
    if member.name in context.fallbacks:
        return run_with_fallbacks([member, *context.fallbacks[member.name]], input, place, context)
    if isinstance(member, Agent) or not is_container(member):
        running = run_agent(
            member,
            input,
            context.settings,
            messages=context.messages,
            delegates=context.delegates,
            peers=context.peers,
            resolve=provider_for,
        )
    else:
        running = run_container(member, input, context.settings, context.messages)
    return running if context.scope is DIRECT else _run_at_place(context.scope, place, running)


async def run_with_fallbacks(members: Sequence[Any], input: str, place: Place, context: MemberContext) -> RunResult:
    """Run the first member that does not fail (seed 003, `FallbackHandler`). What the last one raises, passes."""
    names = [member.name for member in members]
    with steps.at(context.scope, place):
        async with steps.opening(
            "group", names[0], {"task": as_text(input), "members": names, "in_turn": True}
        ) as mine:
            inside = context._replace(scope=mine, fallbacks={})
            for number, member in enumerate(members):
                try:
                    result = await run_member(member, input, Place(number), inside)
                except Exception as exc:
                    if number == len(members) - 1 or not _goes_to_fallback(exc, mine):
                        raise
                    warning = f"'{names[number]}' failed, '{names[number + 1]}' stands in: {exc}"
                    logger.warning("%s", warning)
                    mine.warn(warning)
                    continue
                mine.outcome(result.output, state="degraded" if result.state == "degraded" else "succeeded")
                return result
    raise AssertionError("a chain has at least one member")


def _goes_to_fallback(exc: Exception, scope: Scope) -> bool:
    """Whether a failure goes to the next in turn: not what a person ended, nor what another node takes up."""
    if isinstance(exc, HandedBack):
        return exc.remedy == "stand_in" and exc.scope == scope.node_id
    return not isinstance(exc, Aborted)


async def _run_at_place(scope: Scope, place: Place, running: Coroutine[Any, Any, RunResult]) -> RunResult:
    with steps.at(scope, place):
        return await running


def run_container(
    member: Any, input: str, settings: RunSettings, messages: list[Message] | None = None
) -> Coroutine[Any, Any, RunResult]:
    """Run a group or swarm. To be awaited at once."""
    if runs_as_declared(member):
        return run_declared(member, input, settings, messages)
    return _run_own(member, input, settings, messages)


async def _run_own(member: Any, input: str, settings: RunSettings, messages: list[Message] | None) -> RunResult:
    """A group or swarm with a `run` of its own. `loop_threshold` is for ours alone: others need not know it."""
    extra = {"loop_threshold": settings.loop_threshold} if getattr(type(member), "takes_loop_threshold", False) else {}
    result = await member.run(
        input, messages=messages, provider=settings.provider, max_retries=settings.max_retries, **extra
    )
    return as_result(result, member.name)


def as_result(value: Any, name: str) -> RunResult:
    """What a member that is not ours returned, as a `RunResult`."""
    returned = read_returned(value, name, fields=("output", "text"))
    if isinstance(value, RunResult):
        return value
    return RunResult(output=returned.text, usage=returned.usage, steps=1, agent=name)


def conversation(result: RunResult) -> list[Message]:
    """The messages without the instructions: history for the next agent."""
    return [message for message in result.messages if not isinstance(message, SystemMessage)]
