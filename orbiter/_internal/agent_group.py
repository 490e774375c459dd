"""Groups that stand in a swarm like one agent: side by side, or one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import isawaitable
from typing import Any, Self

from orbiter._internal.error_causes import join_with_cause as joined_error
from orbiter._internal.groups.container import Container
from orbiter._internal.groups.members import RunSettings, RunTotals, run_member
from orbiter._internal.groups.partial_results import attach_partial_result
from orbiter._internal.groups.stage import StageResult, merge_stage, run_stage
from orbiter._internal.loop.value_step import record_value
from orbiter.errors import GroupError, JoinError
from orbiter.policy import JoinPolicy
from orbiter.steps import Place, Scope
from orbiter.types import Message, RunResult, Usage

__all__ = ["GroupError", "MemberOutput", "ParallelGroup", "SerialGroup"]


class MemberOutput(str):
    """A member's output text for an `aggregate_fn`, with the member's name and whole result at hand."""

    __slots__ = ("name", "result")

    name: str
    result: RunResult

    def __new__(cls, name: str, result: RunResult) -> Self:
        """The text of `result`, which `name` returned."""
        made = super().__new__(cls, result.output)
        made.name = name
        made.result = result
        return made

    @property
    def output(self) -> str:
        """The text itself."""
        return self.result.output

    @property
    def messages(self) -> list[Message]:
        """The member's conversation."""
        return list(self.result.messages)

    @property
    def usage(self) -> Usage:
        """What the member used."""
        return self.result.usage

    @property
    def steps(self) -> int:
        """The member's agent runs."""
        return self.result.steps


Aggregate = Callable[[list[Any]], Any]


class ParallelGroup(Container):
    """Agents that work on the same input at the same time.

    Args:
        name: The group's name in a swarm.
        agents: Agents, groups or nested swarms, each with a name of its own.
        separator: What joins the outputs, in the order of declaration.
        aggregate_fn: Instead: takes the outputs (`MemberOutput`: text that also has `name`, `result`, `usage`) and
            returns the group's output; may be async.
        join: When the group has succeeded: a `JoinPolicy` or its word (``all_required``, ``allow_optional_failures``,
            ``first_success``, ``quorum:2``).

    Raises:
        GroupError: No agents, or two of one name.
        ConfigurationError: The join policy is unknown or does not fit the group.
    """

    is_group = True

    def __init__(
        self,
        *,
        name: str,
        agents: Iterable[Any],
        separator: str = "\n\n",
        aggregate_fn: Aggregate | None = None,
        join: JoinPolicy | str | None = None,
    ) -> None:
        self.name = name
        self.agents = _by_name("ParallelGroup", name, agents)
        self.separator = separator
        self.aggregate_fn = aggregate_fn
        self.join = JoinPolicy.of(join)
        self.join.check(self.agents, f"ParallelGroup '{name}'")

    def _members(self) -> list[str]:
        return list(self.agents)

    async def _carry_out(
        self, input: str, scope: Scope, settings: RunSettings, messages: list[Message] | None
    ) -> RunResult:
        members = list(self.agents.values())
        places = [Place(0, index) for index in range(len(members))]
        came = StageResult()
        try:
            await run_stage(members, input, scope, places, settings, messages=messages, join=self.join, came=came)
        except JoinError as exc:
            self._keep(exc, came)
            raise joined_error(JoinError, f"ParallelGroup '{self.name}' failed: {exc}", exc) from exc
        except Exception as exc:
            self._keep(exc, came)
            raise joined_error(GroupError, f"ParallelGroup '{self.name}' failed: {_named_failure(exc)}", exc) from exc
        try:
            output = await self._aggregate(scope, came)
        except Exception as exc:
            self._keep(exc, came)
            raise
        return merge_stage(self.name, output, came)

    def _keep(self, exc: Exception, came: StageResult) -> None:
        if came.results:
            output = self.separator.join(result.output for result in came.results.values())
            attach_partial_result(exc, merge_stage(self.name, output, came))

    async def _aggregate(self, scope: Scope, came: StageResult) -> str:
        if self.aggregate_fn is None:
            return self.separator.join(result.output for result in came.results.values())
        outputs = [MemberOutput(name, result) for name, result in came.results.items()]
        recorded = {"outputs": {output.name: str(output) for output in outputs}}
        return str(
            await record_value(
                scope, "aggregate", Place(1), _aggregate, {**recorded, "_fn": self.aggregate_fn, "_outputs": outputs}
            )
        )


class SerialGroup(Container):
    """Agents that work one after another, each on the output of the one before.

    Raises:
        GroupError: No agents, or two of one name.
    """

    is_group = True

    def __init__(self, *, name: str, agents: Iterable[Any]) -> None:
        self.name = name
        self.agents = _by_name("SerialGroup", name, agents)

    def _members(self) -> list[str]:
        return list(self.agents)

    async def _carry_out(
        self, input: str, scope: Scope, settings: RunSettings, messages: list[Message] | None
    ) -> RunResult:
        text = input
        came = StageResult()
        totals = RunTotals()
        for index, (name, member) in enumerate(self.agents.items()):
            try:
                result = await run_member(member, text, scope, Place(index), settings, messages=messages)
            except Exception as exc:
                if came.results:
                    attach_partial_result(exc, merge_stage(self.name, text, came))
                raise joined_error(GroupError, f"SerialGroup '{self.name}' failed: {_named_failure(exc)}", exc) from exc
            came.results[name] = result
            totals.add(name, result)
            text = result.output
        return merge_stage(self.name, text, came)


async def _aggregate(arguments: dict[str, Any]) -> str:
    value = arguments["_fn"](arguments["_outputs"])
    if isawaitable(value):
        value = await value
    return str(value)


def _named_failure(exc: Exception) -> str:
    """The failure in the words that name the agent; a call runner's frame adds nothing to them."""
    cause = exc.__cause__
    text = str(exc)
    framed = text.startswith("Call runner failed") and "Agent '" in str(cause)
    return str(cause) if framed else text


def _by_name(kind: str, group: str, agents: Iterable[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for agent in agents:
        if not hasattr(agent, "name"):
            raise GroupError(
                f"{kind} '{group}': members are agents, groups or swarms, got {agent!r}", hint="Pass agents, not names."
            )
        if agent.name in found:
            raise GroupError(
                f"Duplicate agent name '{agent.name}' in {kind} '{group}'", hint="Give each member its own name."
            )
        found[agent.name] = agent
    if not found:
        raise GroupError(f"{kind} requires at least one agent")
    return found
