"""What every declaration of several agents has in common: groups, nested swarms and swarms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import cache
from typing import Any, Unpack

from orbiter._internal.arguments import SERIES, TEXT, check_argument
from orbiter._internal.keywords import show_keywords
from orbiter._internal.run_options import RUN_DEFAULTS, RunOptions, RunSettings, read_run_options
from orbiter.agent import Agent
from orbiter.errors import OrbiterError
from orbiter.policy import ErrorHandlingConfig
from orbiter.steps import ScopeKind, errors_of_run
from orbiter.types import Message, RunResult


def members_by_name(agents: Iterable[Any], error: type[OrbiterError], kind: str, place: str) -> dict[str, Any]:
    """The members of `place`, which is a `kind`, by name.

    Raises:
        error: `agents` is not a list, or is empty, one of them is not a member, or two have one name.
    """
    check_argument(kind, "agents", agents, SERIES, example="[writer, reviewer]", error=error)
    found: dict[str, Any] = {}
    for agent in agents:
        if not hasattr(agent, "name"):
            raise error(
                f"The members of a {place} are agents, groups or swarms, got {agent!r}",
                suggestion="Pass agents, not names.",
            )
        check_argument(f"A member of {place}", "name", agent.name, TEXT, example="'writer'", error=error)
        if agent.name in found:
            raise error(f"Duplicate agent name '{agent.name}' in {place}", suggestion="Give each member its own name.")
        found[agent.name] = agent
    if not found:
        raise error(f"{kind} requires at least one agent")
    return found


def run_declared(
    container: Container, input: str, settings: RunSettings, messages: list[Message] | None
) -> Coroutine[Any, Any, RunResult]:
    """What `Container.run` does, with options that have been read. To be awaited at once."""
    return _run_as_node()(container, input, settings, messages)


@cache
def _run_as_node() -> Callable[..., Coroutine[Any, Any, RunResult]]:
    """What runs containers: it imports them."""
    from orbiter._internal.groups.container_run import run_as_node

    return run_as_node


class Container(ABC):
    """Groups, nested swarms, swarms. Nothing in them changes while they run."""

    name: str
    takes_loop_threshold = True
    classify_error: Callable[[Exception, dict[str, Any]], Any] | None = None
    get_retry_policy: Callable[[], Mapping[str, Any]] | None = None
    errors: ErrorHandlingConfig | None = None
    _kind: ScopeKind = "group"

    @show_keywords(RunOptions, RUN_DEFAULTS)
    async def run(self, input: str, **options: Unpack[RunOptions]) -> RunResult:
        """Run the members on `input`.

        Args:
            input: What the user says.
            **options: As for `orbiter.run`; `provider` answers for all members.

        Raises:
            OrbiterError: A member failed, or the members cannot be run like this.
        """
        told = read_run_options(f"{type(self).__name__}.run", options, RUN_DEFAULTS)
        with errors_of_run(told["errors"]):
            return await run_declared(self, input, RunSettings.of(told), told["messages"])

    @abstractmethod
    def _members(self) -> list[str]:
        """The members' names, in their order."""

    def _info(self) -> dict[str, Any]:
        """What a runtime must know besides the members, as JSON."""
        return {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, agents={self._members()!r})"


_PLAIN_RUN = Container.run


def runs_as_declared(member: Any) -> bool:
    """Whether `run` of a group or swarm is `Container.run`: not overridden, not replaced."""
    return getattr(type(member), "run", None) is _PLAIN_RUN and "run" not in vars(member)


def models_of(members: Iterable[Any]) -> list[str]:
    """The models of agents, by name and each once, also of those in groups and nested swarms, with their fallbacks.

    Only of ours: what other agents and groups have is user code.
    """
    found: dict[str, None] = {}
    for member in members:
        inside = getattr(member, "swarm", member) if isinstance(member, Container) else member
        if isinstance(inside, Container):
            found.update(dict.fromkeys(models_of(getattr(inside, "agents", {}).values())))
        elif isinstance(member, Agent):
            found.update(dict.fromkeys((member.model, *member.fallbacks)))
    return list(found)
