"""Requests and results as JSON, and back. What comes from outside is checked field by field.

A request with a field that is not known is refused: what its sender meant by it would not happen. In a result such a
field is ignored: the runtime may be of a later version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec

from runtime.operations.requests.event_object import EventObject
from runtime.operations.requests.struct import Request
from runtime.record.state.struct_json import explain, struct_to_builtins

R = TypeVar("R")
S = TypeVar("S", bound=msgspec.Struct)


class InvalidField(ValueError):
    """A request or a result cannot be read; the text says which field, what it is, and what it should be."""


def encode(value: Any) -> Any:
    """A request without what is at its default, or a result, as JSON. Times are ISO 8601 in UTC with `Z`."""
    return struct_to_builtins(value)


def decode_request(kind: type[S], fields: Any) -> S:
    """The request that was sent.

    Raises:
        InvalidField: a field is missing, not known, or not of its type.
    """
    return cast("S", _convert(fields, kind, f"it takes {', '.join(kind.__struct_fields__) or 'no arguments'}"))


def decode_result(request: Request[R], result: Any) -> R:
    """The result of a request. Raises `InvalidField`."""
    return cast("R", _convert(result, result_type(type(request)), "it is not the result that was expected"))


def decode_struct(kind: type[S], fields: Any) -> S:
    """A result, or a part of one, from its JSON. Raises `InvalidField`."""
    return cast("S", _convert(fields, kind, f"it is not a {kind.__name__}"))


def result_type(kind: type[Request[Any]]) -> Any:
    """The type in the brackets of a request's base."""
    return next(get_args(base)[0] for base in kind.__orig_bases__ if get_origin(base) is Request)  # type: ignore[attr-defined]


def _convert(value: Any, kind: Any, hint: str) -> Any:
    try:
        return msgspec.convert(value, kind, dec_hook=_convert_event)
    except msgspec.ValidationError as exc:
        said = explain(exc, "")
        raise InvalidField(f"{said}{_choice(kind, said)}" or f"{exc}; {hint}") from exc


def _convert_event(kind: type, value: Any) -> EventObject:
    """The only type of a field that is not msgspec's own."""
    if kind is not EventObject or not isinstance(value, Mapping):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    return EventObject(value)


def _choice(kind: Any, said: str) -> str:
    """The values that the field takes, where it was given another."""
    field, _, text = said.partition(": ")
    if not text.startswith("Invalid enum value") or not isinstance(kind, type):
        return ""
    values = [*_literals(get_type_hints(kind).get(field))]
    return f"; it takes {', '.join(values)}" if values else ""


def _literals(hint: Any) -> Iterator[str]:
    """The values of every `Literal` in a type."""
    for each in get_args(hint):
        if get_origin(hint) is Literal:
            yield str(each)
        else:
            yield from _literals(each)
