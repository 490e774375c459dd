"""JSON of `msgspec` structs, whatever their texts are, and what is wrong with JSON that is not one, in words."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from orbiter.text_encoding import drop_surrogates_in

S = TypeVar("S", bound=msgspec.Struct)

_AT = r"(?s)(.*?)(?: - at `\$\.?([^`]*)`)?"
_MISSING = r"Object missing required field `(\w+)`"


def encode_struct(value: Any) -> bytes:
    """`value` as one line of JSON. Lone surrogates are replaced: UTF-8 has none.

    Raises:
        TypeError: it holds what JSON cannot.
        ValueError: the same, of a value that only pydantic knows.
    """
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(drop_surrogates_in(struct_to_builtins(value)))
    except (TypeError, RecursionError):  # of a key that no hook makes a text of, msgspec asks the hook again and again
        if not isinstance(value, msgspec.Struct):
            raise
        return _encoder.encode(_with_plain_keys(value))


def struct_to_builtins(value: Any) -> Any:
    """`value` as `json` takes it, without fields at their defaults; models of pydantic inside of it too."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_plain)


def struct_fields(value: Any) -> Any:
    """The same with all fields, also those at their defaults."""
    if isinstance(value, msgspec.Struct):
        return {name: struct_fields(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, tuple | list):
        return [struct_fields(each) for each in value]
    return struct_to_builtins(value)


def explain(exc: msgspec.ValidationError, otherwise: str) -> str:
    """What is wrong, beginning with the field; `otherwise` where it is the whole."""
    if isinstance(exc.__cause__, ValueError):  # of a `__post_init__`, which says it in words
        return str(exc.__cause__)
    said = re.fullmatch(_AT, str(exc))
    text, path = (said[1], said[2] or "") if said is not None else (str(exc), "")
    field = re.sub(r"\[.*?\]", "", path).rpartition(".")[2]
    missing = re.fullmatch(_MISSING, text)
    if missing is not None:
        return f"{field}: {missing[1]} is missing" if field else f"{missing[1]}: is missing"
    return f"{field}: {text[:400]}" if field else otherwise


def _plain(value: Any) -> Any:
    from pydantic_core import to_jsonable_python  # a program with such values has loaded it

    return to_jsonable_python(value)


def _with_plain_keys(value: S) -> S:
    """The same, where a dict in it has keys that msgspec refuses: as pydantic writes them, ``(1, 2)`` as ``1,2``."""
    from pydantic_core import to_jsonable_python

    found = {name: getattr(value, name) for name in value.__struct_fields__}
    plain = {
        name: to_jsonable_python(each, fallback=_struct_as_json)
        for name, each in found.items()
        if isinstance(each, dict | list | tuple)
    }
    return replace(value, **plain)


def _struct_as_json(value: Any) -> Any:
    if not isinstance(value, msgspec.Struct):
        raise TypeError(f"a value of {type(value)} cannot be written as JSON")
    return struct_to_builtins(value)


_encoder = msgspec.json.Encoder(enc_hook=_plain)
