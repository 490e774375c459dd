"""Registries: named objects that are looked up by name.

Three are global: `agent_registry`, `tool_registry`, `model_registry`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import FrameType
from typing import Any, Generic, TypeVar, overload

from orbiter.errors import RegistryError
from orbiter.parsing.near_names import did_you_mean

__all__ = ["Registry", "RegistryError", "agent_registry", "model_registry", "tool_registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Items by name. A name is given once; a file that is read again, as a runtime does for each run, gives its names
    again.

    Args:
        name: What the registry is called in error texts.
    """

    def __init__(self, name: str = "registry") -> None:
        self._name = name
        self._items: dict[str, T] = {}
        self._givers: dict[str, list[ModuleSpec]] = {}
        """Of each name, the modules that gave it, as they were loaded then."""

    @overload
    def register(self, name: str) -> Callable[[T], T]: ...

    @overload
    def register(self, name: str, item: T) -> T: ...

    def register(self, name: str, item: T | None = None) -> T | Callable[[T], T]:
        """Register `item` as `name` and return it; without an item, a decorator that does so.

        Raises:
            RegistryError: The name is taken.
        """
        givers = _calling_modules(sys._getframe(1))
        if item is not None:
            return self._add(name, item, givers)
        return lambda decorated: self._add(name, decorated, givers)

    def _add(self, name: str, item: T, givers: list[ModuleSpec]) -> T:
        before = self._givers.get(name, [])
        if name in self._items and not _is_read_again(givers, before):
            where = f"; {before[0].origin} has it" if before and before[0].origin else ""
            raise RegistryError(
                f"'{name}' is already registered in {self._name}",
                hint=f"Choose another name, or register it once{where}",
            )
        self._items[name] = item
        self._givers[name] = givers
        return item

    def get(self, name: str) -> T:
        """The item called `name`.

        Raises:
            RegistryError: The name is not registered; the hint names the nearest one.
        """
        try:
            return self._items[name]
        except KeyError as exc:
            hint = did_you_mean(name, self._items, sentence=True).rstrip()
            hint = hint or f"Registered are: {', '.join(self._items) or 'none'}"
            raise RegistryError(f"'{name}' not found in {self._name}", hint=hint) from exc

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __len__(self) -> int:
        return len(self._items)

    def list_all(self) -> list[str]:
        """All names, in the order in which they were registered."""
        return list(self._items)


def _calling_modules(frame: FrameType | None) -> list[ModuleSpec]:
    """The modules of files from which something is done, from the caller out to the one that is being loaded."""
    found: dict[str, ModuleSpec] = {}
    while frame is not None:
        spec = frame.f_globals.get("__spec__")
        if spec is not None and spec.has_location:
            found.setdefault(spec.name, spec)
        frame = None if frame.f_code.co_name == "<module>" else frame.f_back
    return list(found.values())


def _is_read_again(modules: list[ModuleSpec], before: list[ModuleSpec]) -> bool:
    """Whether the modules are of the same files as those before, and one of these was loaded again since."""
    same_files = [each.origin for each in modules] == [each.origin for each in before]
    return same_files and any(one is not other for one, other in zip(modules, before, strict=True))


agent_registry: Registry[Any] = Registry("agent_registry")
tool_registry: Registry[Any] = Registry("tool_registry")
model_registry: Registry[Any] = Registry("model_registry")
