"""A tool call as a step: what is recorded of it, and how it is changed by a decision.

The step is where the tool itself is called, inside of all middleware: with the arguments that a reviewer changed, and
once, whatever retries there are around it. A tool gives a message for the model, or a command that changes the state,
or it asks with `interrupt()`, which is recorded as what it is and raised again. So is what LangChain raises of
arguments that do not fit (`wrong_arguments`), and every failure of a call around which the agent has middleware of its
own. Every other exception is a failure of the step.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeGuard

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.errors import GraphInterrupt, is_invalid_resume
from langgraph.types import Command
from pydantic import BaseModel, ValidationError

from orbiter.guests.call_codec import CallCodec
from orbiter.guests.langgraph.life import entered
from orbiter.guests.langgraph.messages import dump_message, load_message
from orbiter.guests.langgraph.packed_values import pack, unpack
from orbiter.guests.langgraph.state_writes import StateWrites
from orbiter.guests.langgraph.wrong_arguments import WrongArguments
from orbiter.guests.raised_errors import RaisedError
from orbiter.guests.typed_values import as_json, as_text

Outcome = ToolMessage | Command[Any] | list[ToolMessage | Command[Any]]


@dataclass(slots=True, frozen=True)
class Asked:
    """It asked. `questions` are pairs of a value and the schema of its answer."""

    questions: tuple[tuple[Any, Any], ...]


@dataclass(slots=True, frozen=True)
class Told:
    """It gave this."""

    outcome: Outcome


@dataclass(slots=True, frozen=True)
class Raised:
    """Its arguments did not fit, of which the model is told; or it failed, of which the agent's middleware is told."""

    error: WrongArguments | RaisedError


@dataclass(slots=True, frozen=True)
class Done:
    """What the call of this name and id did, and wrote to the state by itself. One that asked is made again, and writes
    again.
    """

    name: str
    call_id: str
    did: Asked | Told | Raised
    written: tuple[tuple[str, Any], ...] = ()


@dataclass(slots=True, eq=False)
class ToolAsk:
    """One call of a tool. `given` is what the framework adds to the arguments. `raised` has the interrupt with which it
    asked in this life, `written` what it wrote to the state by itself. `handled`: middleware of the agent's own is told
    of a failure. `error` is what the tool raised in this life.
    """

    tool: BaseTool
    call_id: str
    arguments: dict[str, Any]
    given: dict[str, Any]
    config: RunnableConfig | None
    failure: str = ""
    handled: bool = False
    raised: list[GraphInterrupt] = field(default_factory=list)
    written: StateWrites = field(default_factory=StateWrites)
    error: Exception | None = None

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    def done(self, did: Asked | Told | Raised) -> Done:
        """What the call did, with its name and id and what it wrote."""
        return Done(self.name, self.call_id, did, () if isinstance(did, Asked) else tuple(self.written.made))


def split_arguments(tool: BaseTool, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the model gave, and what the framework added: the state, the runtime."""
    shown = tool.tool_call_schema
    declared = tool.args_schema
    added: set[str] = set(tool._injected_args_keys)
    if _is_model(shown) and _is_model(declared):
        added |= set(declared.model_fields) - set(shown.model_fields)
    told = {name: value for name, value in arguments.items() if name not in added}
    return as_json(told), {name: arguments[name] for name in arguments if name in added}


def _is_model(schema: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(schema, type) and issubclass(schema, BaseModel)


def arguments_schema(tool: Any) -> dict[str, Any] | None:
    """JSON schema of what a model may give a tool; None where it is not known."""
    schema = getattr(tool, "tool_call_schema", None)
    if _is_model(schema):
        return schema.model_json_schema()
    return schema if isinstance(schema, dict) else None


async def call_tool(ask: ToolAsk) -> Done:
    """What the tool did. What it runs itself is part of this one step.

    Raises:
        Exception: What the tool raises.
    """
    try:
        with entered(None):
            call = {"name": ask.name, "args": {**ask.arguments, **ask.given}, "id": ask.call_id, "type": "tool_call"}
            outcome = await ask.tool.ainvoke(call, ask.written.watch(ask.config))
    except GraphInterrupt as exc:
        ask.raised.append(exc)
        return ask.done(Asked(tuple((each.value, each.response_schema) for each in exc.args[0])))
    except Exception as exc:
        ask.error = exc
        raise
    return ask.done(Told(outcome))


class ToolCallCodec(CallCodec[ToolAsk, Done]):
    """Arguments and results of tool calls. LangChain ends the run at an exception of a tool."""

    def dump(self, result: Done) -> Any:
        """What is a result or an error stands at the top, as in our own results, and only there."""
        found: dict[str, Any] = {"tool_name": result.name, "tool_call_id": result.call_id}
        did = result.did
        if isinstance(did, Asked):
            return {**found, "content": "asked with interrupt()", "asked": [pack(each) for each in did.questions]}
        if result.written:
            found["written"] = pack(result.written)
        if isinstance(did, Raised):
            error = did.error
            said = error.text if isinstance(error, RaisedError) else str(error.restore())
            return {**found, "error": said, "raised": asdict(error)}
        outcome = did.outcome
        if not isinstance(outcome, ToolMessage):
            return {**found, "content": _said(outcome), "command": pack(outcome)}
        message = dump_message(outcome)
        key = "error" if outcome.status == "error" else "content"
        as_json = not isinstance(message["content"], str)
        said = message.pop("content")
        found[key] = json.dumps(said, ensure_ascii=False) if as_json else said
        return {**found, "json": as_json, "message": message}

    def load(self, value: Any) -> Done:
        written = tuple((channel, each) for channel, each in unpack(value["written"])) if "written" in value else ()
        return Done(value["tool_name"], value["tool_call_id"], self._load_did(value), written)

    def _load_did(self, value: Any) -> Asked | Told | Raised:
        if "asked" in value:
            return Asked(tuple((asked, schema) for asked, schema in map(unpack, value["asked"])))
        if "raised" in value:
            raised = value["raised"]
            return Raised(RaisedError(**raised) if "classes" in raised else WrongArguments(**raised))
        outcome: Any
        if "command" in value:
            outcome = unpack(value["command"])
        else:
            said = value["error"] if "error" in value else value["content"]
            outcome = load_message({**value["message"], "content": json.loads(said) if value["json"] else said})
        return Told(outcome)

    def _told_anyway(self, arguments: ToolAsk, exc: Exception) -> Done | None:
        """LangChain tells the model of arguments that do not fit, and the agent's middleware of every failure."""
        if is_invalid_resume(exc) or not (arguments.handled or isinstance(exc, ValidationError)):
            return None
        error = WrongArguments.of(exc) if isinstance(exc, ValidationError) else RaisedError.of(exc)
        return arguments.done(Raised(error))

    def _failed(self, arguments: ToolAsk, message: str) -> Done:
        return self._told(arguments, message, "error")

    def by_hand(self, arguments: ToolAsk, value: Any) -> Done:
        return self._told(arguments, as_text(value))

    def _told(self, ask: ToolAsk, text: str, status: Any = "success") -> Done:
        message = ToolMessage(text, tool_call_id=ask.call_id, name=ask.name, status=status)
        return ask.done(Told(message))


TOOL_CALL = ToolCallCodec()


def _said(outcome: Any) -> str:
    """The text of what a command tells the model."""
    commands: Sequence[Any] = outcome if isinstance(outcome, list) else [outcome]
    texts: list[str] = []
    for each in commands:
        update = each.update if isinstance(each, Command) else {"messages": [each]}
        told = update.get("messages", ()) if isinstance(update, Mapping) else ()
        texts.extend(message.text for message in told if isinstance(message, ToolMessage))
    return "\n".join(texts)
