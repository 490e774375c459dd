"""What a tool returned, as the content of the message that a model gets."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from orbiter import types
from orbiter._internal.values.field_check import declaring_class, wrong_field
from orbiter.errors import ToolError
from orbiter.parsing.strict_json import dump_json

_BLOCKS = (
    types.TextBlock,
    types.ImageURLBlock,
    types.ImageDataBlock,
    types.AudioBlock,
    types.VideoBlock,
    types.DocumentBlock,
)

_SCALARS = (int, float, bool, type(None))
"""What tools return most beside text, seen before what takes longer to ask for."""


def result_content(value: Any) -> Any:
    """What a tool returned, as a message's content.

    Text and lists of content blocks stay; mappings, sequences, dataclasses and pydantic models become JSON, with
    numbers that JSON does not have as texts (``"NaN"``); anything else its `str`.

    Args:
        value: What the tool returned.

    Returns:
        What the model gets: text, or content blocks.

    Raises:
        ToolError: The value contains itself, or a content block has a field of another type.
    """
    if isinstance(value, str):
        return value
    if type(value) in _SCALARS:
        return str(value)
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, _BLOCKS) for item in value):
        for item in value:
            if (wrong := wrong_field(declaring_class(item), item)) is not None:
                raise ToolError(f"The tool returned a {type(item).__name__} that cannot be used: {wrong}")
        return list(value)
    if not (isinstance(value, (dict, list, tuple, set, frozenset, BaseModel)) or is_dataclass(value)):
        return str(value)
    try:
        return dump_json(to_jsonable_python(value, fallback=str))
    except ValueError as exc:
        raise ToolError(f"The tool's result cannot be written as JSON: {exc}") from exc
