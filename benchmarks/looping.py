"""The work that `benchmarks.steps` measures: a ten-step tool loop and a three-agent workflow on a model without
latency.

Also a swarm file: ``benchmarks/looping.py:agent`` is driven by the runtime, as a user's own file would be.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel

from orbiter import Agent, Swarm, run, tool
from orbiter.models.provider import ModelProvider, model_registry
from orbiter.models.types import ModelResponse
from orbiter.types import AssistantMessage, Message, SystemMessage, ToolCall, ToolResult, Usage, UserMessage

STEPS = 10
LONG = 100
"""Rounds of the loop: ten, or so many as its task ends with, at most `LONG`."""

Record = Callable[[bool], Awaitable[None]]
"""Called when a step begins (False) and when it has ended (True)."""


class Instant(ModelProvider):
    """Calls the tool ten times, or as often as told to, then ends. What it says depends on the conversation alone."""

    async def complete(self, messages: list[Message], **_settings: Any) -> ModelResponse:
        said = sum(message.role == "assistant" for message in messages)
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        task, _, rounds = str(messages[1].content).partition(" ")
        if task != "loop" or said == int(rounds or STEPS):
            return ModelResponse(content="done", usage=usage)
        call = ToolCall(id=f"c{said}", name="add", arguments=f'{{"a": {said}, "b": 3}}')
        return ModelResponse(tool_calls=[call], usage=usage, finish_reason="tool_calls")

    def stream(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


if "instant" not in model_registry.list_all():
    model_registry.register("instant", Instant)


@tool(idempotent=True)
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


agent = Agent(name="looper", model="instant:x", instructions="be", tools=[add], max_steps=LONG + 1)
workflow = Swarm(agents=[Agent(name=name, model="instant:x", instructions="be") for name in "abc"])


class _Arguments(BaseModel):
    a: int
    b: int


class _Result(BaseModel):
    output: str
    messages: list[Message]
    usage: Usage
    steps: int


async def _unrecorded(_ended: bool) -> None: ...


async def by_hand(provider: Instant, text: str, record: Record = _unrecorded) -> _Result:
    """The same loop as a careful person would write it for this one agent: same models, same checks."""
    messages: list[Message] = [SystemMessage(content="be"), UserMessage(content=text)]
    schemas = [add.to_schema()]
    tokens_in = tokens_out = 0
    while True:
        await record(False)
        reply = await provider.complete(list(messages), tools=schemas, temperature=1.0, max_tokens=None)
        await record(True)
        tokens_in += reply.usage.input_tokens
        tokens_out += reply.usage.output_tokens
        messages.append(AssistantMessage(content=reply.content, tool_calls=reply.tool_calls))
        if not reply.tool_calls:
            usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out, total_tokens=tokens_in + tokens_out)
            return _Result(output=reply.content, messages=messages, usage=usage, steps=1)
        for call in reply.tool_calls:
            arguments = _Arguments.model_validate_json(call.arguments)
            await record(False)
            output = await add.execute(a=arguments.a, b=arguments.b)
            await record(True)
            messages.append(ToolResult(tool_call_id=call.id, tool_name=call.name, content=str(output)))


async def workflow_by_hand(provider: Instant, text: str) -> _Result:
    """Three agents one after another, by hand."""
    result = await by_hand(provider, text)
    for _ in range(2):
        result = await by_hand(provider, result.output)
    return result


async def plain(what: Any, text: str) -> str:
    """The same with the framework's plain `run`."""
    return (await run(what, text)).output
