"""The output parser: from a provider's reply to the output of an agent (seed 001, "Output Parser").

A provider may be user code, and what it returns goes into the journal and into other requests: it is checked here.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic import ValidationError as PydanticValidationError

from orbiter._internal.values.field_check import first_error
from orbiter._internal.values.frozen import build_checked
from orbiter.errors import ModelError, OutputParseError
from orbiter.parsing.nesting import is_deeper
from orbiter.parsing.strict_json import load_json
from orbiter.text_encoding import drop_surrogates, drop_surrogates_in, plain_text
from orbiter.types import NO_USAGE, ActionModel, AgentOutput, ToolCall, Usage

__all__ = [
    "OutputParseError",
    "arguments_object",
    "parse_response",
    "parse_structured_output",
    "parse_tool_arguments",
    "parse_tool_call",
    "read_arguments",
]

MAX_ARGUMENT_NESTING = 100
"""How deeply the arguments of a call may be nested: what carries them further, and writes them down, has limits of its
own (pydantic reads 200 levels), and no tool needs more.
"""
UNUSABLE: Final = (AttributeError, TypeError, ValueError, RecursionError)
"""What reading a reply raises that is not of the form of a `ModelResponse`, or pieces that are no `StreamChunk`."""
_EXAMPLE: Final = 'ModelResponse(content="Yes")'
_BLANK: Final = vars(AgentOutput.model_construct())
_NAMED: Final = {"text", "tool_calls", "usage"}
_FENCED = re.compile(r"\A\s*```[\w-]*[ \t]*\r?\n(.*?)\r?\n?[ \t]*```\s*\Z", re.DOTALL)


def unusable_reply(model: str, why: object) -> ModelError:
    """The failure of a call whose reply cannot be used.

    Args:
        model: The model string.
        why: What is wrong with the reply, or what reading it raised.
    """
    return ModelError(
        f"The provider's reply cannot be used: {error_words(why)}",
        model=model,
        provider=model.partition(":")[0],
        code="unusable_reply",
        type="unusable_reply",
        where="response",
        hint=f"complete() of a provider returns orbiter.models.{_EXAMPLE}; stream() yields StreamChunk objects",
    )


def error_words(why: object) -> str:
    """What an error says; of several that pydantic found, the first."""
    return first_error(why) if isinstance(why, PydanticValidationError) else str(why)


def reply_output(response: Any) -> AgentOutput:
    """What an agent works with of a reply: only `content`, `tool_calls` and `usage` must be there.

    Raises:
        TypeError: One of them is of another kind.
        Exception: Of `UNUSABLE`.
    """
    calls: tuple[Any, ...]
    try:
        content, calls, usage = response.content, tuple(response.tool_calls or ()), response.usage
    except AttributeError as exc:
        raise TypeError(f"{reprlib.repr(response)} has no {exc.name}; return {_EXAMPLE}") from exc
    if content is not None and not isinstance(content, str):
        raise TypeError(f"its content must be a text; got {reprlib.repr(content)}")
    for call in calls:
        usual = type(call) is ToolCall and type(call.id) is type(call.name) is type(call.arguments) is str
        if not usual and (wrong := _said_of_call(call)) is not None:
            raise TypeError(wrong)
    values = _BLANK.copy()
    values["text"] = plain_text(content or "")
    values["tool_calls"] = [_encodable_call(call) for call in calls]
    values["usage"] = _counted(usage)
    return build_checked(AgentOutput, values, _NAMED)


def _said_of_call(call: Any) -> str | None:
    """What is wrong with a tool call; None: nothing is."""
    if not isinstance(call, ToolCall):
        return f"its tool_calls must be orbiter.ToolCall objects; got {reprlib.repr(call)}"
    texts: tuple[object, object, object] = (call.id, call.name, call.arguments)
    for name, value in zip(("id", "name", "arguments"), texts, strict=True):
        if not isinstance(value, str):
            kind = "a JSON text" if name == "arguments" else "a text"
            return f"{name} of a tool call must be {kind}; got {reprlib.repr(value)}"
    return None


def _counted(usage: Any) -> Usage:
    """Tokens as whole numbers, none of them negative: budgets count them."""
    if usage is None:
        return NO_USAGE
    given = usage
    if isinstance(usage, Usage):
        given = usage.__dict__
        for count in given.values():
            if type(count) is not int or count < 0:
                break
        else:
            return usage
    if not isinstance(given, Mapping):
        raise TypeError(f"its usage must be an orbiter.Usage; got {reprlib.repr(usage)}")
    counts = Usage.model_validate(dict(given))
    return Usage(**{name: max(0, count) for name, count in counts.__dict__.items()})


def reply_data(response: Any) -> dict[str, Any] | None:
    """What the provider wants back with the conversation, if anything.

    Raises:
        TypeError: It is not JSON.
        Exception: Of `UNUSABLE`.
    """
    data = getattr(response, "provider_data", None)
    if not isinstance(data, dict):
        return None
    if not all(isinstance(name, str) for name in data):
        raise TypeError(f"the keys of its provider_data must be texts; got {reprlib.repr(list(data))}")
    if why := json_problem(data):
        raise TypeError(f"its provider_data must be JSON: {why}")
    mended: dict[str, Any] = drop_surrogates_in(data)
    return mended


def parse_response(*, content: str | None, tool_calls: Sequence[ToolCall] | None, usage: Usage | None) -> AgentOutput:
    """A reply's fields as the agent's output; a provider may leave any of them empty."""
    calls = [_encodable_call(call) for call in tool_calls] if tool_calls else []
    return AgentOutput(text=drop_surrogates(content or ""), tool_calls=calls, usage=usage or NO_USAGE)


def _encodable_call(call: ToolCall) -> ToolCall:
    if call.arguments.isascii() and call.name.isascii() and call.id.isascii():
        return call
    return call.model_copy(update={name: drop_surrogates(getattr(call, name)) for name in ("id", "name", "arguments")})


def parse_tool_call(call: ToolCall) -> ActionModel:
    """One call with its arguments parsed.

    Raises:
        OutputParseError: As `read_arguments`.
    """
    return ActionModel(tool_call_id=call.id, tool_name=call.name, arguments=read_arguments(call))


def read_arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call; blank ones count as none.

    Raises:
        OutputParseError: They are not JSON (NaN and Infinity are not), not a JSON object, or nested too deep.
    """
    text = call.arguments
    if not text or text.isspace():
        return {}
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
    usable: dict[str, Any] = drop_surrogates_in(arguments)
    return usable


def arguments_object(call: ToolCall, unfit: str = "invalid_json") -> dict[str, Any]:
    """The arguments of a call as the object in which others want them; arguments that `read_arguments` refuses are in
    it as the model wrote them, so that it sees its mistake.

    Args:
        call: The call.
        unfit: The name of those that are JSON, and no object or nested too deep.
    """
    try:
        return read_arguments(call)
    except OutputParseError as exc:
        return {"invalid_json" if isinstance(exc.__cause__, ValueError) else unfit: call.arguments}


def is_too_deep(text: str, arguments: Any) -> bool:
    """Whether arguments, and the text that they were, are nested beyond `MAX_ARGUMENT_NESTING`."""
    return text.count("{") + text.count("[") > MAX_ARGUMENT_NESTING and is_deeper(arguments, MAX_ARGUMENT_NESTING)


def json_problem(value: Any) -> str:
    """Why a value cannot be written as JSON and read again; empty where it can."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError) as exc:
        return str(exc)
    return f"it is nested deeper than {MAX_ARGUMENT_NESTING} levels" if is_too_deep(text, value) else ""


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
