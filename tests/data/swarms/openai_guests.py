"""Agents of the OpenAI Agents SDK for the runtime's tests, each on the SDK's own scripted model.

Each tool call leaves a line in the file that $ORBITER_TEST_EFFECTS names.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
from agents import (
    Agent,
    FunctionTool,
    GuardrailFunctionOutput,
    InputGuardrail,
    ModelResponse,
    OutputGuardrail,
    RunConfig,
    RunContextWrapper,
    Runner,
    SQLiteSession,
    Usage,
    WebSearchTool,
    function_tool,
    handoff,
)
from agents.mcp import MCPServer
from agents.testing import ModelCall, ModelStep, ScriptedModel, assistant_message, function_call
from mcp.types import CallToolResult, TextContent, Tool
from openai import AuthenticationError
from openai.types.responses import ResponseFunctionToolCall
from pydantic import BaseModel

from orbiter import Swarm
from orbiter.guests import guest

Reply = str | list[ResponseFunctionToolCall] | Exception


def effect(text: str) -> None:
    with Path(os.environ["ORBITER_TEST_EFFECTS"]).open("a", encoding="utf-8") as world:
        world.write(f"{text}\n")


class Scripted(ScriptedModel):
    """The SDK's scripted model, in which the number of a reply is read from the conversation: a later life may ask for
    the second first.
    """

    def __init__(self, name: str, *replies: Reply | Callable[[list[Any]], Reply]) -> None:
        super().__init__()
        self.model = name
        self._replies = replies

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        self.enqueue(ModelStep.respond(self._reply))
        return await super().get_response(*args, **kwargs)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        self.enqueue(ModelStep.respond(self._reply))
        return super().stream_response(*args, **kwargs)

    def _reply(self, call: ModelCall) -> Any:
        items = [{"role": "user", "content": call.input}] if isinstance(call.input, str) else call.input
        mine = [each.tool_name for each in call.handoffs]
        reply = self._replies[len({self._turn_of(each) for each in items if self._said(each, mine)})]
        if callable(reply):
            reply = reply(items)
        effect(f"look {self.model}")
        if isinstance(reply, Exception):
            return reply
        output = [assistant_message(reply)] if isinstance(reply, str) else list(reply)
        return ModelStep(output=output, usage=Usage(requests=1, input_tokens=20, output_tokens=5, total_tokens=25))

    def _said(self, item: Any, handoffs: list[str]) -> bool:
        """Whether this model said it: the calls' ids begin with its name."""
        return str(item.get("call_id", "")).startswith(f"{self.model}.") and item.get("type") == "function_call"

    @staticmethod
    def _turn_of(item: Any) -> str:
        return str(item["call_id"]).split(".")[1]


def call(name: str, call_id: str, **arguments: object) -> ResponseFunctionToolCall:
    """A call; its id is `MODEL.TURN.NUMBER`."""
    found = function_call(name, dict(arguments), call_id=call_id)
    assert isinstance(found, ResponseFunctionToolCall)
    return found


def results(items: list[Any]) -> str:
    """What the tools said to the latest request, and who else said something since."""
    found: list[str] = []
    for item in reversed(items):
        if item.get("type") == "function_call_output":
            found.append(str(item["output"]))
        elif item.get("role") == "user":
            found.append(str(item["content"]))
        else:
            break
    return "; ".join(reversed(found))


plain = Agent("", model=Scripted("plain", lambda items: f"you said {results(items)}"))


@function_tool
async def note(text: str) -> str:
    """Write a line into the world. Those that begin first end last."""
    for _ in range(3 - int(text[1:])):
        await asyncio.sleep(0.002)
    effect(f"note {text}")
    return f"noted {text}"


@function_tool
def look(what: str) -> dict[str, str]:
    """Look at something; may be repeated."""
    effect(f"look {what}")
    return {"seen": what}


parallel = guest(
    Agent(
        "parallel",
        model=Scripted(
            "m",
            [call("note", f"m.0.{n}", text=f"p{n}") for n in range(3)] + [call("look", "m.0.9", what="p")],
            lambda items: f"three notes: {results(items)}",
        ),
        tools=[note, look],
    ),
    tools={"look": {"idempotent": True}},
)


def _reverse() -> Agent:
    """Three calls of one reply: each ends after the one behind it."""
    ended = [asyncio.Event() for _ in range(4)]
    ended[3].set()

    @function_tool
    async def note(text: str) -> str:
        """Write a line into the world."""
        number = int(text[1:])
        await ended[number + 1].wait()
        effect(f"note {text}")
        ended[number].set()
        return f"noted {text}"

    model = Scripted(
        "m",
        [call("note", f"m.0.{n}", text=f"p{n}") for n in range(3)] + [call("look", "m.0.9", what="p")],
        lambda items: f"three notes: {results(items)}",
    )
    return Agent("reverse", model=model, tools=[note, look])


reverse = guest(_reverse, name="reverse", tools={"look": {"idempotent": True}})


class Bill(BaseModel):
    """What the agent gives."""

    total: int
    paid: list[str]


@function_tool(needs_approval=True)
def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    effect(f"note paid {to} {amount}")
    return f"paid {to} {amount}"


@function_tool
def balance(ctx: RunContextWrapper[int]) -> int:
    """What is there."""
    effect("note balance")
    return ctx.context


bank = Agent[int](
    "bank",
    model=Scripted(
        "m",
        [call("pay", "m.0.0", to="ann", amount=1), call("pay", "m.0.1", to="bob", amount=2), call("balance", "m.0.2")],
        '{"total": 3, "paid": ["ann", "bob"]}',
    ),
    tools=[pay, balance],
    output_type=Bill,
)
banker = guest(bank, context=lambda: 100)


@function_tool(failure_error_function=None)
def reach(host: str) -> str:
    """Fails, and the SDK ends the run."""
    effect(f"reach {host}")
    if host == "up":
        return "reached up"
    raise ConnectionRefusedError(111, f"connection to {host} refused")


broken = Agent(
    "broken",
    model=Scripted("m", [call("reach", "m.0.0", host="h")], lambda items: f"went on: {results(items)}"),
    tools=[reach],
)


@function_tool
def stumble(step: int) -> str:
    """Fails, and the SDK tells the model."""
    effect(f"note stumbled {step}")
    raise ValueError("mind the step")


@function_tool(timeout=0.01)
async def dawdle() -> str:
    """Takes too long."""
    await asyncio.sleep(60)
    return "at last"


async def _take(context: Any, arguments: str) -> str:
    effect(f"note took {len(arguments)}")
    return "taken"


def _odd_call(name: str, call_id: str, arguments: str) -> ResponseFunctionToolCall:
    return call(name, call_id).model_copy(update={"arguments": arguments})


odd_arguments = Agent(
    "odd_arguments",
    model=Scripted(
        "m",
        [
            _odd_call("stumble", "m.0.0", '{"step": NaN}'),
            _odd_call("stumble", "m.0.1", f'{{"step": {"[" * 150}{"]" * 150}}}'),
            _odd_call("stumble", "m.0.2", "{broken"),
        ],
        lambda items: f"heard: {results(items)}",
    ),
    tools=[stumble],
)
taking = Agent(
    "taking",
    model=Scripted("m", [_odd_call("take", "m.0.0", '{"seats": Infinity}')], "done"),
    tools=[FunctionTool("take", "Takes it.", {"type": "object", "properties": {}}, _take, strict_json_schema=False)],
)
clumsy = Agent(
    "clumsy",
    model=Scripted(
        "m", [call("stumble", "m.0.0", step=1), call("dawdle", "m.0.1")], lambda items: f"heard: {results(items)}"
    ),
    tools=[stumble, dawdle],
)


def greet(ctx: RunContextWrapper[Any]) -> None:
    """What a handoff does besides."""
    effect("note welcomed")


refunds = Agent(
    "refunds",
    model=Scripted("r", [call("pay", "r.0.0", to="ann", amount=5)], lambda items: f"refunded: {results(items)}"),
    tools=[pay],
)
billing = Agent("billing", model=Scripted("b", [call("transfer_to_refunds", "b.0.0")]), handoffs=[refunds])
triage = Agent(
    "triage",
    model=Scripted("t", [call("transfer_to_billing", "t.0.0")]),
    handoffs=[handoff(billing, on_handoff=greet)],
)

reader = Agent(
    "reader",
    model=Scripted("r", [call("look", "r.0.0", what="page")], lambda items: f"read {results(items)}"),
    tools=[look],
)
research = Agent(
    "research",
    model=Scripted(
        "s",
        [
            call("read", "s.0.0", input="one"),
            call("read", "s.0.1", input="two"),
            call("ask_first", "s.0.2", input="three"),
        ],
        lambda items: f"found: {results(items)}",
    ),
    tools=[reader.as_tool("read", None), reader.as_tool("ask_first", None, needs_approval=True)],
)
researcher = guest(research, tools={"look": {"idempotent": True}})

judge = Agent("judge", model=Scripted("j", "fine"))


async def is_fine(ctx: RunContextWrapper[Any], agent: Agent[Any], input: Any) -> GuardrailFunctionOutput:
    """Asks another agent."""
    said = await Runner.run(judge, "Is this fine?")
    bad = "bad" in str(input)
    return GuardrailFunctionOutput(output_info=said.final_output, tripwire_triggered=bad)


def is_short(ctx: RunContextWrapper[Any], agent: Agent[Any], output: Any) -> GuardrailFunctionOutput:
    """Answers are short."""
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered=len(str(output)) > 40)


guarded = Agent(
    "guarded",
    model=Scripted("m", lambda items: f"you said {results(items)}"),
    input_guardrails=[InputGuardrail(is_fine)],
    output_guardrails=[OutputGuardrail(is_short)],
)

endless = guest(
    Agent(
        "endless",
        model=Scripted("m", *[[call("look", f"m.{n}.0", what=str(n))] for n in range(3)], "the end"),
        tools=[look],
    ),
    run_options={"max_turns": 2},
)


class ClosedSession(SQLiteSession):
    """Closed with its last reference: Python 3.13 warns of a connection that is not."""

    def __del__(self) -> None:
        self.close()


def session() -> SQLiteSession:
    """Beside the effects."""
    return ClosedSession("one", str(Path(os.environ["ORBITER_TEST_EFFECTS"]).with_name("sessions.db")))


remembering = guest(
    Agent("remembering", model=Scripted("m", lambda items: f"{len(items)} items: {results(items)}")), session=session
)

twice = Swarm(
    agents=[
        remembering,
        guest(
            Agent("again", model=Scripted("n", lambda items: f"{len(items)} items: {results(items)}")), session=session
        ),
    ]
)


def refuse(items: list[Any]) -> Reply:
    """A model whose key is wrong."""
    answer = httpx2.Response(401, request=httpx2.Request("POST", "http://localhost/responses"))
    return AuthenticationError("bad key", response=answer, body={"code": "invalid_api_key"})


switching = guest(
    Agent("switching", model=Scripted("refusing", refuse)), models={"spare": Scripted("spare", "the spare one")}
)


class Notes(MCPServer):
    """A server of tools, in this process."""

    name = "notes"

    async def connect(self) -> None:
        """It is there."""

    async def cleanup(self) -> None:
        """It stays."""

    async def list_tools(self, run_context: Any = None, agent: Any = None) -> list[Tool]:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        return [Tool.model_validate({"name": "jot", "inputSchema": schema})]

    async def call_tool(self, tool_name: str, arguments: Any, meta: Any = None) -> CallToolResult:
        effect(f"note {tool_name} {arguments['text']}")
        return CallToolResult(content=[TextContent(type="text", text=f"noted {arguments['text']}")])

    async def list_prompts(self) -> Any:
        raise NotImplementedError

    async def get_prompt(self, name: str, arguments: Any = None) -> Any:
        raise NotImplementedError


jotting = Agent(
    "jotting",
    model=Scripted("m", [call("jot", "m.0.0", text="tea")], lambda items: f"heard: {results(items)}"),
    mcp_servers=[Notes(require_approval="always")],
)


async def listen(event: Any) -> None:
    """Takes the events of an agent that is a tool."""
    kind = getattr(event["event"], "name", "")
    if kind:
        effect(f"note {kind}")


@function_tool
async def consult(topic: str) -> str:
    """Runs another agent."""
    return str((await Runner.run(judge, topic)).final_output)


consulting = guest(
    Agent(
        "consulting",
        model=Scripted(
            "m",
            [call("consult", "m.0.0", topic="a"), call("read", "m.0.1", input="b")],
            lambda items: f"heard: {results(items)}",
        ),
        tools=[consult, judge.as_tool("read", None, on_stream=listen)],
    ),
    tools={"consult": {"composite": True}},
)
closed = guest(
    Agent(
        "closed",
        model=Scripted("m", [call("consult", "m.0.0", topic="a")], lambda items: f"heard: {results(items)}"),
        tools=[consult],
    )
)
traced = guest(Agent("traced", model=Scripted("m", "hello")), tracing=True)

searching = Agent("searching", model=Scripted("m", "found on the web"), tools=[WebSearchTool()])

both = Swarm(agents=[guest(plain, name="first"), parallel])

configured = guest(
    Agent("configured", model="scripted-by-name", tools=[look]),
    run_options={"run_config": RunConfig(model=Scripted("m", [call("look", "m.0.0", what="x")], "by the run"))},
)
