"""The output parser: from a model's text to the output of an agent (seed 001, "Output Parser")."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic import ValidationError as PydanticValidationError

from orbiter.errors import OutputParseError
from orbiter.parsing.strict_json import load_json
from orbiter.text_encoding import drop_surrogates, drop_surrogates_in
from orbiter.types import NO_USAGE, ActionModel, AgentOutput, ToolCall, Usage

__all__ = [
    "OutputParseError",
    "parse_response",
    "parse_structured_output",
    "parse_tool_arguments",
    "parse_tool_call",
]

MAX_ARGUMENT_NESTING = 100
"""How deeply the arguments of a call may be nested: what carries them further, and writes them down, has limits of its
own (pydantic reads 200 levels), and no tool needs more.
"""
_FENCED = re.compile(r"\A\s*```[\w-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\s*\Z", re.DOTALL)


def parse_response(*, content: str | None, tool_calls: Sequence[ToolCall] | None, usage: Usage | None) -> AgentOutput:
    """A reply's fields as the agent's output; a provider may leave any of them empty."""
    calls = [call if call.arguments.isascii() else _encodable_call(call) for call in tool_calls] if tool_calls else []
    return AgentOutput(text=drop_surrogates(content or ""), tool_calls=calls, usage=usage or NO_USAGE)


def _encodable_call(call: ToolCall) -> ToolCall:
    return call.model_copy(update={"arguments": drop_surrogates(call.arguments)})


def parse_tool_call(call: ToolCall) -> ActionModel:
    """One call with its arguments parsed; blank arguments count as none.

    Raises:
        OutputParseError: The arguments are not JSON (NaN and Infinity are not), not a JSON object, or nested too deep.
    """
    text = call.arguments
    if not text or text.isspace():
        return ActionModel(tool_call_id=call.id, tool_name=call.name)
    try:
        arguments = load_json(text)
    except (ValueError, RecursionError) as exc:
        raise OutputParseError(f"Invalid JSON in arguments for tool '{call.name}': {exc}", raw=text) from exc
    if not isinstance(arguments, dict):
        kind = type(arguments).__name__
        raise OutputParseError(f"Tool '{call.name}' arguments must be a JSON object, got {kind}", raw=text)
    if is_too_deep(text, arguments):
        raise OutputParseError(
            f"Tool '{call.name}' arguments are nested deeper than {MAX_ARGUMENT_NESTING} levels", raw=text
        )
    return ActionModel(tool_call_id=call.id, tool_name=call.name, arguments=drop_surrogates_in(arguments))


def is_too_deep(text: str, arguments: Any) -> bool:
    """Whether arguments, and the text that they were, are nested beyond `MAX_ARGUMENT_NESTING`."""
    return text.count("{") + text.count("[") > MAX_ARGUMENT_NESTING and _deeper(arguments, MAX_ARGUMENT_NESTING)


def _deeper(value: Any, left: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not left or any(_deeper(each, left - 1) for each in inner)


def parse_tool_arguments(tool_calls: Sequence[ToolCall]) -> list[ActionModel]:
    """All calls with their arguments parsed.

    Raises:
        OutputParseError: As `parse_tool_call`, for the first call that cannot be parsed.
    """
    return [parse_tool_call(call) for call in tool_calls]


def parse_structured_output(text: str, output_type: Any) -> Any:
    """The text as an instance of `output_type`; a Markdown code fence around the whole is taken off.

    Raises:
        OutputParseError: The text is not JSON, or does not fit the type.
    """
    fenced = _FENCED.match(text)
    body = fenced.group(1) if fenced else text
    try:
        json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise OutputParseError(f"Structured output is not valid JSON: {exc}", raw=text, expected=output_type) from exc
    try:
        # From the text, not from the parsed value: strict models take dates, enums and tuples from JSON only.
        return TypeAdapter(output_type).validate_json(body)
    except PydanticValidationError as exc:
        name = getattr(output_type, "__name__", str(output_type))
        raise OutputParseError(
            f"Structured output failed {name} validation: {exc}", raw=text, expected=output_type
        ) from exc
