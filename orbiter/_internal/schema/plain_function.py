"""Functions of plain types, by how they are written.

A swarm's file is executed for every run, which makes its tools again from the same code. What is read of a function
whose annotations are built-in types is the same each time, and is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import CellType, CodeType, FunctionType, NoneType
from typing import Any, Final, NamedTuple

BUILT_IN: Final = (str, int, float, bool, list, dict, tuple, set)
TYPES_BY_NAME: Final[Mapping[str, type]] = {"None": NoneType, **{kind.__name__: kind for kind in BUILT_IN}}
PLAIN_TYPES: Final = frozenset(TYPES_BY_NAME.values())
PLAIN_DEFAULTS: Final = frozenset({str, int, bool, NoneType})


class PlainFunction(NamedTuple):
    """How a function is written, without what it holds: its variables, and those of its module."""

    code: CodeType
    name: str
    doc: str | None
    hints: tuple[tuple[str, type], ...]
    defaults: tuple[Any, ...]
    keyword_defaults: tuple[tuple[str, Any], ...]
    written: tuple[str, ...]
    """The defaults as text, since 1 equals True."""

    @classmethod
    def of(cls, fn: Callable[..., Any]) -> PlainFunction | None:
        """None where more may have to be read than how it is written."""
        if type(fn) is not FunctionType or fn.__dict__ or (hints := plain_hints(fn)) is None:
            return None
        defaults, keyword_defaults = fn.__defaults__ or (), fn.__kwdefaults__ or {}
        given = (*defaults, *keyword_defaults.values())
        if not all(type(value) in PLAIN_DEFAULTS for value in given):
            return None
        named = tuple(keyword_defaults.items())
        written = tuple(map(repr, given))
        return cls(fn.__code__, fn.__name__, fn.__doc__, tuple(hints.items()), defaults, named, written)

    def function(self) -> FunctionType:
        """A function that is written so."""
        cells = tuple(CellType() for _ in self.code.co_freevars)
        made = FunctionType(self.code, {}, self.name, self.defaults, cells)
        made.__doc__ = self.doc
        made.__annotations__ = dict(self.hints)
        made.__kwdefaults__ = dict(self.keyword_defaults)
        return made


def plain_hints(fn: FunctionType) -> dict[str, type] | None:
    """Annotations that are built-in types or their names, without compiling each of them; None where there are
    others.
    """
    hints: dict[str, type] = {}
    for name, annotation in fn.__annotations__.items():
        if isinstance(annotation, str):
            kind = TYPES_BY_NAME.get(annotation) if annotation not in fn.__globals__ else None
        else:
            kind = _plain_type(annotation)
        if kind is None:
            return None
        hints[name] = kind
    return hints


def _plain_type(annotation: Any) -> type | None:
    if annotation is None:
        return NoneType
    return annotation if isinstance(annotation, type) and annotation in PLAIN_TYPES else None
