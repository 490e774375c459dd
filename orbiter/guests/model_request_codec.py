"""What the model requests of guests have in common as steps.

The request is recorded by model, tools and a digest of what is new in the conversation. Instructions are not part of
the digest: they may name the day.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

from orbiter._internal.loop.model_step import describe_question, dump_messages
from orbiter.guests.raised_errors import RaisedError
from orbiter.steps import Codec
from orbiter.types import Message, SystemMessage, Usage


class NamedRequest(Protocol):
    """One request to a model."""

    @property
    def model(self) -> str:
        """What the model is called."""

    @property
    def new_from(self) -> int:
        """The index from which the conversation is new since the request before."""

    @property
    def handled(self) -> bool:
        """Whether code of the agent's own is told of a failure."""

    @property
    def error(self) -> Exception | None:
        """What the model raised in this life."""


A = TypeVar("A", bound=NamedRequest)


@dataclass(slots=True, frozen=True)
class Request:
    """What is recorded of a request. `new`: the messages since the request before; `count`: of all."""

    tools: Sequence[str]
    new: Iterable[Message]
    count: int
    more: Mapping[str, Any] = field(default_factory=dict)


_RAISED = "raised"
"""The key of what a model raised, in place of a reply: code of the agent's own is told of it."""


class ModelRequestCodec(Codec[A, dict[str, Any]]):
    """Requests, the changes that a decision makes to them, and replies, each a mapping."""

    request: ClassVar[str]
    """As an error says of what is changed: "A model request of a pydantic-ai agent"."""

    @abstractmethod
    def _request(self, arguments: A) -> Request:
        """What is recorded of a request."""

    @abstractmethod
    def _with_model(self, arguments: A, model: str) -> A:
        """The request to another model, by its name."""

    @abstractmethod
    def _dump_reply(self, result: dict[str, Any]) -> Any:
        """A reply as JSON."""

    @abstractmethod
    def _load_reply(self, value: Any) -> dict[str, Any]:
        """The reply from what `_dump_reply` wrote."""

    @abstractmethod
    def _usage_of(self, result: dict[str, Any]) -> Usage | None:
        """Tokens of a reply."""

    def dump(self, result: dict[str, Any]) -> Any:
        if _RAISED in result:
            return {"text": "", "tool_calls": [], "error": result[_RAISED]["text"], _RAISED: result[_RAISED]}
        return self._dump_reply(result)

    def load(self, value: Any) -> dict[str, Any]:
        return {_RAISED: value[_RAISED]} if _RAISED in value else self._load_reply(value)

    def usage(self, result: dict[str, Any]) -> Usage | None:
        return None if _RAISED in result else self._usage_of(result)

    def absorb(self, arguments: A, exc: Exception) -> dict[str, Any] | None:
        """The exception, where code of the agent's own is told of it."""
        return {_RAISED: asdict(RaisedError.of(exc))} if arguments.handled else None

    def describe(self, arguments: A) -> dict[str, Any]:
        return self.describe_masked(arguments, lambda said: said)

    def describe_masked(self, arguments: A, mask: Callable[[Any], Any]) -> dict[str, Any]:
        request = self._request(arguments)
        new = mask(dump_messages(each for each in request.new if not isinstance(each, SystemMessage)))
        described = {**describe_question(arguments.model, list(request.tools), request.count, new), **request.more}
        if arguments.new_from == 0:
            described["messages"] = new
        return described

    def replace(self, arguments: A, changes: Mapping[str, Any]) -> A:
        """The request to another model.

        Raises:
            ValueError: Something else is to be changed.
        """
        unknown = set(changes) - {"model"}
        if unknown:
            raise ValueError(f"{self.request} takes 'model', not {', '.join(map(repr, sorted(unknown)))}")
        model = changes["model"]
        return arguments if model == arguments.model else self._with_model(arguments, model)


def error_of_request(made: tuple[NamedRequest, Any]) -> Exception | None:
    """What the model raised, where code of the agent's own is told of it; None of a reply."""
    ask, result = made
    return (ask.error or RaisedError(**result[_RAISED]).restore()) if _RAISED in result else None


def cut(text: str, lengths: Iterable[int]) -> list[str]:
    """The texts that were joined by line breaks, by their lengths."""
    found, at = [], 0
    for length in lengths:
        found.append(text[at : at + length])
        at += length + 1
    return found
