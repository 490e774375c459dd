"""Hooks at all seven points, in all three entry points."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from orbiter import Agent, Swarm, ToolContext, run, steps, tool
from orbiter._internal.loop import model_calls
from orbiter.agent import AgentError
from orbiter.errors import CallRunnerError, HookError
from orbiter.hooks import HookPoint
from orbiter.types import AssistantMessage, TextBlock, ToolResult, UserMessage
from tests.orbiter.engine_fakes import (
    ByAgent,
    Journal,
    Recording,
    Script,
    Stream,
    called,
    calls,
    said,
    text,
    unchecked,
)


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Log:
    """A hook at every point that writes down what it got."""

    def __init__(self) -> None:
        self.seen: list[tuple[HookPoint, dict[str, Any]]] = []

    def hooks(self) -> list[tuple[HookPoint, Any]]:
        return [(point, self._at(point)) for point in HookPoint]

    def _at(self, point: HookPoint) -> Callable[..., Awaitable[None]]:
        async def hook(**data: Any) -> None:
            self.seen.append((point, data))

        return hook

    @property
    def points(self) -> list[str]:
        return [point.name for point, _ in self.seen]

    def data(self, point: HookPoint) -> dict[str, Any]:
        return next(data for found, data in self.seen if found is point)


async def _by_agent(agent: Agent) -> None:
    await agent.run("q", provider=Script(calls(("add", {"a": 1, "b": 2})), text("3")))


async def _by_run(agent: Agent) -> None:
    await run(agent, "q", provider=Script(calls(("add", {"a": 1, "b": 2})), text("3")))


async def _by_stream(agent: Agent) -> None:
    provider = Stream(called(("add", {"a": 1, "b": 2})), said("3"))
    async for _ in run.stream(agent, "q", provider=provider):
        pass


async def _by_swarm_stream(agent: Agent) -> None:
    provider = Stream(called(("add", {"a": 1, "b": 2})), said("3"))
    async for _ in Swarm(agents=[agent]).stream("q", provider=provider):
        pass


ENTRIES = [_by_agent, _by_run, _by_stream, _by_swarm_stream]
WHOLE = ["START", "PRE_LLM_CALL", "POST_LLM_CALL", "PRE_TOOL_CALL", "POST_TOOL_CALL", "PRE_LLM_CALL", "POST_LLM_CALL"]


@pytest.mark.parametrize("entry", ENTRIES)
async def test_every_point_fires_with_its_keywords(entry: Callable[[Agent], Awaitable[None]]) -> None:
    # D17: START, FINISHED and ERROR never fired in run(). D16: no LLM hooks in run.stream().
    log = Log()
    agent = Agent(name="a", tools=[add], hooks=log.hooks())
    await entry(agent)
    assert log.points == [*WHOLE, "FINISHED"]
    assert all(data["agent"] is agent for _, data in log.seen)
    assert log.data(HookPoint.START)["input"] == "q"
    assert log.data(HookPoint.FINISHED)["output"] == "3"
    assert log.data(HookPoint.PRE_LLM_CALL)["messages"][0] == UserMessage(content="q")
    assert log.data(HookPoint.POST_LLM_CALL)["response"].tool_calls[0].name == "add"
    assert log.data(HookPoint.PRE_TOOL_CALL)["arguments"] == {"a": 1, "b": 2}
    assert log.data(HookPoint.PRE_TOOL_CALL)["tool_call_id"] == "call_0"
    result = log.data(HookPoint.POST_TOOL_CALL)["result"]
    assert result == ToolResult(tool_call_id="call_0", tool_name="add", content="3")


async def test_a_hook_gets_extra_keywords_only_if_it_takes_them() -> None:
    got: list[Any] = []

    async def three(agent: Any, tool_name: str, arguments: dict[str, Any]) -> None:
        got.append(tool_name)

    async def four(agent: Any, tool_name: str, arguments: dict[str, Any], tool_call_id: str) -> None:
        got.append(tool_call_id)

    hooks: list[tuple[HookPoint, Any]] = [(HookPoint.PRE_TOOL_CALL, three), (HookPoint.PRE_TOOL_CALL, four)]
    await _by_run(Agent(name="a", tools=[add], hooks=hooks))
    assert got == ["add", "call_0"]


@pytest.mark.parametrize("point", [point for point in HookPoint if point is not HookPoint.ERROR])
@pytest.mark.parametrize("entry", ENTRIES)
async def test_a_hook_that_raises_aborts_with_its_reason_and_is_not_retried(
    entry: Callable[[Agent], Awaitable[None]], point: HookPoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    # D8: LLM hooks were retried, tool hooks lost their reason in an ExceptionGroup. D15: which escaped run.stream.
    fired: list[str] = []

    async def no_waiting(seconds: float) -> None:
        pytest.fail("a hook's error was retried")

    async def hook(**data: Any) -> None:
        fired.append("here")
        raise ValueError("not on my watch")

    async def ignored(**data: Any) -> None:
        fired.append("error")

    monkeypatch.setattr("orbiter._internal.seam.direct_scope.sleep", no_waiting)
    hooks: list[tuple[HookPoint, Any]] = [(point, hook), (HookPoint.ERROR, ignored)]
    with pytest.raises(ValueError, match="not on my watch") as caught:
        await entry(Agent(name="a", tools=[add], hooks=hooks))
    assert fired == ["here", "error"]
    if entry is not _by_agent:
        assert isinstance(caught.value, CallRunnerError)
        assert str(caught.value) == "Call runner failed for agent 'a': not on my watch"
        assert type(caught.value.__cause__) is ValueError


async def test_two_tools_side_by_side_one_hook_raises() -> None:
    async def guard(agent: Any, tool_name: str, arguments: dict[str, Any]) -> None:
        if arguments["a"] == 2:
            raise ValueError("not 2")

    provider = Script(calls(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 1})))
    with pytest.raises(CallRunnerError, match="not 2") as caught:
        await run(Agent(name="a", tools=[add], hooks=[(HookPoint.PRE_TOOL_CALL, guard)]), "q", provider=provider)
    assert type(caught.value.__cause__) is ValueError


async def test_error_hooks_see_the_failure_and_do_not_hide_it() -> None:
    seen: list[Any] = []

    async def told(agent: Any, error: Exception) -> None:
        seen.append((agent.name, error))
        raise RuntimeError("the hook is broken too")

    agent = Agent(name="a", hooks=[(HookPoint.ERROR, told)])
    with pytest.raises(AgentError, match="down") as caught:
        await run(agent, "q", provider=Script(ValueError("down")), max_retries=1)
    [(name, error)] = seen
    assert name == "a"
    assert isinstance(error, AgentError)
    assert any("the hook is broken too" in note for note in error.__notes__)
    assert caught.value.__cause__ is error


async def test_a_failing_worker_fires_its_own_hooks() -> None:
    log = Log()
    worker = Agent(name="w", hooks=log.hooks())
    provider = Script(calls(("delegate_to_w", {"task": "t"})), ValueError("down"), text("told"))
    team = Swarm(agents=[Agent(name="lead"), worker], mode="team")
    await run(team, "q", provider=provider, max_retries=1)
    assert log.points == ["START", "PRE_LLM_CALL", "ERROR"]


async def test_a_hook_may_edit_arguments_and_messages() -> None:
    async def more(agent: Any, tool_name: str, arguments: dict[str, Any]) -> None:
        arguments["b"] = 40

    async def polite(agent: Any, messages: list[Any]) -> None:
        messages.append(UserMessage(content="please"))

    agent = Agent(name="a", tools=[add], hooks=[(HookPoint.PRE_TOOL_CALL, more), (HookPoint.PRE_LLM_CALL, polite)])
    provider = Script(calls(("add", {"a": 2, "b": 1})), text("done"))
    result = await run(agent, "q", provider=provider)
    assert [str(m.content) for m in result.messages] == ["q", "please", "", "42", "please", "done"]


async def test_the_delegate_call_has_tool_hooks_too() -> None:
    log = Log()
    lead = Agent(name="lead", hooks=log.hooks())
    provider = Script(calls(("delegate_to_w", {"task": "t"})), text("W"), text("done"))
    await run(Swarm(agents=[lead, Agent(name="w")], mode="team"), "q", provider=provider)
    assert log.data(HookPoint.PRE_TOOL_CALL)["tool_name"] == "delegate_to_w"
    assert log.data(HookPoint.POST_TOOL_CALL)["result"].content == "W"


async def test_under_a_runtime_hooks_and_tools_know_where_they_are() -> None:
    log = Log()
    contexts: list[ToolContext] = []

    @tool
    async def look(context: ToolContext) -> str:
        contexts.append(context)
        return ""

    agent = Agent(name="a", instructions="a", tools=[look], hooks=log.hooks())
    with steps.entered(Recording(Journal())):
        await run(agent, "q", provider=ByAgent(a=[calls(("look", {})), text("done")]))
    assert {(data["run_id"], data["node_id"]) for _, data in log.seen} == {("run-1", "/agent:a~0")}
    assert [data["step"] for _, data in log.seen] == [0, 0, 0, 0, 0, 1, 1, 2]
    assert [(c.agent, c.tool_name, c.tool_call_id, c.run_id) for c in contexts] == [("a", "look", "call_0", "run-1")]
    await run(agent, "q", provider=Script(text("done")))
    assert "run_id" not in log.seen[-1][1]


async def test_no_error_hook_on_cancellation() -> None:
    log = Log()
    started = asyncio.Event()

    class Slow:
        async def complete(self, messages: Any, **kwargs: Any) -> Any:
            started.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(run(Agent(name="a", hooks=log.hooks()), "q", provider=Slow()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log.points == ["START", "PRE_LLM_CALL"]


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    ("left", "said"),
    [
        ({"role": "user", "content": "go on"}, "messages[1]: must be a message of orbiter.types; got {"),
        (unchecked(UserMessage), "messages[1].content: Field required"),
        (unchecked(UserMessage, content=5), "messages[1].content: Input should be a valid string; got 5"),
        (unchecked(UserMessage, content=[unchecked(TextBlock)]), "messages[1].content[0]."),
        (unchecked(AssistantMessage, content="", tool_calls=[object()]), "messages[1].tool_calls[0]"),
    ],
)
async def test_a_hook_that_leaves_something_else_among_the_messages_is_told_so(
    entry: Callable[[Agent], Awaitable[None]], left: Any, said: str
) -> None:
    async def hook(messages: list[Any], **_: Any) -> None:
        messages.append(left)

    said = f"A PRE_LLM_CALL hook of agent 'a' left what cannot be used: {said}"
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        await entry(Agent(name="a", tools=[add], hooks=[(HookPoint.PRE_LLM_CALL, hook)]))
    found: BaseException | None = caught.value
    while found is not None and not isinstance(found, HookError):
        found = found.__cause__
    assert found is not None
    assert 'UserMessage(content="Go on")' in (found.hint or "")


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("point", [HookPoint.POST_LLM_CALL, HookPoint.POST_TOOL_CALL])
async def test_a_hook_that_changes_a_frozen_value_into_something_else_is_told_so(
    entry: Callable[[Agent], Awaitable[None]], point: HookPoint
) -> None:
    async def hook(response: Any = None, result: Any = None, **_: Any) -> None:
        changed = response.tool_calls[0] if result is None else result
        vars(changed)["name" if result is None else "content"] = 7

    with pytest.raises(HookError, match=f"A {point.name} hook of agent 'a' left what cannot be used: .*string; got 7"):
        await entry(Agent(name="a", tools=[add], hooks=[(point, hook)]))


async def test_only_messages_that_a_hook_put_in_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Any] = []

    def check(at: int, message: Any) -> None:
        checked.append((at, message))

    more = UserMessage(content="and more")

    async def hook(messages: list[Any], **_: Any) -> None:
        if more not in messages:
            messages.append(more)

    monkeypatch.setattr(model_calls, "wrong_message", check)
    agent = Agent(name="a", tools=[add], hooks=[(HookPoint.PRE_LLM_CALL, hook)])
    await run(agent, "q", provider=Script(calls(("add", {"a": 1, "b": 2})), text("done")))
    assert checked == [(1, more)], "once, though two questions had it"
