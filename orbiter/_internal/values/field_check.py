"""What is wrong with a field of a value that was made or changed past its class: `model_construct` checks nothing."""

from __future__ import annotations

import re
import reprlib
from types import NoneType
from typing import Final

from pydantic import BaseModel
from pydantic import ValidationError as PydanticValidationError

_UNREADABLE: Final = (AttributeError, TypeError, ValueError, RecursionError)
"""What reading a value raises that does not have the fields of its class."""
_FLAT: Final = frozenset({str, int, float, bool, NoneType})
"""Kinds of values that hold no others."""
_EXPECTED: Final = re.compile(
    r"Expected `([^`]+)` - .*?\[field_name='(\w+)', input_value=.*?, input_type=(\w+)\]", re.DOTALL
)


def wrong_field(kind: type[BaseModel], value: BaseModel) -> str | None:
    """The first field of `value`, or of what it holds, that is not as `kind` declares it; None: all are.

    `parsed` is left out: it is of a class of the user's.
    """
    try:
        kind.model_validate({name: each for name, each in vars(value).items() if name != "parsed"}, strict=True)
        if _FLAT.issuperset(map(type, vars(value).values())):
            return None
        # An object of the right class is taken as it is: what it holds is seen only when it is taken apart.
        kind.model_validate(value.model_dump(exclude={"parsed"}, warnings="error"), strict=True)
    except PydanticValidationError as exc:
        return first_error(exc)
    except _UNREADABLE as exc:
        return _said_by_validation(kind, value) or _said_by_dump(exc)
    return None


def first_error(found: PydanticValidationError) -> str:
    """The first of what a validation found, with its field as Python writes it: `messages[0].content`. Of a field that
    takes several kinds, what stands deepest: it is of the kind that was meant.
    """
    errors = found.errors(include_url=False)
    field = errors[0]["loc"][:1]
    error = max((each for each in errors if each["loc"][:1] == field), key=lambda each: len(each["loc"]))
    return f"{_place(error['loc'])}: {error['msg']}; got {reprlib.repr(error['input'])}"


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


def _said_by_validation(kind: type[BaseModel], value: BaseModel) -> str:
    """The same in better words, where they are to be had."""
    try:
        kind.model_validate(value.model_dump(exclude={"parsed"}, warnings=False), strict=True)
    except PydanticValidationError as exc:
        return first_error(exc)
    except _UNREADABLE:
        return ""
    return ""


def _said_by_dump(exc: Exception) -> str:
    """Of an object in the place of another, which becomes the same when it is written."""
    found = _EXPECTED.search(str(exc))
    return f"{found[2]}: must be {found[1]}; got {found[3]}" if found is not None else str(exc)
