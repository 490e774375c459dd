"""What is wrong with a field of a value that was made or changed past its class: `model_construct` checks nothing."""

from __future__ import annotations

import reprlib
from types import NoneType
from typing import Any, Final

from pydantic import BaseModel
from pydantic import ValidationError as PydanticValidationError

from orbiter._internal.values.frozen import Frozen

_UNREADABLE: Final = (AttributeError, TypeError, ValueError, RecursionError)
"""What reading a value raises that does not have the fields of its class."""
_FLAT: Final = frozenset({str, int, float, bool, NoneType})
"""Kinds of values that hold no others."""


def wrong_field(kind: type[BaseModel], value: BaseModel, place: str = "") -> str | None:
    """The first field of `value`, or of what it holds, that is not as `kind` declares it; None: all are.

    `parsed` is left out: it is of a class of the user's. No text is copied: an object of the right class is taken as it
    is, and what it holds is looked at by itself.

    Args:
        kind: The class of ours that declares the fields.
        value: The value; fields that a subclass of the user's adds are not looked at.
        place: Where the value stands, with its dot.
    """
    try:
        given = {**vars(value), "parsed": None} if "parsed" in vars(value) else vars(value)
        for name, taken in vars(kind.model_validate(given, strict=True)).items():
            if type(taken) not in _FLAT and (wrong := _wrong_part(f"{place}{name}", taken, given.get(name, taken))):
                return wrong
    except PydanticValidationError as exc:
        return first_error(exc, place)
    except _UNREADABLE as exc:
        return f"{place.removesuffix('.')}: {exc}".removeprefix(": ")
    return None


def _wrong_part(place: str, taken: Any, given: Any) -> str | None:
    """The same of what stands in a field. `taken`: what validation made of it, which is the same object where it is of
    the right class.
    """
    if isinstance(taken, list):
        parts = enumerate(zip(taken, given, strict=True))
        return next((wrong for at, each in parts if (wrong := _wrong_part(f"{place}[{at}]", *each))), None)
    if not isinstance(taken, BaseModel):
        return None
    if not isinstance(given, kind := declaring_class(taken)):
        return f"{place}: must be {kind.__name__}; got {type(given).__name__}"
    return wrong_field(kind, given, f"{place}.")


def declaring_class(value: BaseModel) -> type[BaseModel]:
    """The class of ours that declares a value's fields, where the value is of a subclass of the user's."""
    return next((each for each in value.__class__.__mro__ if Frozen in each.__bases__), value.__class__)


def first_error(found: PydanticValidationError, place: str = "") -> str:
    """The first of what a validation found, with its field as Python writes it: `messages[0].content`. Of a field that
    takes several kinds, what stands deepest: it is of the kind that was meant.

    Args:
        found: What was found.
        place: Where the value stands, with its dot.
    """
    errors = found.errors(include_url=False)
    field = errors[0]["loc"][:1]
    error = max((each for each in errors if each["loc"][:1] == field), key=lambda each: len(each["loc"]))
    where = f"{place}{_place(error['loc'])}".removesuffix(".")
    return f"{where}: {error['msg']}; got {reprlib.repr(error['input'])}".removeprefix(": ")


def _place(loc: tuple[int | str, ...]) -> str:
    """A place as Python writes it, without what pydantic puts into it: the kind that it tried (`str`, `list[…]`), and,
    after an index, the class that it chose by `role` or `type`.
    """
    place, parts = "", [part for part in loc if isinstance(part, int) or (part != "str" and part.isidentifier())]
    for before, part, after in zip(["", *parts], parts, [*parts[1:], 0], strict=False):
        if isinstance(part, int):
            place += f"[{part}]"
        elif not (isinstance(before, int) and isinstance(after, str)):
            place += f".{part}"
    return place.removeprefix(".")
