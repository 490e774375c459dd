"""The work that `benchmarks.steps` measures: a ten-step tool loop and a three-agent workflow on a model without
latency.

Also a swarm file: ``benchmarks/looping.py:agent`` is driven by the runtime, as a user's own file would be. Each run
reads it again, so what only the loop by hand needs stands in `benchmarks.by_hand`.
"""

from __future__ import annotations

from typing import Any

from orbiter import Agent, Swarm, run, tool
from orbiter.models.provider import ModelProvider, model_registry
from orbiter.models.types import ModelResponse
from orbiter.types import Message, ToolCall, Usage

STEPS = 10
LONG = 100
"""Rounds of the loop: ten, or so many as its task ends with, at most `LONG`."""


class Instant(ModelProvider):
    """Calls the tool ten times, or as often as told to, then ends. What it says depends on the conversation alone."""

    async def complete(self, messages: list[Message], **_settings: Any) -> ModelResponse:
        said = (len(messages) - 2) // 2  # after instructions and task a reply and a result for each round
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


async def plain(what: Any, text: str) -> str:
    """The same with the framework's plain `run`."""
    return (await run(what, text)).output
