"""What a tool raised, where the agent itself deals with it: recorded, and raised again where the call is recalled.

Arguments that do not fit go to the model, as LangChain does it. Other failures go to the agent's own middleware, where
it has some around its tools. An exception comes back as one of its class, with what it holds as JSON; of a class that
is not loaded, as one of the nearest class above it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError, to_jsonable_python


@dataclass(slots=True, frozen=True)
class RaisedError:
    """An exception as JSON. `classes`: its own and those above it, as ``module:name``. `details`: of a validation."""

    classes: tuple[str, ...]
    text: str
    arguments: tuple[Any, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    details: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(cls, error: Exception) -> RaisedError:
        """What is recorded of an exception."""
        if isinstance(error, ValidationError):
            found = [
                {"type": each["type"], "loc": list(each["loc"]), "msg": each["msg"], "input": _plain(each["input"])}
                for each in error.errors(include_url=False, include_context=False)
            ]
            return cls((), error.title, details=tuple(found))
        classes = [each for each in type(error).__mro__ if issubclass(each, Exception)]
        names = tuple(f"{each.__module__}:{each.__qualname__}" for each in classes)
        return cls(names, str(error), tuple(map(_plain, error.args)), _plain(vars(error)))

    def restore(self) -> Exception:
        """The exception."""
        if self.details:
            lines = [
                InitErrorDetails(
                    type=PydanticCustomError(each["type"], "{message}", {"message": each["msg"]}),
                    loc=tuple(each["loc"]),
                    input=each["input"],
                )
                for each in self.details
            ]
            return ValidationError.from_exception_data(self.text, lines)
        found = next((each for name in self.classes if (each := _class(name)) is not None), None)
        if found is not None:
            # It is not made by its `__init__`, which may want other arguments than it keeps.
            error = found.__new__(found, *self.arguments)
            error.__dict__.update(self.attributes)
            return error
        return RuntimeError(self.text)


def _plain(value: Any) -> Any:
    return to_jsonable_python(value, fallback=str, bytes_mode="base64")


def _class(name: str) -> type[Exception] | None:
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, type) and issubclass(found, Exception) else None
