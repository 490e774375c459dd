"""What a plain run leaves behind: transcript, usage, the state of its nodes; loops, and agents of other kinds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from orbiter import Agent, run, tool
from orbiter._internal.call_runner import CallRunnerError, call_runner
from orbiter._internal.state import RunNodeStatus, RunState
from orbiter.errors import LoopDetectedError
from orbiter.hooks import HookPoint
from orbiter.models.scripted.provider import script as scripted
from orbiter.models.types import ModelResponse
from orbiter.types import (
    AgentOutput,
    AssistantMessage,
    Message,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from tests.orbiter.engine_fakes import ONE, Script, add, calls, text

# --- the record -------------------------------------------------------------------------------------------------------


async def test_the_transcript_is_whole_and_usage_is_summed() -> None:
    # D2, D3: usage of the last call alone, no user, assistant or tool message.
    provider = Script(calls(("add", {"a": 1, "b": 2})), text("3"))
    history: list[Message] = [UserMessage(content="hi"), AssistantMessage(content="ho")]
    result = await run(Agent(name="a", instructions="be", tools=[add]), "1+2?", messages=history, provider=provider)
    assert [message.role for message in result.messages] == [
        "system",
        "user",
        "assistant",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert result.usage == Usage(input_tokens=20, output_tokens=10, total_tokens=30)
    assert (result.steps, result.output, result.agent, result.state) == (1, "3", "a", "completed")


async def test_agent_outputs_usage_is_that_of_the_last_call() -> None:
    provider = Script(calls(("add", {"a": 1, "b": 2})), text("3"))
    assert (await Agent(name="a", tools=[add]).run("x", provider=provider)).usage == ONE


async def test_the_state_has_a_node_per_agent_run_and_a_child_per_call() -> None:
    # D1; 3.2.13: tool_calls was never filled.
    state = RunState("a")
    provider = Script(calls(("add", {"a": 1, "b": 2})), text("3"))
    await call_runner(Agent(name="a", tools=[add]), "x", state=state, provider=provider)
    [node] = state.nodes
    assert (state.status, node.status) == (RunNodeStatus.SUCCESS, RunNodeStatus.SUCCESS)
    assert [child.usage for child in node.children] == [ONE, ONE]
    assert [call.name for call in node.children[0].tool_calls] == ["add"]
    assert [call.name for call in node.tool_calls] == ["add"]
    assert node.metadata["tool_signature"]
    assert state.total_usage.total_tokens == 30
    assert len(state.messages) == 4


async def test_a_failed_run_leaves_terminal_states(waits: list[float]) -> None:
    state = RunState("a")
    with pytest.raises(CallRunnerError):
        await call_runner(Agent(name="a"), "x", state=state, provider=Script(*[ValueError("no")] * 3))
    assert (state.status, state.nodes[0].status) == (RunNodeStatus.FAILED, RunNodeStatus.FAILED)
    assert "no" in str(state.nodes[0].error)
    assert state.nodes[0].children[0].status is RunNodeStatus.FAILED


async def test_the_question_of_a_hook_that_fails_has_failed() -> None:
    async def refuse(**_facts: Any) -> None:
        raise ValueError("not this")

    state = RunState("a")
    agent = Agent(name="a", hooks=[(HookPoint.PRE_LLM_CALL, refuse)])
    with pytest.raises(ValueError, match="not this"):
        await call_runner(agent, "x", state=state, provider=Script(text("never said")))
    (question,) = state.nodes[0].children
    assert (question.status, question.error) == (RunNodeStatus.FAILED, "not this")


async def test_a_question_that_a_fallback_model_answers_has_succeeded(waits: list[float]) -> None:
    scripted("records/stands-in", ["answered"])
    state = RunState("a")
    agent = Agent(name="a", fallbacks="scripted:records/stands-in")
    result = await call_runner(agent, "x", state=state, provider=Script(ValueError("no")), max_retries=1)
    assert result.output == "answered"
    (question,) = state.nodes[0].children
    assert question.status is RunNodeStatus.SUCCESS


async def test_a_time_out_that_spent_its_retries_is_one(waits: list[float]) -> None:
    state = RunState("a")
    with pytest.raises(CallRunnerError):
        await call_runner(Agent(name="a"), "x", state=state, provider=Script(*[TimeoutError("slow")] * 3))
    assert (state.status, state.nodes[0].status) == (RunNodeStatus.TIMEOUT, RunNodeStatus.TIMEOUT)
    assert "slow" in str(state.error)


async def test_a_time_out_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # D21: nothing ever set it.
    state = RunState("a")
    monkeypatch.setattr(Agent, "run", _times_out)
    with pytest.raises(CallRunnerError):
        await call_runner(Agent(name="a"), "x", state=state, provider=Script())
    assert (state.status, state.nodes[0].status) == (RunNodeStatus.TIMEOUT, RunNodeStatus.TIMEOUT)


async def _times_out(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise TimeoutError("too late")


async def test_cancellation_sets_terminal_states() -> None:
    # 3.2.2: state and node stayed running for ever.
    started = asyncio.Event()

    class Slow:
        async def complete(self, messages: Any, **kwargs: Any) -> Any:
            started.set()
            await asyncio.Event().wait()

    state = RunState("a")
    task = asyncio.create_task(call_runner(Agent(name="a"), "x", state=state, provider=Slow()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert state.is_terminal
    assert state.nodes[0].is_terminal
    assert state.nodes[0].children[0].is_terminal
    assert state.cancelled


async def test_cancelling_stops_tools_that_run_side_by_side() -> None:
    stopped: list[int] = []
    running = asyncio.Semaphore(0)

    @tool
    async def slow(n: int) -> str:
        running.release()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(n)
        return ""

    agent = Agent(name="a", tools=[slow])
    task = asyncio.create_task(run(agent, "x", provider=Script(calls(("slow", {"n": 1}), ("slow", {"n": 2})))))
    await running.acquire()
    await running.acquire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(stopped) == [1, 2]


# --- loops ------------------------------------------------------------------------------------------------------------


async def test_a_loop_is_detected_in_run_before_the_call_is_made_again() -> None:
    # D4: in the original ten identical calls pass. D5: the order of keys does not matter.
    made: list[int] = []

    @tool
    async def again(a: int, b: int) -> str:
        made.append(a)
        return "again"

    replies = [calls(("again", given)) for given in ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"a":1,"b":2}')]
    state = RunState("a")
    with pytest.raises(CallRunnerError) as caught:
        await call_runner(Agent(name="a", tools=[again]), "x", state=state, provider=Script(*replies))
    assert str(caught.value) == "Endless loop detected: same tool calls repeated 3 times (threshold=3)"
    assert isinstance(caught.value, LoopDetectedError)
    assert made == [1, 1]
    assert (state.error, state.nodes[0].error) == ("Endless loop detected", "Endless loop detected")


async def test_the_order_of_parallel_calls_does_not_matter_and_other_calls_break_the_row() -> None:
    one, two = ("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2})
    provider = Script(calls(one, two), calls(two, one), calls(one), calls(one, two), calls(two, one), text("done"))
    assert (await run(Agent(name="a", tools=[add]), "x", provider=provider)).output == "done"
    provider = Script(calls(one, two), calls(two, one))
    with pytest.raises(LoopDetectedError):
        await run(Agent(name="a", tools=[add]), "x", provider=provider, loop_threshold=2)


async def test_agent_run_alone_and_a_threshold_of_0_do_not_look() -> None:
    same = calls(("add", {"a": 1, "b": 1}))
    agent = Agent(name="a", tools=[add], max_steps=6)
    await agent.run("x", provider=Script(*[same] * 6))
    await run(agent, "x", provider=Script(*[same] * 6), loop_threshold=0)


async def test_a_shared_state_counts_over_calls() -> None:
    state = RunState("a")
    agent = Agent(name="a", tools=[add], max_steps=1)
    same = calls(("add", {"a": 1, "b": 1}))
    for expected in (1, 2):
        result = await call_runner(agent, "x", state=state, provider=Script(same))
        assert result.steps == expected
    with pytest.raises(LoopDetectedError):
        await call_runner(agent, "x", state=state, provider=Script(same))


async def test_a_nested_failure_is_not_relabelled_as_a_loop() -> None:
    # 3.2.12
    state = RunState("a")

    class Wrapped(Agent):
        async def run(self, *args: Any, **kwargs: Any) -> Any:
            raise CallRunnerError("something else")

    with pytest.raises(CallRunnerError, match=r"^something else$"):
        await call_runner(Wrapped(name="a"), "x", state=state)
    assert state.error == "something else"


# --- agents of other kinds --------------------------------------------------------------------------------------------


async def test_an_agent_that_only_quacks() -> None:
    class Duck:
        name = "duck"

        async def run(self, input: str, *, messages: Any = None, provider: Any = None, max_retries: int = 3) -> Any:
            return AgentOutput(text=f"quack {input}", usage=ONE)

    result = await run(Duck(), "x")
    assert (result.output, result.usage, result.steps) == ("quack x", ONE, 1)
    assert [message.role for message in result.messages] == ["user", "assistant"]


async def test_a_duck_in_a_circle_is_caught_over_a_shared_state() -> None:
    class Duck:
        name = "duck"

        async def run(self, input: str, **kwargs: Any) -> Any:
            return AgentOutput(tool_calls=[ToolCall(id="1", name="t", arguments='{"a": 1}')])

    state = RunState("duck")
    for _ in range(2):
        await call_runner(Duck(), "x", state=state)
    with pytest.raises(LoopDetectedError):
        await call_runner(Duck(), "x", state=state)


async def test_a_subclass_that_wraps_run_keeps_transcript_usage_and_loop_check() -> None:
    class Polite(Agent):
        async def run(self, input: str, **kwargs: Any) -> AgentOutput:
            output = await super().run(f"please, {input}", **kwargs)
            return output.model_copy(update={"text": f"{output.text}, thanks"})

    provider = Script(calls(("add", {"a": 1, "b": 2})), text("3"))
    result = await run(Polite(name="a", tools=[add]), "1+2", provider=provider)
    assert result.output == "3, thanks"
    assert result.usage.total_tokens == 30
    assert result.messages[0] == UserMessage(content="please, 1+2")
    with pytest.raises(LoopDetectedError):
        await run(Polite(name="a", tools=[add]), "x", provider=Script(*[calls(("add", {"a": 1, "b": 1}))] * 3))


async def test_a_run_inside_a_tool() -> None:
    inner = Agent(name="inner")

    @tool
    async def ask(question: str) -> str:
        return (await run(inner, question, provider=Script(text("inside")))).output

    provider = Script(calls(("ask", {"question": "?"})), text("done"))
    result = await run(Agent(name="a", tools=[ask]), "x", provider=provider)
    assert result.messages[2] == ToolResult(tool_call_id="call_0", tool_name="ask", content="inside")


async def test_one_agent_a_thousand_times_at_once_leaves_no_trace() -> None:
    # 3.2.3: agents were not re-entrant.
    agent = Agent(name="a", tools=[add])
    before = {name: dict(value) if isinstance(value, dict) else value for name, value in vars(agent).items()}

    class Echo:
        async def complete(self, messages: list[Message], **kwargs: Any) -> ModelResponse:
            await asyncio.sleep(0)
            if isinstance(messages[-1], ToolResult):
                return text(f"{messages[0].content}={messages[-1].content}")
            return calls(("add", {"a": int(str(messages[0].content)), "b": 1}))

    provider = Echo()
    results = await asyncio.gather(*(run(agent, str(n), provider=provider) for n in range(1000)))
    assert [result.output for result in results] == [f"{n}={n + 1}" for n in range(1000)]
    assert {name: dict(value) if isinstance(value, dict) else value for name, value in vars(agent).items()} == before
