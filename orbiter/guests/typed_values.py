"""Objects of a user's own classes as JSON, and back as objects of these classes: results of tools, fields of a context.

Models of pydantic and dataclasses are known, also within lists, tuples and dictionaries. A class is found by its module
and name among what is loaded; nothing is imported for it.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_jsonable_python

Packed = list[Any]
"""What kind of value it is, and the value."""
_DEEPEST = 50


def as_json(value: Any) -> Any:
    """A value as JSON, for people and records: bytes as text where they are text, else in Base64; what has no form in
    JSON as its `str`.
    """
    try:
        return to_jsonable_python(value, fallback=str)
    except ValueError:  # bytes that are not text, or a value that holds itself
        pass
    try:
        return to_jsonable_python(value, fallback=str, bytes_mode="base64")
    except ValueError:
        return str(value)


def as_text(value: Any) -> str:
    """A value that stands in place of text: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(as_json(value), ensure_ascii=False)


def is_json(value: Any) -> bool:
    """Whether a value is what it would be once it was written as JSON and read. No `==` is asked of it: an array
    answers for each of its elements.
    """
    return _is_json(value, _DEEPEST)


def _is_json(value: Any, deeper: int) -> bool:
    if value is None or isinstance(value, str | int | float):
        return True
    if not deeper or not isinstance(value, list | dict):
        return False
    several = value
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            return False
        several = list(value.values())
    return all(_is_json(each, deeper - 1) for each in several)


def pack(value: Any, depth: int = 0) -> Packed:
    """A value as JSON that says what its classes are.

    Raises:
        TypeError: Something in it is neither JSON nor of a known kind of class that has a name in its module.
    """
    if value is None or type(value) in (str, int, float, bool):
        return ["json", value]
    if depth > _DEEPEST:
        raise TypeError(f"a value that is nested more than {_DEEPEST} deep cannot be recorded")
    if type(value) in (list, tuple):
        return [type(value).__name__, [pack(each, depth + 1) for each in value]]
    if type(value) is dict and all(type(key) is str for key in value):
        return ["dict", {key: pack(each, depth + 1) for key, each in value.items()}]
    name = name_of(type(value))
    if _class(name) is not type(value):
        raise TypeError(f"a value of the class {name} cannot be recorded")
    return ["class", name, TypeAdapter(type(value)).dump_python(value, mode="json", by_alias=False)]


def unpack(packed: Packed) -> Any:
    """The value from what `pack` wrote.

    Raises:
        LookupError: A class of it is not loaded.
        ValueError: A class of it was changed, and the recorded value does not fit.
    """
    kind, value = packed[0], packed[-1]
    if kind in ("list", "tuple"):
        several = [unpack(each) for each in value]
        return several if kind == "list" else tuple(several)
    if kind == "dict":
        return {key: unpack(each) for key, each in value.items()}
    if kind == "class":
        found = _class(packed[1])
        if found is None:
            raise LookupError(f"the class {packed[1]} of a recorded value is not loaded")
        return TypeAdapter(found).validate_python(value, by_name=True)
    return value


def class_of(value: Any) -> str:
    """The class of a model or dataclass, by module and name, to be kept beside its JSON; ``"list "`` before it where
    the value is a list of such. Empty for everything else.
    """
    if type(value) is list:
        found = {class_of(each) for each in value}
        return f"list {one}" if len(found) == 1 and (one := found.pop()) and not one.startswith("list ") else ""
    name = name_of(type(value))
    return name if _class(name) is type(value) else ""


def as_class(name: str, value: Any) -> Any:
    """The object of the class that `class_of` named, from its JSON; the JSON itself where the class is not loaded, or
    was changed so that the JSON does not fit.
    """
    of_list, _, one = name.rpartition(" ")
    found: Any = _class(one)
    if found is None:
        return value
    try:
        return TypeAdapter(list[found] if of_list else found).validate_python(value, by_alias=True, by_name=True)
    except ValueError:
        return value


def name_of(found: type[Any]) -> str:
    """A class by its module and its name there, as ``module:name``."""
    return f"{found.__module__}:{found.__qualname__}"


def loaded_class(name: str) -> type[Any] | None:
    """The class that `name_of` named, if its module is loaded and has it."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) else None


def _class(name: str) -> type[Any] | None:
    """The class of this name, if it is a model or a dataclass of a loaded module."""
    found = loaded_class(name)
    known = found is not None and (issubclass(found, BaseModel) or dataclasses.is_dataclass(found))
    return found if known else None
