"""What a tool raised, where code of the agent's own is told of it: recorded, and raised again when it is recalled.

An exception comes back as one of its class, with what it holds as JSON; of a class that is not loaded, as one of the
nearest class above it. An object that it holds (the response of a server) comes back with its plain fields only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from pydantic_core import to_jsonable_python

from orbiter.guests.typed_values import loaded_class, name_of

_OBJECT = "__object__"
"""The key of an object's fields, in place of the object."""


@dataclass(slots=True, frozen=True)
class RaisedError:
    """An exception as JSON. `classes`: its own and those above it, as ``module:name``."""

    classes: list[str]
    text: str
    arguments: list[Any]
    attributes: dict[str, Any]

    @classmethod
    def of(cls, error: Exception) -> RaisedError:
        """What is recorded of an exception."""
        classes = [each for each in type(error).__mro__ if issubclass(each, Exception)]
        names = [name_of(each) for each in classes]
        attributes = {name: _plain(value) for name, value in vars(error).items()}
        return cls(names, str(error), [_plain(each) for each in error.args], attributes)

    def restore(self) -> Exception:
        """The exception."""
        for at, name in enumerate(self.classes):
            if (found := _class(name)) is not None and (error := self._as(found, itself=at == 0)) is not None:
                return error
        return RuntimeError(self.text)

    def _as(self, found: type[Exception], *, itself: bool) -> Exception | None:
        """As an exception of this class; None where its text would be another. It is not made by its `__init__`, which
        may want other arguments than it keeps.
        """
        try:
            error = found.__new__(found, *(map(_restored, self.arguments) if itself else (self.text,)))
            error.__dict__.update({name: _restored(value) for name, value in self.attributes.items()})
            return error if str(error) == self.text else None
        except Exception:  # its class has a say in both
            return None


def _plain(value: Any) -> Any:
    if isinstance(value, str | int | float | bool | None):
        return value
    fields = getattr(value, "__dict__", None)
    if isinstance(fields, Mapping) and not isinstance(value, type):
        kept = {name: each for name, each in fields.items() if isinstance(each, str | int | float | bool | None)}
        return {_OBJECT: kept}
    return to_jsonable_python(value, fallback=str, bytes_mode="base64")


def _restored(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {_OBJECT}:
        return SimpleNamespace(**value[_OBJECT])
    return value


def _class(name: str) -> type[Exception] | None:
    found = loaded_class(name)
    return found if found is not None and issubclass(found, Exception) else None
