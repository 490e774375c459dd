"""The public API of `orbiter` as text: each name with its signature, for review (`tests/orbiter/public_api.txt`)."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Protocol, get_origin

from pydantic import BaseModel

MODULES: Final = (
    "orbiter", "orbiter.ask", "orbiter.compat.recovery_handlers", "orbiter.config", "orbiter.errors", "orbiter.events",
    "orbiter.guests", "orbiter.guests.langgraph", "orbiter.hooks", "orbiter.human", "orbiter.mcp", "orbiter.models",
    "orbiter.models.scripted", "orbiter.models.types", "orbiter.policy", "orbiter.registry", "orbiter.severity",
    "orbiter.steps", "orbiter.tool", "orbiter.types",
)  # fmt: skip
"""What a program may import of the framework."""


def public_names(module: ModuleType) -> list[str]:
    """The names in a module's `__all__`; without one, its own classes and functions."""
    own = [
        name
        for name, found in vars(module).items()
        if (inspect.isclass(found) or inspect.isfunction(found)) and found.__module__ == module.__name__
    ]
    return sorted(getattr(module, "__all__", [name for name in own if not name.startswith("_")]))


def public_api() -> str:
    """One line for each public name and for each public member of a class, in the order of names.

    A class or function is described where it is found first. Further modules say where that is.
    """
    lines = [
        "The public API: names and signatures. A change here is a change for users. Made by: python -m tests.pages",
        "",
    ]
    described: dict[int, str] = {}
    for module_name in MODULES:
        module = import_module(module_name)
        lines.append(f"[{module_name}]")
        for name in public_names(module):
            found = getattr(module, name)
            if id(found) in described:
                lines.append(f"{name}: {described[id(found)]}")
                continue
            lines += _described(name, found)
            if inspect.isclass(found) or inspect.isfunction(found):
                described[id(found)] = f"{module_name}.{name}"
        lines.append("")
    return "\n".join(lines)


def _described(name: str, found: Any) -> Iterator[str]:
    if get_origin(found) is not None:
        yield f"{name}: type"  # `inspect.signature` of such a name differs between versions of Python
        return
    if not inspect.isclass(found):
        yield f"{name}{_signature(found)}" if callable(found) else f"{name}: {type(found).__name__}"
        return
    bases = ", ".join(base.__name__ for base in found.__bases__ if base is not object)
    if issubclass(found, Enum):
        yield f"{name}({bases}): {', '.join(str(each.value) for each in found)}"
        return
    takes = "" if Protocol in found.__bases__ else _fields(found) or _signature(found)
    yield f"{name}({bases}){takes}"
    for member, value in sorted(vars(found).items()):
        if member.startswith("_") or member in {"model_config", "model_post_init"}:
            continue
        if isinstance(value, property):
            yield f"  {name}.{member}: property"
        elif inspect.isfunction(value) or isinstance(value, classmethod | staticmethod):
            yield f"  {name}.{member}{_signature(getattr(found, member))}"


def _signature(found: Any) -> str:
    try:
        return str(inspect.signature(found)).replace("'", "")
    except (TypeError, ValueError):
        return ""


def _fields(found: type) -> str:
    """The fields of a pydantic model, with their types as they are written; those of a named tuple."""
    if issubclass(found, BaseModel):
        written: dict[str, Any] = {}
        for base in reversed(found.__mro__):
            written |= vars(base).get("__annotations__", {})
        return f"({', '.join(f'{name}: {written[name]}' for name in found.model_fields)})"
    return f"({', '.join(getattr(found, '_fields', ()))})" if issubclass(found, tuple) else ""
