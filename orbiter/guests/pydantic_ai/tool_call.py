"""A tool call as a step: what is recorded of it, and how it is changed by a decision.

A result names its call and has pydantic-ai's JSON of what the tool did: it returned, or it raised one of the exceptions
with which tools steer the framework (`ModelRetry`, `ApprovalRequired`, `CallDeferred`, `ToolFailed`). Those are
recorded as what they are and raised again by the framework. So is every exception where code of the agent's own is
told of it (a hook, a tool set around the tool's). Every other exception is a failure of the step. A model of pydantic
or a dataclass that a tool gives is recorded with its class, so that it is an object of it in every life.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from pydantic_ai.durable_exec import DurableOperation, ToolsetCallToolParams

from orbiter.ask import NeedsInput
from orbiter.guests.call_codec import CallCodec
from orbiter.guests.pydantic_ai.operation import handle
from orbiter.guests.raised_errors import RaisedError, keeping_error
from orbiter.guests.typed_values import as_class, as_json, class_of

_RETURNED = ("tool_return", "tool_content_result")
_NAMES = ("tool_name", "tool_call_id", "class", "raised")


@dataclass(slots=True, eq=False)
class ToolAsk:
    """One call of a tool. `arguments` are what the model gave, as JSON. `made`: it was called in this life. `handled`:
    code of the agent's own is told of a failure. `error` is what the tool raised in this life.
    """

    tool_name: str
    call_id: str
    arguments: dict[str, Any]
    operation: DurableOperation[Any, Any, Any] | None = None
    params: Any = None
    failure: str = ""
    question: NeedsInput | None = None
    made: bool = False
    handled: bool = False
    error: Exception | None = None

    def name_result(self, outcome: Any, given: Any = None) -> dict[str, Any]:
        """A result with the call to which it belongs, and the class of what the tool gave."""
        named = {"tool_name": self.tool_name, "tool_call_id": self.call_id, "outcome": outcome}
        found = class_of(given)
        return {**named, "class": found} if found else named


def json_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call as JSON; what has no such form as text."""
    found: dict[str, Any] = as_json(dict(arguments))
    return found


async def call_tool(ask: ToolAsk) -> Any:
    """What the tool did.

    Raises:
        NeedsInput: The call is not carried out by a tool: a person has to give its result.
    """
    ask.made = True
    if ask.operation is None:
        assert ask.question is not None
        raise ask.question
    with keeping_error(ask):
        done = await handle(ask.operation, ask.params)
    return ask.name_result(ask.operation.result_codec.dump(done), getattr(done, "result", None))


def error_of_call(made: tuple[ToolAsk, Mapping[str, Any]]) -> Exception | None:
    """What the tool raised, where the agent's own code is told of it; None of every other outcome."""
    ask, result = made
    return (ask.error or RaisedError(**result["raised"]).restore()) if "raised" in result else None


def outcome_of(ask: ToolAsk, result: Mapping[str, Any]) -> Any:
    """What pydantic-ai is given of a result."""
    assert ask.operation is not None
    done = ask.operation.result_codec.load(result["outcome"])
    if "class" in result and result["outcome"].get("kind") in _RETURNED:
        done.result = as_class(result["class"], done.result)
    return done


class ToolCallCodec(CallCodec[ToolAsk, Any]):
    """Arguments and results of tool calls. pydantic-ai ends the run at an exception that does not steer it."""

    def _with_arguments(self, arguments: ToolAsk, given: dict[str, Any]) -> ToolAsk:
        """Other arguments, checked as the model's are."""
        params = arguments.params
        if params is not None:
            taken = given
            if isinstance(params, ToolsetCallToolParams) and params.tool is not None:
                taken = params.tool.args_validator.validate_python(taken, context=params.ctx.validation_context)
            params = replace(params, tool_args=taken)
        return replace(arguments, arguments=given, params=params)

    def dump(self, result: Any) -> Any:
        """What is a result or an error stands at the top, as in our own results, and only there."""
        outcome = dict(result["outcome"])
        found = {name: result[name] for name in _NAMES if name in result}
        if outcome.get("kind") in _RETURNED:
            value = outcome.pop("result", None)
            found["content"] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            found["json"] = not isinstance(value, str)
        elif "message" in outcome:
            found["error"] = outcome.pop("message")
        return {**found, "outcome": outcome}

    def load(self, value: Any) -> Any:
        outcome = dict(value["outcome"])
        if "content" in value:
            outcome["result"] = json.loads(value["content"]) if value["json"] else value["content"]
        elif "error" in value:
            outcome["message"] = value["error"]
        return {**{name: value[name] for name in _NAMES if name in value}, "outcome": outcome}

    def _told_anyway(self, arguments: ToolAsk, exc: Exception) -> Any:
        """The exception, where code of the agent's own is told of it."""
        if not arguments.handled:
            return None
        raised = RaisedError.of(exc)
        return {**arguments.name_result({"kind": "raised", "message": raised.text}), "raised": asdict(raised)}

    def _failed(self, arguments: ToolAsk, message: str) -> Any:
        return arguments.name_result({"kind": "tool_failed", "message": message})

    def by_hand(self, arguments: ToolAsk, value: Any) -> Any:
        kind = "tool_content_result" if isinstance(value, dict) and value.get("kind") == "tool-return" else _RETURNED[0]
        return arguments.name_result({"kind": kind, "result": value})


TOOL_CALL = ToolCallCodec()
