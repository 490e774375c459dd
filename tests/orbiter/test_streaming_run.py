"""run.stream: events of agents and of swarms, failures, and stopping."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import orbiter.runner
from orbiter import Agent, Swarm, run, tool
from orbiter._internal.loop.run_results import StreamNotFinishedError
from orbiter.agent import AgentError
from orbiter.errors import CallRunnerError, ConfigurationError, LoopDetectedError, SwarmError
from orbiter.models.types import ModelError, StreamChunk, ToolCallDelta
from orbiter.types import (
    ErrorEvent,
    StatusEvent,
    StepEvent,
    StreamEvent,
    TextEvent,
    ToolCallEvent,
    ToolResultEvent,
    UsageEvent,
)
from tests.orbiter.engine_fakes import ONE, Script, Stream, add, called, calls, said, text


async def collect(events: AsyncIterator[StreamEvent]) -> list[Any]:
    return [event async for event in events]


async def until_error(events: AsyncIterator[StreamEvent]) -> tuple[list[Any], Exception | None]:
    seen: list[Any] = []
    try:
        async for event in events:
            seen.append(event)  # noqa: PERF401 - what came before an error counts
    except Exception as exc:
        return seen, exc
    return seen, None


def told(events: list[Any]) -> list[str]:
    """Events in short: type and status."""
    return [f"{event.type}:{event.status}" if hasattr(event, "status") else event.type for event in events]


async def test_the_default_is_text_and_tool_calls() -> None:
    provider = Stream(called(("add", {"a": 1, "b": 2})), said("th", "ree"))
    assert await collect(run.stream(Agent(name="a", tools=[add]), "q", provider=provider)) == [
        ToolCallEvent(tool_name="add", tool_call_id="call_0", agent_name="a"),
        TextEvent(text="th", agent_name="a"),
        TextEvent(text="ree", agent_name="a"),
    ]
    assert [message.role for message in provider.seen[1]] == ["user", "assistant", "tool"]
    assert provider.closed == 2


async def test_the_order_of_everything() -> None:
    provider = Stream(called(("add", {"a": 1, "b": 2})), said("3"))
    events = await collect(run.stream(Agent(name="a", tools=[add]), "q", provider=provider, detailed=True))
    assert told(events) == [
        "status:starting",
        "step:started",
        "usage",
        "tool_call",
        "tool_result",
        "step:completed",
        "step:started",
        "text",
        "usage",
        "step:completed",
        "status:completed",
    ]
    steps = [event for event in events if isinstance(event, StepEvent)]
    assert [step.step_number for step in steps] == [1, 1, 2, 2]
    assert steps[1].completed_at is not None
    assert steps[1].completed_at >= steps[1].started_at
    result = next(event for event in events if isinstance(event, ToolResultEvent))
    assert (result.arguments, result.result, result.error, result.success) == ({"a": 1, "b": 2}, "3", None, True)
    assert next(event for event in events if isinstance(event, UsageEvent)).usage == ONE


async def test_event_types_choose() -> None:
    for wanted in ({"usage"}, {"usage", "status"}, {"text"}):
        provider = Stream(said("hi"))
        events = await collect(run.stream(Agent(name="a"), "q", provider=provider, event_types=wanted))
        assert {event.type for event in events} == wanted
    with pytest.raises(ConfigurationError, match=r"Unknown event types \['txt'\]"):
        run.stream(Agent(name="a"), "q", provider=Stream(), event_types={"txt"})


async def test_reasoning_is_told_and_is_no_text() -> None:
    provider = Stream([StreamChunk(reasoning_content="hm"), *said("hi")])
    events = await collect(run.stream(Agent(name="a"), "q", provider=provider, detailed=True))
    assert [event.text for event in events if event.type == "reasoning"] == ["hm"]
    assert [event.text for event in events if event.type == "text"] == ["hi"]


async def test_results_come_as_tools_finish_each_with_its_own_time() -> None:
    # 3.2.9: total time divided by the number of tools, and all results after the slowest tool.
    first = asyncio.Event()

    @tool
    async def wait_for(name: str) -> str:
        if name == "slow":
            await first.wait()
        return name

    seen: list[str] = []
    provider = Stream(called(("wait_for", {"name": "slow"}), ("wait_for", {"name": "fast"})), said("done"))
    async for event in run.stream(Agent(name="a", tools=[wait_for]), "q", provider=provider, detailed=True):
        if isinstance(event, ToolResultEvent):
            seen.append(event.result)
            first.set()
    assert seen == ["fast", "slow"]
    # To the model they go in the order in which it asked.
    assert [str(message.content) for message in provider.seen[1][-2:]] == ["slow", "fast"]


async def test_a_call_without_an_id_is_not_dropped() -> None:
    # 3.2.11
    delta = ToolCallDelta(index=0, name="add", arguments='{"a": 1, "b": 2}')
    provider = Stream([StreamChunk(tool_call_deltas=[delta]), StreamChunk(finish_reason="tool_calls")], said("3"))
    events = await collect(run.stream(Agent(name="a", tools=[add]), "q", provider=provider, detailed=True))
    [call] = [event for event in events if isinstance(event, ToolCallEvent)]
    [result] = [event for event in events if isinstance(event, ToolResultEvent)]
    assert call.tool_call_id
    assert call.tool_call_id == result.tool_call_id


async def test_a_stream_that_ends_at_max_steps_says_so() -> None:
    # 3.2.8: neither completed nor error status, no FINISHED.
    provider = Stream(*[called(("add", {"a": n, "b": n})) for n in range(2)])
    agent = Agent(name="a", tools=[add])
    events = await collect(run.stream(agent, "q", provider=provider, detailed=True, max_steps=2))
    assert isinstance(events[-1], StatusEvent)
    assert events[-1].status == "completed"
    assert "max_steps=2" in events[-1].message


async def test_a_stream_is_tried_again_before_its_first_word(waits: list[float]) -> None:
    # D16: no retry.
    provider = Stream([ConnectionError("down")], [ConnectionError("down")], said("up"))
    events = await collect(run.stream(Agent(name="a"), "q", provider=provider))
    assert [event.text for event in events] == ["up"]
    assert waits == [1.0, 2.0]
    assert provider.closed == 3


async def test_what_was_said_cannot_be_unsaid(waits: list[float]) -> None:
    provider = Stream([StreamChunk(delta="half"), ConnectionError("down")], said("never"))
    events, error = await until_error(run.stream(Agent(name="a"), "q", provider=provider, detailed=True))
    assert isinstance(error, AgentError)
    assert isinstance(error, CallRunnerError)
    assert str(error) == "Call runner failed for agent 'a': Agent 'a' failed after 1 retries: down"
    assert waits == []
    assert told(events)[-3:] == ["text", "error", "status:error"]
    [failure] = [event for event in events if isinstance(event, ErrorEvent)]
    assert (failure.error, failure.error_type) == ("Agent 'a' failed after 1 retries: down", "AgentError")
    assert failure.step_number == 1


async def test_errors_are_told_even_in_the_plain_stream(waits: list[float]) -> None:
    provider = Stream([ModelError("no", status=401)])
    events, error = await until_error(run.stream(Agent(name="a"), "q", provider=provider))
    assert told(events) == ["error"]
    assert isinstance(error, AgentError)
    assert waits == []


async def test_a_failing_beginning_is_told_too() -> None:
    def broken(name: str) -> str:
        raise ValueError("no instructions today")

    agent = Agent(name="a", instructions=broken)
    events, error = await until_error(run.stream(agent, "q", provider=Stream(), detailed=True))
    assert told(events) == ["status:starting", "error", "status:error"]
    assert isinstance(error, ValueError)


async def test_without_a_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orbiter.runner, "_resolve_provider", lambda agent: None)
    monkeypatch.setattr(orbiter.runner, "why_no_provider", lambda agent: None)
    _, error = await until_error(run.stream(Agent(name="a"), "q"))
    assert str(error) == "Call runner failed for agent 'a': Agent 'a' requires a provider for stream()"


async def test_a_stream_checks_for_loops() -> None:
    provider = Stream(*[called(("add", {"a": 1, "b": 1}))] * 5)
    _, error = await until_error(run.stream(Agent(name="a", tools=[add]), "q", provider=provider))
    assert isinstance(error, LoopDetectedError)


async def test_structured_output_is_corrected_in_a_stream() -> None:
    class Answer(BaseModel):
        n: int

    provider = Stream(said("no"), said('{"n": 1}'))
    events = await collect(run.stream(Agent(name="a", output_type=Answer), "q", provider=provider))
    assert [event.text for event in events] == ["no", '{"n": 1}']


async def test_fallback_models_stand_in_for_a_stream(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> None:
    others = {"two:x": Stream([ValueError("down")]), "three:x": Stream(said("third"))}
    monkeypatch.setattr(orbiter.runner, "_resolve_provider", lambda agent: others.get(agent.model))
    agent = Agent(name="a", model="one:x", fallbacks=["none:x", "two:x", "three:x"])
    events = await collect(run.stream(agent, "q", provider=Stream([ValueError("down")]), max_retries=1))
    assert [event.text for event in events] == ["third"]


async def test_a_provider_without_a_stream_is_asked_whole() -> None:
    provider = Script(calls(("add", {"a": 1, "b": 2})), text("3"))
    events = await collect(run.stream(Agent(name="a", tools=[add]), "q", provider=provider))
    assert told(events) == ["tool_call", "text"]


async def test_closing_a_stream_ends_the_request_and_the_tools() -> None:
    stopped: list[str] = []
    running = asyncio.Event()

    @tool
    async def slow(n: int) -> str:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(f"tool {n}")
        return ""

    provider = Stream(said("one", "two"))
    events = run.stream(Agent(name="a"), "q", provider=provider)
    await anext(events)
    await events.aclose()
    assert provider.closed == 1

    stream = run.stream(Swarm(agents=[Agent(name="a", tools=[slow])]), "q", provider=Stream(called(("slow", {"n": 1}))))
    await anext(stream)
    await running.wait()
    await stream.aclose()
    assert stopped == ["tool 1"]


@given(st.lists(st.text(max_size=5), max_size=8))
def test_any_cut_of_the_text_adds_up(pieces: list[str]) -> None:
    async def whole() -> str:
        provider = Stream([*(StreamChunk(delta=piece) for piece in pieces), StreamChunk(finish_reason="stop")])
        events = await collect(run.stream(Agent(name="a"), "q", provider=provider))
        return "".join(event.text for event in events)

    assert asyncio.run(whole()) == "".join(pieces)


async def test_a_stream_has_a_result_at_its_end(waits: list[float]) -> None:
    # D16: no RunResult.
    provider = Stream(called(("add", {"a": 1, "b": 2})), said("3"))
    stream = run.stream(Agent(name="a", tools=[add]), "q", provider=provider)
    with pytest.raises(StreamNotFinishedError):
        _ = stream.result
    await collect(stream)
    assert (stream.result.output, stream.result.usage.total_tokens, len(stream.result.messages)) == ("3", 30, 4)
    swarm = run.stream(Swarm(agents=[Agent(name="a"), Agent(name="b")]), "q", provider=Stream(said("A"), said("B")))
    with pytest.raises(StreamNotFinishedError):
        _ = swarm.result
    await collect(swarm)
    assert swarm.result.outputs == {"a": "A", "b": "B"}
    failed = run.stream(Agent(name="a"), "q", provider=Stream([ValueError("down")]), max_retries=1)
    await until_error(failed)
    with pytest.raises(StreamNotFinishedError):
        _ = failed.result


async def test_chunks_of_another_making() -> None:
    class Delta:
        index = 0
        name = "add"
        arguments = '{"a": 1, "b": 2}'

    class Chunk:
        def __init__(self, delta: Any, calls: Any = ()) -> None:
            self.delta = delta
            self.tool_call_deltas = calls
            self.usage = MagicMock()
            self.finish_reason = "end_turn"

    rounds: Any = [[Chunk(None, [Delta()])], [Chunk("th"), Chunk("ree"), MagicMock(delta="!", tool_call_deltas=[])]]
    provider = Stream(*rounds)
    events = await collect(run.stream(Agent(name="a", tools=[add]), "q", provider=provider, detailed=True))
    assert "".join(event.text for event in events if isinstance(event, TextEvent)) == "three!"
    assert [event.result for event in events if isinstance(event, ToolResultEvent)] == ["3"]


async def test_a_subclass_that_wraps_run_streams_through_its_own() -> None:
    class Polite(Agent):
        async def run(self, input: str, **settings: Any) -> Any:
            return await super().run(f"please, {input}", **settings)

    provider = Stream(said("a", "b"))
    stream = run.stream(Polite(name="a"), "q", provider=provider)
    assert [event.text for event in await collect(stream)] == ["a", "b"]
    assert str(provider.seen[0][0].content) == "please, q"
    assert stream.result.output == "ab"


# --- swarms -----------------------------------------------------------------------------------------------------------


async def test_a_workflow_streams_agent_after_agent() -> None:
    # D16: no swarm support.
    provider = Stream(said("A", "A"), said("B"))
    events = await collect(run.stream(Swarm(agents=[Agent(name="a"), Agent(name="b")]), "q", provider=provider))
    assert [(event.agent_name, event.text) for event in events] == [("a", "A"), ("a", "A"), ("b", "B")]
    assert str(provider.seen[1][0].content) == "AA"


async def test_a_handoff_streams() -> None:
    b = Agent(name="b")
    swarm = Swarm(agents=[Agent(name="a", handoffs=[b]), b], mode="handoff")
    events = await collect(swarm.stream("q", provider=Stream(said("b"), said("done"))))
    assert [(event.agent_name, event.text) for event in events] == [("a", "b"), ("b", "done")]


def _team() -> Swarm:
    return Swarm(agents=[Agent(name="lead"), Agent(name="w", tools=[add])], mode="team")


async def test_the_plain_stream_of_a_team_is_the_leads_answer() -> None:
    provider = Stream(called(("delegate_to_w", {"task": "t"})), said("fin", "al"), complete="worked")
    events = await collect(run.stream(_team(), "q", provider=provider))
    assert {event.agent_name for event in events} == {"lead"}
    assert "".join(event.text for event in events if event.type == "text") == "final"


async def test_the_detailed_stream_of_a_team_shows_the_worker() -> None:
    # 3.2.4: nothing of the workers was shown.
    provider = Stream(called(("delegate_to_w", {"task": "t"})), said("final"), complete="worked")
    events = await collect(run.stream(_team(), "q", provider=provider, detailed=True))
    worker = [event for event in events if event.agent_name == "w"]
    assert told(worker) == ["status:starting", "step:started", "text", "usage", "step:completed", "status:completed"]
    call, result = told(events).index("tool_call"), told(events).index("tool_result")
    assert call < events.index(worker[0]) < events.index(worker[-1]) < result


async def test_a_worker_streams_if_its_provider_declares_it() -> None:
    class Declared(Stream):
        streams = True

    provider = Declared(called(("delegate_to_w", {"task": "t"})), said("wo", "rked"), said("final"))
    events = await collect(run.stream(_team(), "q", provider=provider, detailed=True))
    assert [event.text for event in events if event.type == "text" and event.agent_name == "w"] == ["wo", "rked"]


async def test_agents_side_by_side_stream_at_once() -> None:
    both = asyncio.Barrier(2)

    class Provider(Stream):
        async def stream(self, messages: Any, **kwargs: Any) -> AsyncIterator[StreamChunk]:
            async with asyncio.timeout(60):
                await both.wait()
            yield StreamChunk(delta="x")

    swarm = Swarm(agents=[Agent(name="a"), Agent(name="b")], flow="(a | b)")
    events = await collect(swarm.stream("q", provider=Provider()))
    assert sorted(event.agent_name for event in events) == ["a", "b"]


async def test_a_failing_swarm_tells_and_raises(waits: list[float]) -> None:
    swarm = Swarm(agents=[Agent(name="a")], mode="chaos")  # type: ignore[arg-type]  # a mistake
    events, error = await until_error(swarm.stream("q", provider=Stream()))
    assert told(events) == ["error"]
    assert isinstance(error, SwarmError)
    provider = Stream([ValueError("down")])
    swarm = Swarm(agents=[Agent(name="a")])
    events, error = await until_error(swarm.stream("q", provider=provider, max_retries=1, detailed=True))
    assert isinstance(error, AgentError)
    assert told(events)[-2:] == ["error", "status:error"]


async def test_a_run_inside_a_tool_shows_in_the_detailed_stream_of_a_swarm() -> None:
    @tool
    async def ask(question: str) -> str:
        return (await run(Agent(name="inner"), question, provider=Script(text("inside")))).output

    swarm = Swarm(agents=[Agent(name="a", tools=[ask])])
    for detailed, expected in ((False, {"a"}), (True, {"a", "inner"})):
        provider = Stream(called(("ask", {"question": "?"})), said("done"))
        events = await collect(swarm.stream("q", provider=provider, detailed=detailed))
        assert {event.agent_name for event in events} == expected


async def test_an_agent_that_only_quacks_is_told_whole() -> None:
    class Duck:
        name = "duck"

        async def run(self, input: str, **kwargs: Any) -> str:
            return f"quack {input}"

    assert await collect(run.stream(Duck(), "q", provider=Stream())) == [TextEvent(text="quack q", agent_name="duck")]
