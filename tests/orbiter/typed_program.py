"""A user's program that uses the public API, checked by the type checkers (`test_typing.py`), never run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, assert_type

from pydantic import BaseModel

from orbiter import (
    Agent,
    AgentOutput,
    AssistantMessage,
    FailurePolicy,
    HookPoint,
    JoinPolicy,
    ModelProvider,
    NeedsInput,
    ParallelGroup,
    RunResult,
    SerialGroup,
    StreamEvent,
    Swarm,
    TextEvent,
    Tool,
    ToolContext,
    Usage,
    UserMessage,
    ask_operator,
    run,
    tool,
)
from orbiter.models.types import ModelResponse, StreamChunk
from orbiter.types import Message


class Report(BaseModel):
    """A structured answer."""

    title: str
    pages: int


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(name="fetch_page", idempotent=True, permissions=("net.get:{url}",))
async def fetch(url: str, context: ToolContext) -> str:
    """Fetch a page."""
    if not url:
        raise NeedsInput("Which page?", schema={"type": "string"})
    return str(await ask_operator(f"May I read {url}?")) + str(context.metadata)


class Weather(Tool):
    """A tool as a class."""

    name = "weather"
    description = "The weather of a place."

    async def execute(self, **kwargs: Any) -> str:
        return f"sunny in {kwargs['place']}"


class Echo(ModelProvider):
    """A provider."""

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> ModelResponse:
        return ModelResponse(content=str(messages[-1].content))

    async def stream(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[StreamChunk]:
        yield StreamChunk(delta=str(messages[-1].content), finish_reason="stop")


async def on_start(**data: Any) -> None:
    """A hook."""


plain = Agent(name="plain", tools=[add, fetch, Weather()], hooks=[(HookPoint.START, on_start)])
writer = Agent(name="writer", model="anthropic:claude-sonnet-4-5", output_type=Report, handoffs=[plain])
swarm = Swarm(agents=[plain, writer], flow="plain >> writer", failure=FailurePolicy(model="degrade"))
group = ParallelGroup(name="both", agents=[plain, writer], join=JoinPolicy("quorum", quorum=1))
nested = Swarm(agents=[SerialGroup(name="row", agents=[plain]), group])

assert_type(writer, Agent[Report])


def takes_any(agent: Agent) -> str:
    """An annotation without brackets takes agents of every output type."""
    return agent.name


takes_any(writer)
takes_any(plain)


async def main() -> None:
    """Each way to run."""
    history: list[Message] = [UserMessage(content="hi"), AssistantMessage(content="hello")]
    result = await run(writer, "go", messages=history, max_retries=2)
    assert_type(result, RunResult[Report])
    assert_type(result.parsed, Report | None)
    if result.parsed is not None:
        assert_type(result.parsed.pages, int)
    assert_type(result.usage, Usage)
    assert_type(run.sync(writer, "go"), RunResult[Report])
    assert_type(await run(swarm, "go"), RunResult[Any])
    assert_type(await run(group, "go", loop_threshold=0), RunResult[Any])
    assert_type(await writer.run("go"), AgentOutput[Report])
    stream = run.stream(writer, "go", detailed=True)
    async for event in stream:
        assert_type(event, StreamEvent)
        if isinstance(event, TextEvent):
            assert_type(event.text, str)
    assert_type(stream.result, RunResult[Report])
