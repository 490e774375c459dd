"""Groups that stand in a swarm like one agent: side by side, or one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

from orbiter._internal.arguments import NAME, check_argument
from orbiter._internal.declarations.container import Container, members_by_name
from orbiter._internal.keywords import name_nearest_keyword
from orbiter.errors import GroupError
from orbiter.policy import JoinPolicy
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

    Examples:
        >>> from orbiter import Agent, ParallelGroup, run
        >>> from orbiter.models.scripted.provider import Reply, script
        >>> _ = script("north", [Reply("north is dry")]), script("south", [Reply("south is wet")])
        >>> north = Agent(name="north", model="scripted:north")
        >>> south = Agent(name="south", model="scripted:south")
        >>> run.sync(ParallelGroup(name="weather", agents=[north, south], separator="; "), "How is it?").output
        'north is dry; south is wet'
    """

    is_group = True

    @name_nearest_keyword("ParallelGroup")
    def __init__(
        self,
        *,
        name: str,
        agents: Iterable[Any],
        separator: str = "\n\n",
        aggregate_fn: Aggregate | None = None,
        join: JoinPolicy | str | None = None,
    ) -> None:
        check_argument("ParallelGroup", "name", name, NAME, example="'reviewers'", error=GroupError)
        self.name = name
        self.agents = members_by_name(agents, GroupError, "ParallelGroup", f"ParallelGroup '{name}'")
        self.separator = separator
        self.aggregate_fn = aggregate_fn
        self.join = JoinPolicy.of(join)
        self.join.check(self.agents, f"ParallelGroup '{name}'")

    def _members(self) -> list[str]:
        return list(self.agents)

    def _info(self) -> dict[str, Any]:
        optional = self.join.may_fail(self.agents)
        return {"optional": list(optional)} if optional else {}


class SerialGroup(Container):
    """Agents that work one after another, each on the output of the one before.

    Args:
        name: The group's name in a swarm.
        agents: Agents, groups or nested swarms, each with a name of its own.

    Raises:
        GroupError: No agents, or two of one name.

    Examples:
        >>> from orbiter import Agent, SerialGroup, run
        >>> from orbiter.models.scripted.provider import Reply, script
        >>> _ = script("draft", [Reply("a draft")]), script("edit", [Reply("a text")])
        >>> writers = [Agent(name="writer", model="scripted:draft"), Agent(name="editor", model="scripted:edit")]
        >>> run.sync(SerialGroup(name="desk", agents=writers), "Write about lamps.").output
        'a text'
    """

    is_group = True

    @name_nearest_keyword("SerialGroup")
    def __init__(self, *, name: str, agents: Iterable[Any]) -> None:
        check_argument("SerialGroup", "name", name, NAME, example="'writers'", error=GroupError)
        self.name = name
        self.agents = members_by_name(agents, GroupError, "SerialGroup", f"SerialGroup '{name}'")

    def _members(self) -> list[str]:
        return list(self.agents)
