"""Arguments that do not fit a tool: recorded, and raised again where the call is recalled, so that LangChain tells the
model of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from orbiter.guests.typed_values import as_json


@dataclass(slots=True, frozen=True)
class WrongArguments:
    """A `ValidationError` as JSON."""

    title: str
    details: list[dict[str, Any]]

    @classmethod
    def of(cls, error: ValidationError) -> WrongArguments:
        """What is recorded of it."""
        found = [
            {"type": each["type"], "loc": list(each["loc"]), "msg": each["msg"], "input": as_json(each["input"])}
            for each in error.errors(include_url=False, include_context=False)
        ]
        return cls(error.title, found)

    def restore(self) -> ValidationError:
        """The exception."""
        lines = [
            InitErrorDetails(
                type=PydanticCustomError(each["type"], "{message}", {"message": each["msg"]}),
                loc=tuple(each["loc"]),
                input=each["input"],
            )
            for each in self.details
        ]
        return ValidationError.from_exception_data(self.title, lines)
