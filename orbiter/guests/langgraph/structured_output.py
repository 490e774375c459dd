"""Structured responses as JSON, and back as the type that the agent declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from orbiter.guests.typed_values import as_json


def dump_structured(value: Any) -> dict[str, Any] | None:
    """A structured response, and the name of its class; None for none."""
    if value is None:
        return None
    return {"class": type(value).__name__, "value": as_json(value)}


def load_structured(dumped: Mapping[str, Any] | None, response_format: Any) -> Any:
    """The response as an object of the class that `response_format` declares.

    Raises:
        pydantic.ValidationError: The class has been changed, and the recorded response does not fit it.
    """
    if dumped is None:
        return None
    schema = _schema(response_format, dumped["class"])
    if schema is None or isinstance(schema, Mapping):
        return dumped["value"]
    return TypeAdapter(schema).validate_python(dumped["value"])


def _schema(response_format: Any, name: str) -> Any:
    """The declared schema; of several, the one of that name."""
    declared = getattr(response_format, "schema", response_format)
    several = [each.schema for each in getattr(response_format, "schema_specs", ())]
    return next((each for each in several if getattr(each, "__name__", "") == name), declared)
