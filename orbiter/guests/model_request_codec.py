"""What the model requests of guests have in common as steps.

The request is recorded by model, tools and a digest of what is new in the conversation. Instructions are not part of
the digest: they may name the day.
"""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar

from orbiter.steps import Codec
from orbiter.types import Message, SystemMessage


class NamedRequest(Protocol):
    """One request to a model."""

    @property
    def model(self) -> str:
        """What the model is called."""

    @property
    def new_from(self) -> int:
        """The index from which the conversation is new since the request before."""


A = TypeVar("A", bound=NamedRequest)
R = TypeVar("R")


@dataclass(slots=True, frozen=True)
class Request:
    """What is recorded of a request. `new`: the messages since the request before; `count`: of all."""

    tools: Sequence[str]
    new: Iterable[Message]
    count: int
    more: Mapping[str, Any] = field(default_factory=dict)


class ModelRequestCodec(Codec[A, R]):
    """Requests, and the changes that a decision makes to them."""

    request: ClassVar[str]
    """As an error says of what is changed: "A model request of a pydantic-ai agent"."""

    @abstractmethod
    def _request(self, arguments: A) -> Request:
        """What is recorded of a request."""

    @abstractmethod
    def _with_model(self, arguments: A, model: str) -> A:
        """The request to another model, by its name."""

    def describe(self, arguments: A) -> dict[str, Any]:
        return self.describe_masked(arguments, lambda said: said)

    def describe_masked(self, arguments: A, mask: Callable[[Any], Any]) -> dict[str, Any]:
        request = self._request(arguments)
        new = mask([each.model_dump(mode="json") for each in request.new if not isinstance(each, SystemMessage)])
        canonical = json.dumps(new, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
        described: dict[str, Any] = {
            "model": arguments.model,
            "tools": list(request.tools),
            "count": request.count,
            "digest": hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:16],
            **request.more,
        }
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


def text_by_hand(value: Any) -> str:
    """What an operator gave in place of a reply or a result: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def cut(text: str, lengths: Iterable[int]) -> list[str]:
    """The texts that were joined by line breaks, by their lengths."""
    found, at = [], 0
    for length in lengths:
        found.append(text[at : at + length])
        at += length + 1
    return found
