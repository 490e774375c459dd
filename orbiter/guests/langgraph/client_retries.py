"""The retries of a model's own client are off within a step: the step has attempts of its own, never multiplied.

LangChain has no setting for one request, so a copy of the model is asked whose client has no retries: the clients of
OpenAI, Anthropic, Groq and what is made of them give such copies of themselves (`with_options`), and share their
connections with them. The user's model is left as it is. Models inside of others (`bind`, `with_fallbacks`) are copied
with them, and so is each model that middleware puts into the request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from functools import cached_property
from typing import Any

from langchain.agents.middleware import ModelRequest
from langchain_core.runnables import Runnable
from pydantic import BaseModel

_FIELD = "max_retries"
"""The field by which LangChain's models of each vendor name the retries of their clients."""
_TOTAL = ("langchain_google_genai",)
"""Packages whose field counts the first request too."""


class SingleAttemptRequest(ModelRequest[Any]):
    """A request whose model is asked once, also where middleware inside of ours puts another one in its place."""

    def __init__(self, *, model: Any, **more: Any) -> None:
        super().__init__(model=single_attempts(model), **more)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, single_attempts(value) if name == "model" else value)


def single_attempt_request(request: ModelRequest[Any]) -> SingleAttemptRequest:
    """The request, with a model whose client has no retries."""
    return SingleAttemptRequest(**{each.name: getattr(request, each.name) for each in fields(request)})


@contextmanager
def warning(warn: Callable[[str], None]) -> Iterator[None]:
    """Tell `warn` of each model that is asked inside and whose client keeps its retries."""
    token = _WARN.set(warn)
    try:
        yield
    finally:
        _WARN.reset(token)


_WARN: ContextVar[Callable[[str], None] | None] = ContextVar("orbiter_client_retries", default=None)


def single_attempts(model: Any) -> Any:
    """A copy of a model whose client has no retries, or the model itself where its client has none."""
    if not isinstance(model, BaseModel):
        if isinstance(model, Runnable):
            _warn_of(model)
        return model
    clients: dict[int, Any] = {}
    declared = type(model).model_fields
    held = {name: value for name, value in model.__dict__.items() if name in declared}
    changed = {name: found for name, value in held.items() if (found := _once(value, clients)) is not value}
    retries = held.get(_FIELD, 0)
    if retries != 0 and not clients:
        package = type(model).__module__.partition(".")[0]
        total = package in _TOTAL
        if not total and not _makes_clients(type(model)):
            _warn_of(model)
        elif retries != int(total):
            changed[_FIELD] = int(total)
    if not changed:
        return model
    copy = model.model_copy(update=changed)
    for name in set(copy.__dict__) - set(declared):
        del copy.__dict__[name]  # what was computed of the fields is computed again
    return copy


def _once(value: Any, clients: dict[int, Any]) -> Any:
    """A value of a model's field, with clients that have no retries. `clients`: those that were looked at so far."""
    if isinstance(value, Runnable):
        return single_attempts(value)
    if isinstance(value, list | tuple) and any(isinstance(each, Runnable) for each in value):
        found = [_once(each, clients) for each in value]
        return value if all(new is old for new, old in zip(found, value, strict=True)) else type(value)(found)
    if _is_client(value):
        if id(value) not in clients:
            clients[id(value)] = value.with_options(max_retries=0) if value.max_retries else value
        return clients[id(value)]
    owner = getattr(value, "_client", None)
    if _is_client(owner) and (once := _once(owner, clients)) is not owner:
        return type(value)(once)  # a part of a client, as `client.chat.completions`
    return value


def _is_client(value: Any) -> bool:
    """Whether it is a client of a vendor that gives copies of itself with other retries."""
    return callable(getattr(type(value), "with_options", None)) and isinstance(getattr(value, _FIELD, None), int)


def _makes_clients(model: type) -> bool:
    """Whether models of this class make their clients of their fields, when they are first asked."""
    return any(
        isinstance(each, cached_property) and "client" in name
        for found in model.__mro__
        for name, each in vars(found).items()
    )


def _warn_of(model: object) -> None:
    warn = _WARN.get()
    if warn is not None:
        warn(
            f"the client of {type(model).__name__} may ask again by itself within each attempt, because LangChain"
            " cannot turn its retries off for one request: make the model with max_retries=0"
        )
