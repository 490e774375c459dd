"""The schema of a structured reply, as providers want it."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from pydantic import BaseModel


def reply_schema(output_type: type[BaseModel]) -> tuple[dict[str, Any], bool]:
    """A model's JSON schema, and whether it keeps the rules of strict mode.

    Strict mode (OpenAI, "Structured outputs", supported schemas; Anthropic alike) wants every object closed
    (`additionalProperties: false`) and every property required. Objects with free keys cannot be closed: such a schema
    is handed out as it is, not strict.
    """
    schema = output_type.model_json_schema()
    strict = deepcopy(schema)
    return (strict, True) if _close(strict) else (schema, False)


def schema_in_words(output_type: type[BaseModel]) -> str:
    """The demand for a structured reply as an instruction, for models that take no schema."""
    schema = json.dumps(output_type.model_json_schema(), ensure_ascii=False)
    return f"Your final answer must be one JSON object and nothing else, valid under this JSON schema:\n{schema}"


def _close(node: Any) -> bool:
    """Close every object in a schema, in place; False if one cannot be closed."""
    if isinstance(node, list):
        return all(_close(each) for each in node)
    if not isinstance(node, dict):
        return True
    if node.get("type") == "object" or "properties" in node:
        if node.get("additionalProperties") not in (None, False) or "properties" not in node:
            return False
        node["additionalProperties"] = False
        node["required"] = list(node["properties"])
    node.pop("default", None)
    for key in ("properties", "$defs"):
        if not all(_close(each) for each in node.get(key, {}).values()):
            return False
    rest = [value for key, value in node.items() if key not in {"properties", "$defs", "enum", "const", "required"}]
    return all(_close(each) for each in rest)
