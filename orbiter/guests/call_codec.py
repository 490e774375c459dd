"""What the calls of foreign tools have in common as steps: a guest's own, and those of an MCP server."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from orbiter.errors import ToolCallError
from orbiter.steps import Codec


class ForeignCall(Protocol):
    """One call of a tool, as a dataclass."""

    @property
    def call_id(self) -> str:
        """Its id in the model's reply."""

    @property
    def arguments(self) -> dict[str, Any]:
        """What the model gave, as JSON."""

    @property
    def failure(self) -> str:
        """What a failure means; ``continue``: the model is told of every one."""


A = TypeVar("A", bound=ForeignCall)
R = TypeVar("R")


class CallCodec(Codec[A, R]):
    """Arguments are recorded with the call's id, and may be changed. A refusal is told to the model."""

    def describe(self, arguments: A) -> dict[str, Any]:
        return {"id": arguments.call_id, "arguments": arguments.arguments}

    def editable(self, arguments: A) -> dict[str, Any] | None:
        return {"arguments": arguments.arguments}

    def replace(self, arguments: A, changes: Mapping[str, Any]) -> A:
        """The call with other arguments.

        Raises:
            ValueError: They do not fit the tool's schema, or something else is to be changed.
        """
        unknown = set(changes) - {"arguments", "id"}
        if unknown:
            raise ValueError(f"A tool step takes 'arguments', not {', '.join(map(repr, sorted(unknown)))}")
        given = changes.get("arguments")
        if given is None or given == arguments.arguments:
            return arguments
        return self._with_arguments(arguments, dict(given))

    def _with_arguments(self, arguments: A, given: dict[str, Any]) -> A:
        """The call with arguments that the tool itself checks, as it checks the model's.

        Raises:
            ValueError: They do not fit the tool's schema, where that is checked here.
        """
        changed: A = replace(arguments, arguments=given)  # type: ignore[type-var]  # every `ForeignCall` is a dataclass
        return changed

    def absorb(self, arguments: A, exc: Exception) -> R | None:
        """A failure as a result that the model reads. A person is asked of every other one, unless the tool declares
        that its failures are the model's to read.
        """
        if not isinstance(exc, ToolCallError) and arguments.failure != "continue":
            return self._told_anyway(arguments, exc)
        return self._failed(arguments, str(exc) or type(exc).__name__)

    def _told_anyway(self, arguments: A, exc: Exception) -> R | None:
        """The result where the framework itself tells the model of a failure; None where it ends the run."""
        return None

    @abstractmethod
    def _failed(self, arguments: A, message: str) -> R:
        """A result that says to the model what failed."""
