"""Structured output as instructions, for providers that have no parameter for it."""

from __future__ import annotations

import json

from pydantic import BaseModel


def format_instructions(instructions: str, output_type: type[BaseModel]) -> str:
    """Instructions with the JSON schema of the final answer added."""
    schema = json.dumps(output_type.model_json_schema(), ensure_ascii=False)
    asked = f"Give your final answer as one JSON object that fits this JSON schema, and nothing else:\n{schema}"
    return f"{instructions}\n\n{asked}" if instructions else asked
