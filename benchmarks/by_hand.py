"""The work of `benchmarks.looping` as a careful person would write it for its one agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pydantic import BaseModel

from benchmarks.looping import Instant, add
from orbiter.types import AssistantMessage, Message, SystemMessage, ToolResult, Usage, UserMessage

Record = Callable[[bool], Awaitable[None]]
"""Called when a step begins (False) and when it has ended (True)."""


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
