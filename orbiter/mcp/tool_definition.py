"""A tool as its server describes it, with a digest by which a change is known, and the difference in words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from difflib import unified_diff
from typing import Any
from urllib.parse import quote

from orbiter.mcp.foreign_text import MAX_DESCRIPTION_CHARS, clean_line, clean_schema, clean_text

MAX_NAME_CHARS = 128
"""Characters of a tool's name. The protocol recommends letters, digits, `_`, `-` and `.`; servers use others, too."""
MAX_SCHEMA_CHARS = 200_000
_MAX_DIFFERENCE_LINES = 80
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool of a server.

    Args:
        name: The server's own name for it.
        description: What a model is told, cleaned.
        schema: The JSON schema of its arguments, its texts cleaned.
        digest: Of name, description and schema as the server sent them.
        hints: What the server says of its behaviour: shown to people, believed by nothing here.
    """

    name: str
    description: str
    schema: dict[str, Any]
    digest: str
    hints: dict[str, bool] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As it is recorded."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ToolDefinition:
        """From what `to_json` wrote."""
        return cls(**{name: data[name] for name in cls.__dataclass_fields__ if name in data})


def read_definition(tool: Mapping[str, Any]) -> ToolDefinition | None:
    """The definition of a tool (`mcp_types.Tool` as JSON); None for one that cannot be called: its name is empty, too
    long or cannot be shown as it is, or its schema is too large or not one of an object.
    """
    name, schema = str(tool.get("name", "")), tool.get("inputSchema")
    if not _is_name(name) or not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return None
    try:
        written = json.dumps([name, tool.get("description"), schema], sort_keys=True)
    except (ValueError, RecursionError):
        return None
    if len(written) > MAX_SCHEMA_CHARS:
        return None
    said = tool.get("annotations") or {}
    return ToolDefinition(
        name=name,
        description=clean_text(tool.get("description"), MAX_DESCRIPTION_CHARS),
        schema=clean_schema(schema),
        digest=hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest(),
        hints={hint: said[hint] for hint in _HINTS if isinstance(said.get(hint), bool)},
    )


def _is_name(name: str) -> bool:
    return 0 < len(name) <= MAX_NAME_CHARS and name.isprintable() and clean_line(name) == name


def plain_name(name: str) -> str:
    """A tool's name in permissions and in the names of steps: what stands for something there is written ``%20``."""
    return quote(name, safe="/")


def difference(was: ToolDefinition, now: ToolDefinition) -> str:
    """What changed, as a person reads it: lines that went begin with ``-``, lines that came with ``+``."""
    lines = [
        line
        for line in unified_diff(_lines(was), _lines(now), lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    if not lines:
        return "It differs only in characters that cannot be seen."
    more = len(lines) - _MAX_DIFFERENCE_LINES
    return "\n".join([*lines[:_MAX_DIFFERENCE_LINES], *([f"… {more} more lines"] if more > 0 else [])])


def _lines(tool: ToolDefinition) -> list[str]:
    schema = json.dumps(tool.schema, indent=2, ensure_ascii=False, sort_keys=True)
    return [*tool.description.splitlines(), *schema.splitlines()]
