"""A user's program that uses the public API, checked by the type checkers (`test_typing.py`), never run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict, assert_type

from pydantic import BaseModel, Field

from orbiter import (
    Agent,
    AgentOutput,
    AssistantMessage,
    ChatProvider,
    ErrorEvent,
    ErrorHandlingConfig,
    FailurePolicy,
    FunctionTool,
    HookPoint,
    HumanInputTool,
    JoinPolicy,
    Message,
    ModelProvider,
    NeedsInput,
    OrbiterError,
    ParallelGroup,
    ReasoningEvent,
    Runnable,
    RunResult,
    SerialGroup,
    StatusEvent,
    StepEvent,
    StreamEvent,
    Swarm,
    SwarmNode,
    SystemMessage,
    TextEvent,
    Tool,
    ToolCall,
    ToolCallEvent,
    ToolContext,
    ToolResult,
    ToolResultEvent,
    Usage,
    UsageEvent,
    UserMessage,
    ask_operator,
    is_granted,
    require_permission,
    run,
    tool,
)
from orbiter.config import ModelConfig
from orbiter.models.types import ModelResponse, StreamChunk


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


class Size(Enum):
    """An enumeration."""

    SMALL = "s"


class Options(TypedDict, total=False):
    """A typed dictionary."""

    colour: str


@dataclass
class Place:
    """A dataclass."""

    city: str


@tool
def order(
    item: Annotated[str, Field(description="what to buy")],
    size: Size,
    how: Literal["post", "pick up"] = "post",
    options: Options | None = None,
    where: Place | None = None,
    *tags: str,
    report: Report | None = None,
    **rest: float,
) -> dict[str, list[int]]:
    """Parameters of every kind."""
    return {item: [len(tags), len(rest)]}


class Desk:
    """A tool as a method."""

    @tool(risk="high")
    def close(self, hour: int) -> bool:
        """Close the desk."""
        return hour > 17


# A decorated function keeps its parameters and its result.
assert_type(add(1, b=2), int)
assert_type(order("lamp", Size.SMALL), dict[str, list[int]])
assert_type(FunctionTool(len, name="length")("abc"), int)


async def calls(context: ToolContext) -> None:
    """A coroutine function that is a tool is awaited like any other."""
    assert_type(await fetch("https://example.com", context), str)


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
nested = Swarm(agents=[SerialGroup(name="row", agents=[plain]), group, SwarmNode(swarm=swarm, name="inner")])
careful = Swarm(
    agents=[Agent(name="asker", tools=[HumanInputTool(), order])], errors=ErrorHandlingConfig(max_attempts=2)
)
anything: list[Runnable] = [plain, swarm, group, nested]
provider: ChatProvider = Echo(ModelConfig(model_name="echo"))

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
        told(event)
    assert_type(stream.result, RunResult[Report])


def told(event: StreamEvent) -> str:
    """Each event by its class; a checker knows what each has."""
    if isinstance(event, TextEvent | ReasoningEvent):
        return event.text
    if isinstance(event, ToolCallEvent | ToolResultEvent):
        return event.tool_name
    if isinstance(event, UsageEvent):
        return str(event.usage.total_tokens)
    if isinstance(event, StepEvent | StatusEvent):
        return event.status
    assert_type(event, ErrorEvent)
    return event.error


async def permitted() -> str:
    """Permissions, and the errors of the framework."""
    try:
        if not await is_granted("fs.write:/srv/report.md"):
            await require_permission("fs.write:/srv/report.md", "to write the report")
    except OrbiterError as error:
        return error.suggestion or error.message
    return ""


conversation: list[Message] = [
    SystemMessage(content="Be brief."),
    AssistantMessage(content="", tool_calls=[ToolCall(id="1", name="add", arguments="{}")]),
    ToolResult(tool_call_id="1", tool_name="add", content="3"),
]
