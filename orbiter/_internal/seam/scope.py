"""A node of a run that is open: the four verbs of the seam."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from orbiter._internal.seam.signals import Answer
from orbiter._internal.seam.step import A, Place, R, Step

if TYPE_CHECKING:
    from orbiter.types import Message

ScopeKind = Literal["swarm", "group", "agent", "tool"]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Scope(ABC):
    """A node of a run that is open. Also the seam itself: every verb is said to the node it concerns."""

    __slots__ = ()

    @property
    def run_id(self) -> str:
        """The run to which the node belongs; empty under plain `run`."""
        return ""

    @property
    def node_id(self) -> str:
        """The node's path within its run; empty under plain `run`."""
        return ""

    @abstractmethod
    def scope(
        self, kind: ScopeKind, name: str, place: Place | None = None, info: Mapping[str, Any] | None = None
    ) -> Scope:
        """A child node, opened by ``async with``. Without a place it gets the next visit's.

        `info` is what a person wants to know of it, as JSON: `task`, `model`, `mode`, `members`.
        """

    @abstractmethod
    async def step(self, step: Step[A, R]) -> R:
        """Carry out one effect. Raises what is left of a failure after retries, or waits for as long as a person
        is needed.
        """

    @abstractmethod
    async def fault(self, exc: Exception, *, at: int | None = None) -> Answer:
        """This node failed outside a step. Raises `exc`, or returns how to go on.

        `at` names a fixed spot (a turn) where the caller goes on in place; without it the caller does its body again,
        and recorded steps are recalled.
        """

    @abstractmethod
    async def turn(self, number: int, messages: list[Message]) -> None:
        """A new turn of an agent begins: may wait at a breakpoint, and may append injected messages."""

    def recorded(self, name: str, place: Place) -> Any:
        """The result that an earlier life of the run recorded of a step of this node (`name`: a value's; ``llm``); None
        where it has recorded none. For asking before anything is done that it makes unnecessary.
        """
        return None

    def corrected_input(self) -> Any:
        """The input that an operator gave in place of the node's own, in an earlier life of the run; None where none
        was given. For asking before the body is done: what made it fail then may not fail it again.
        """
        return None

    async def granted(self, permission: str) -> bool:
        """Whether the code of this node may do what `permission` (``verb:object``) names, by configuration or by a
        grant. False under plain `run`, where a person cannot be asked.
        """
        return False

    def tool_settings(self, name: str) -> Mapping[str, Any]:
        """What an operator configured for the tool of a guest; empty under plain `run`, and where nothing is."""
        return _NOTHING

    def mcp_servers(self) -> Any:
        """The MCP servers of the workspace (`orbiter.mcp.table.ServerTable`); None under plain `run`, where no
        configuration is read.
        """
        return None

    def outcome(  # noqa: B027 - the direct scope has no use for it
        self, output: str = "", *, state: Literal["succeeded", "degraded", "failed"] = "succeeded", note: str = ""
    ) -> None:
        """Say what the node came to, before it closes."""

    def warn(self, text: str) -> None:  # noqa: B027 - the direct scope has no use for it
        """Something an operator should know that is not a fault."""

    def late(self, result: Any, error: BaseException | None) -> None:  # noqa: B027 - as above
        """A blocking call of this node that had been given up came back after all. Its result is not used."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        return None
