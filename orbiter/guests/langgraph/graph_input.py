"""What a graph is given for a user's message, and what of its state is the output."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import PydanticUserError

from orbiter.errors import AgentError
from orbiter.guests.langgraph.messages import to_ours, to_theirs
from orbiter.guests.langgraph.model_call import usage_of
from orbiter.guests.typed_values import as_text
from orbiter.parsing.nesting import check_json
from orbiter.parsing.strict_json import load_json
from orbiter.types import Message, RunResult, Usage


class InputMismatch(AgentError):
    """A user's message is not what a graph takes.

    Attributes:
        schema: JSON schema of what it takes.
    """

    schema: dict[str, Any] | None = None


def graph_input(graph: Any, text: str, messages: Sequence[Message]) -> Any:
    """What the graph takes for a user's message, by its input's schema: messages; the fields of a JSON object; the one
    text that it takes.

    Raises:
        InputMismatch: It takes several fields, and the message is not a JSON object.
    """
    conversation = {"messages": [*to_theirs(messages), ("user", text)]}
    if _takes_messages(graph):
        return conversation
    schema = _input_schema(graph)
    fields = schema.get("properties", {}) if schema.get("type") == "object" else {}
    if "messages" in fields:
        return conversation
    try:
        check_json(text)
        given = load_json(text)
    except ValueError:
        given = text
    if isinstance(given, dict) or not fields:
        return given if fields or schema.get("type") not in ("string", None) else text
    wanted = schema.get("required") or list(fields)
    if len(wanted) > 1 and (texts := [each for each in wanted if fields[each].get("type") == "string"]):
        wanted = texts if len(texts) == 1 else wanted
    if len(wanted) == 1:
        return {wanted[0]: text if fields[wanted[0]].get("type") == "string" else given}
    raise InputMismatch(
        f"the graph takes {', '.join(map(repr, fields))}: write the input as a JSON object, for example"
        f" {json.dumps(dict.fromkeys(fields, '…'), ensure_ascii=False)}",
        suggestion="Write the input as a JSON object with the graph's fields.",
        schema=schema,
    )


def _takes_messages(graph: Any) -> bool:
    """Whether its input has messages, where that can be told without making a JSON schema, which takes long."""
    builder = getattr(graph, "builder", None)
    schemas = getattr(builder, "schemas", {})
    return "messages" in schemas.get(getattr(builder, "input_schema", None), ())


def _input_schema(graph: Any) -> dict[str, Any]:
    """The JSON schema of a graph's input. pydantic makes none of a `typing.TypedDict` before Python 3.12; then it has
    the names of the fields, and which of them are texts.
    """
    try:
        found: dict[str, Any] = graph.get_input_jsonschema()
    except PydanticUserError as exc:
        if exc.code != "typed-dict-version":
            raise
        hints = get_type_hints(graph.builder.input_schema)
        fields = {name: {"type": "string"} if hint is str else {} for name, hint in hints.items()}
        return {"type": "object", "properties": fields}
    return found


def run_result(state: Any, agent: str) -> RunResult:
    """The output of a graph: its structured response, else the text of its last message, else its state as JSON."""
    values = state if isinstance(state, Mapping) else getattr(state, "__dict__", {})
    messages = [each for each in values.get("messages", ()) if isinstance(each, BaseMessage)]
    parsed = values.get("structured_response")
    if parsed is not None:
        output = as_text(parsed)
    elif messages:
        output = messages[-1].text
    else:
        parsed = None if isinstance(state, str) else state
        output = as_text(state)
    used = usage_of([each.usage_metadata for each in messages if isinstance(each, AIMessage)])
    return RunResult(
        output=output, messages=to_ours(messages), usage=used or Usage(), steps=1, parsed=parsed, agent=agent
    )
