"""What a tool or a handoff changes of the context of its run: recorded with the call, and made again where the call is
recalled. So what a later tool reads there is the same in every life.

Fields of dictionaries, dataclasses, models of pydantic and plain objects are compared. A field that holds what cannot
be recorded, as a connection, is left as the context has it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from orbiter.guests.typed_values import Packed, pack, unpack

Fields = dict[str, Packed]
_GONE: Packed = ["gone"]


def fields_of(context: Any) -> Fields:
    """The fields of a context that can be recorded."""
    found: Fields = {}
    for name, value in _values(context).items():
        try:
            found[name] = pack(value)
        except (TypeError, ValueError, RecursionError):
            continue
    return found


def changed_fields(before: Fields, context: Any) -> Fields:
    """Those that are not as they were. A key that a dictionary has no longer is among them."""
    changed = {name: each for name, each in fields_of(context).items() if before.get(name) != each}
    now = _values(context)
    return changed | {name: _GONE for name in before if isinstance(context, dict) and name not in now}


def change_again(context: Any, fields: Fields) -> None:
    """Make changes that were recorded."""
    for name, packed in fields.items():
        if packed == _GONE:
            context.pop(name, None)
            continue
        try:
            value = unpack(packed)
        except LookupError:
            continue
        if isinstance(context, dict):
            context[name] = value
        elif context is not None:
            setattr(context, name, value)


def _values(context: Any) -> Mapping[str, Any]:
    if isinstance(context, dict):
        return {name: value for name, value in context.items() if isinstance(name, str)}
    if dataclasses.is_dataclass(context) and not isinstance(context, type):
        names = [each.name for each in dataclasses.fields(context)]
    else:
        own = getattr(context, "__dict__", None)
        names = list(own) if isinstance(own, dict) and not isinstance(context, ModuleType) else []
    return {name: getattr(context, name) for name in names if hasattr(context, name)}
