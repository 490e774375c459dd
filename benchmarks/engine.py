"""Agents in plain run against a loop by hand that does the same work with the same pydantic models.

By hand means: build the messages, ask, read the reply into an output, check the arguments against a model, call the
tool, and put transcript, summed usage and output into a result. No agents, no hooks, no retries, no loop detection, no
seam. The model answers at once, so that nothing but the framework is measured. Round after round in turn, the best of
each counts.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from pydantic import BaseModel

from benchmarks import Ratio
from orbiter import Agent, Swarm, tool
from orbiter import run as run_agent
from orbiter.models.types import ModelResponse, StreamChunk
from orbiter.types import (
    AgentOutput,
    AssistantMessage,
    Message,
    RunResult,
    SystemMessage,
    TextEvent,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)

ROUNDS = 25
TOOL_STEPS = 10
EVENTS = 1000
AT_ONCE = 1000
USED = Usage(input_tokens=10, output_tokens=5, total_tokens=15)


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Numbers(BaseModel):
    a: int
    b: int


class Model:
    """Asks for the tool `TOOL_STEPS` times with other numbers, then answers; without tools it answers at once."""

    async def complete(
        self, messages: list[Message], *, tools: Any = None, temperature: Any = None, max_tokens: Any = None
    ) -> ModelResponse:
        asked = sum(message.role == "assistant" for message in messages) if tools else TOOL_STEPS
        if asked == TOOL_STEPS:
            return ModelResponse(content="done", usage=USED)
        call = ToolCall(id=f"call_{asked}", name="add", arguments=f'{{"a": {asked}, "b": 3}}')
        return ModelResponse(tool_calls=[call], usage=USED, finish_reason="tool_calls")

    async def stream(self, messages: list[Message], **settings: Any) -> AsyncIterator[StreamChunk]:
        for _ in range(EVENTS):
            yield StreamChunk(delta="x")
        yield StreamChunk(finish_reason="stop", usage=USED)


async def loop_by_hand(model: Model, question: str, schemas: list[dict[str, Any]] | None) -> RunResult:
    messages: list[Message] = [SystemMessage(content="be brief"), UserMessage(content=question)]
    used: list[Usage] = []
    while True:
        response = await model.complete(list(messages), tools=schemas, temperature=1.0, max_tokens=None)
        output = AgentOutput(text=response.content, tool_calls=response.tool_calls, usage=response.usage)
        used.append(output.usage)
        messages.append(AssistantMessage(content=output.text, tool_calls=output.tool_calls))
        if not output.tool_calls:
            break
        for call in output.tool_calls:
            numbers = Numbers.model_validate_json(call.arguments)
            result = str(await add(numbers.a, numbers.b))
            messages.append(ToolResult(tool_call_id=call.id, tool_name=call.name, content=result))
    usage = Usage(
        input_tokens=sum(each.input_tokens for each in used),
        output_tokens=sum(each.output_tokens for each in used),
        total_tokens=sum(each.total_tokens for each in used),
    )
    return RunResult(output=output.text, messages=messages, usage=usage, steps=1)


async def workflow_by_hand(model: Model, question: str) -> RunResult:
    result = await loop_by_hand(model, question, None)
    for _ in range(2):
        result = await loop_by_hand(model, result.output, None)
    return result


async def stream_by_hand(model: Model, question: str) -> AsyncIterator[TextEvent]:
    messages: list[Message] = [SystemMessage(content="be brief"), UserMessage(content=question)]
    pieces: list[str] = []
    async for chunk in model.stream(list(messages)):
        if chunk.delta:
            pieces.append(chunk.delta)
            yield TextEvent(text=chunk.delta, agent_name="a")
    messages.append(AssistantMessage(content="".join(pieces)))


async def spent(work: Callable[[], Awaitable[Any]], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        await work()
    return time.perf_counter() - began


async def compared(
    hand: Callable[[], Awaitable[Any]], ours: Callable[[], Awaitable[Any]], times: int
) -> tuple[float, float]:
    """The best round of each, in seconds for one."""
    rounds = [(await spent(hand, times), await spent(ours, times)) for _ in range(ROUNDS)]
    return min(each for each, _ in rounds) / times, min(each for _, each in rounds) / times


async def drained(events: AsyncIterator[Any]) -> None:
    async for _ in events:
        pass


def ratio(name: str, goal: float, pair: tuple[float, float], parts: int = 1) -> Ratio:
    hand, ours = pair
    note = f"{hand / parts * 1e6:.1f} µs by hand, {ours / parts * 1e6:.1f} µs ours"
    return Ratio(name, ours / hand, goal, note)


async def measured() -> list[Ratio]:
    model = Model()
    alone = Agent(name="a", instructions="be brief")
    worker = Agent(name="a", instructions="be brief", tools=[add], max_steps=TOOL_STEPS + 1)
    three = Swarm(agents=[Agent(name=name, instructions="be brief") for name in "abc"])
    schemas = worker.get_tool_schemas()

    async def at_once_by_hand() -> None:
        await asyncio.gather(*(loop_by_hand(model, "q", schemas) for _ in range(AT_ONCE)))

    async def at_once() -> None:
        await asyncio.gather(*(run_agent(worker, "q", provider=model) for _ in range(AT_ONCE)))

    gc.collect()
    gc.freeze()
    ratios = [
        ratio(
            "a step of a ten-step tool loop",
            2.5,
            await compared(
                lambda: loop_by_hand(model, "q", schemas), lambda: run_agent(worker, "q", provider=model), 20
            ),
            TOOL_STEPS,
        ),
        ratio(
            "a three-agent workflow",
            2.0,
            await compared(lambda: workflow_by_hand(model, "q"), lambda: run_agent(three, "q", provider=model), 60),
        ),
        ratio(
            "streaming, per event",
            1.3,
            await compared(
                lambda: drained(stream_by_hand(model, "q")),
                lambda: drained(run_agent.stream(alone, "q", provider=model)),
                2,
            ),
            EVENTS,
        ),
        ratio(
            f"{AT_ONCE} ten-step runs at once, per run",
            2.5,
            (await spent(at_once_by_hand, 1), await spent(at_once, 1)),
            AT_ONCE,
        ),
    ]
    hand, ours = await peak(at_once_by_hand), await peak(at_once)
    note = f"{hand / AT_ONCE / 1024:.1f} KiB by hand, {ours / AT_ONCE / 1024:.1f} KiB ours"
    return [*ratios, Ratio(f"memory of {AT_ONCE} runs at once, per run", ours / hand, 2.0, note)]


async def peak(work: Callable[[], Awaitable[Any]]) -> float:
    """The most memory that is in use while `work` is done, in bytes above what was before."""
    gc.collect()
    tracemalloc.start()
    try:
        await work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def construction() -> Ratio:
    """An agent with one tool against a pydantic model with the same fields."""

    class Declared(BaseModel):
        name: str
        model: str
        instructions: str
        tools: dict[str, Any]
        handoffs: dict[str, Any]
        max_steps: int
        temperature: float

    def by_hand() -> None:
        Declared(name="a", model="m:x", instructions="", tools={"add": add}, handoffs={}, max_steps=10, temperature=1.0)

    def ours() -> None:
        Agent(name="a", model="m:x", tools=[add])

    hand_time, our_time = (min(_timed(each) for _ in range(ROUNDS)) for each in (by_hand, ours))
    return Ratio("construction of an agent", our_time / hand_time, 5.0, f"{our_time * 1e6:.1f} µs")


def _timed(work: Callable[[], None], times: int = 500) -> float:
    began = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - began) / times


def imports() -> list[Ratio]:
    """Each in processes of their own, the best of seven."""
    pydantic = min(_imported("from pydantic import BaseModel\nclass M(BaseModel):\n    x: int") for _ in range(7))
    package = min(_imported("import orbiter") for _ in range(7))
    names = min(_imported("from orbiter import Agent, Swarm, run, tool") for _ in range(7))
    return [
        Ratio("import orbiter, against import pydantic", package / pydantic, 1.3, f"{package * 1e3:.1f} ms"),
        Ratio("from orbiter import Agent, Swarm, run, tool / pydantic", names / pydantic, 1.5, f"{names * 1e3:.0f} ms"),
    ]


def _imported(code: str) -> float:
    timed = f"import time\nbegan = time.perf_counter()\n{code}\nprint(time.perf_counter() - began)"
    done = subprocess.run([sys.executable, "-c", timed], check=True, capture_output=True, text=True)
    return float(done.stdout)


def run() -> list[Ratio]:
    return [*asyncio.run(measured()), construction(), *imports()]
