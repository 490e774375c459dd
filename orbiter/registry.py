"""Registries: named objects that are looked up by name.

Three are global: `agent_registry`, `tool_registry`, `model_registry`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
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
        self._givers: dict[str, ModuleSpec | None] = {}
        """Of each name, the module that gave it, as it was loaded then."""

    @overload
    def register(self, name: str) -> Callable[[T], T]: ...

    @overload
    def register(self, name: str, item: T) -> T: ...

    def register(self, name: str, item: T | None = None) -> T | Callable[[T], T]:
        """Register `item` as `name` and return it; without an item, a decorator that does so.

        Raises:
            RegistryError: The name is taken.
        """
        giver: ModuleSpec | None = sys._getframe(1).f_globals.get("__spec__")
        if item is not None:
            return self._add(name, item, giver)
        return lambda decorated: self._add(name, decorated, giver)

    def _add(self, name: str, item: T, giver: ModuleSpec | None) -> T:
        before = self._givers.get(name)
        if name in self._items and not _is_read_again(giver, before):
            where = f"; {before.origin} has it" if before is not None and before.origin else ""
            raise RegistryError(
                f"'{name}' is already registered in {self._name}",
                hint=f"Choose another name, or register it once{where}",
            )
        self._items[name] = item
        self._givers[name] = giver
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


def _is_read_again(module: ModuleSpec | None, before: ModuleSpec | None) -> bool:
    """Whether a module is a later load of the file of another one."""
    if module is None or before is None or module is before:
        return False
    return module.origin is not None and module.origin == before.origin


agent_registry: Registry[Any] = Registry("agent_registry")
tool_registry: Registry[Any] = Registry("tool_registry")
model_registry: Registry[Any] = Registry("model_registry")
