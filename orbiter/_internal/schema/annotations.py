"""What a function says of itself: its docstring, and its annotations as types."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import FrameType, FunctionType
from typing import Annotated, Any, Final, get_args, get_type_hints

from pydantic import WithJsonSchema

from orbiter._internal.schema.plain_function import plain_hints

UNREADABLE: Final = Annotated[Any, WithJsonSchema({"type": "string"})]
"""What a parameter is to a model whose type says nothing to JSON: text, taken as it comes."""
_CALLERS_READ: Final = 12
"""Frames above a function whose variables an annotation in text may name."""


def read_docstring(fn: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """The first line of a function's docstring, and what it says of each parameter."""
    text = inspect.getdoc(fn) or ""
    first = text.strip().partition("\n")[0].strip()
    return first, _parameter_texts(text) if "\n" in text.strip() else {}


@lru_cache(maxsize=1024)
def _parameter_texts(docstring: str) -> dict[str, str]:
    """Read once: to parse a docstring takes longer than all else of a tool, which is made again for every run."""
    import docstring_parser  # takes longer to import than all of this module

    try:
        parsed = docstring_parser.parse(docstring)
    except docstring_parser.ParseError:  # a docstring is prose: what cannot be read describes nothing
        return {}
    described = (param for param in parsed.params if param.description)
    return {param.arg_name.lstrip("*"): " ".join((param.description or "").split()) for param in described}


def read_hints(fn: Callable[..., Any]) -> dict[str, Any]:
    """Annotations, resolved where they can be. Types local to the function that defines the tool are found there."""
    if type(fn) is FunctionType and not hasattr(fn, "__wrapped__") and (plain := plain_hints(fn)) is not None:
        return dict(plain)
    target = fn if inspect.isroutine(fn) or inspect.isclass(fn) else type(fn).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError):
        found: dict[str, Any] = {}
        for name, annotation in getattr(inspect.unwrap(target), "__annotations__", {}).items():
            found[name] = _resolved(annotation, inspect.unwrap(target))
        return found


def _resolved(annotation: Any, fn: Callable[..., Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    spaces = [getattr(fn, "__globals__", {}), *(frame.f_locals for frame in _callers())]
    names = {name: value for space in reversed(spaces) for name, value in space.items()}
    try:
        return get_type_hints(_Holder(annotation), globalns=names, include_extras=True)["value"]
    except Exception:  # an annotation is any expression; one that cannot be read is plain text to a model
        return UNREADABLE


class _Holder:
    """Carries one annotation to `get_type_hints`."""

    def __init__(self, annotation: str) -> None:
        self.__annotations__ = {"value": annotation}


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_CALLERS_READ):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def mentions(hint: Any, kind: type) -> bool:
    """Whether `kind`, or a class derived from it, is the type or a part of it."""
    if isinstance(hint, type):
        return issubclass(hint, kind)
    return any(mentions(part, kind) for part in get_args(hint))
