"""DESIGN section 2, rule by rule: what no other test shows by itself. The number of the rule is in each test's name."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from orbiter import Agent, run, steps
from orbiter.config import ModelConfig
from orbiter.models.provider import ModelProvider, model_registry
from orbiter.models.types import ModelResponse, StreamChunk
from orbiter.steps import Place, Step, Traits
from orbiter.types import Message, ToolCall, Usage
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.gates import chain
from runtime.execution.gates.breaker import NO_BREAKER
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.worker.engines.local import LocalEngine
from runtime.worker.engines.port import DriveRun, FindRuns
from runtime.worker.supervisor import Supervisor
from tests.runtime.bench import ME, Bench

SWARM = '''
import asyncio, os
from pathlib import Path
from orbiter import Agent, ParallelGroup, Swarm, run, tool
from orbiter.ask import ask_operator
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script

HERE = Path(os.environ["ORBITER_TEST_EFFECTS"]).parent

def say(text):
    with (HERE / "effects").open("a") as world:
        world.write(text + "\\n")

@tool(idempotent=True)
async def ask(question: str) -> str:
    """Ask the operator."""
    return f"they say {await ask_operator(question)}"

def agent(name, *replies, tools=()):
    script(f"rules/{name}", list(replies))
    return Agent(name=name, model=f"scripted:rules/{name}", tools=list(tools))

def asker(name):
    return agent(name, Reply(calls=[Call("ask", {"question": "may I?"})]), f"{name} is done", tools=[ask])

@tool(idempotent=True)
async def careful() -> str:
    """Runs an agent and catches all that it can."""
    try:
        return (await run(asker("inner"), "go")).output
    except BaseException as caught:
        say(type(caught).__name__)
        raise

@tool(idempotent=True)
async def hasty() -> str:
    """Has no patience with the agent that it runs."""
    try:
        return (await asyncio.wait_for(run(asker("slow"), "go"), 0.3)).output
    except TimeoutError:
        return "without it, then"

@tool
async def once() -> str:
    """Must not be begun twice, and runs an agent."""
    say("once")
    return (await run(asker("within"), "go")).output

@tool(composite=True, timeout=0.2)
async def only_runs() -> str:
    """Only runs an agent: a scope."""
    return (await run(asker("child"), "go")).output

def calling(name, found):
    return agent(name, Reply(calls=[Call(found.name, {})]), "told: ${result}", tools=[found])

catching, impatient = calling("catching", careful), calling("impatient", hasty)
resident, scoped = calling("resident", once), calling("scoped", only_runs)

@tool(idempotent=True)
async def turn(n: int) -> str:
    """A turn."""
    return f"turn {n}"

talker = agent("talker", *[Reply(calls=[Call("turn", {"n": n})]) for n in range(8)], "talked", tools=[turn])
'''


@pytest.fixture
def rules(bench: Bench) -> Callable[[str], Coroutine[Any, Any, str]]:
    path = bench.root / "rules.py"
    path.write_text(SWARM)

    async def start(name: str, text: str = "go") -> str:
        return await bench.decisions.start(f"{path}:{name}", text, by=ME)

    return start


Start = Callable[[str], Coroutine[Any, Any, str]]


class Counting(ModelProvider):
    """Calls a tool once, then ends."""

    async def complete(self, messages: list[Message], **_settings: Any) -> ModelResponse:
        if messages[-1].role == "tool":
            return ModelResponse(content="done", usage=Usage())
        return ModelResponse(tool_calls=[ToolCall(id="c", name="one", arguments="{}")], usage=Usage())

    async def stream(self, messages: list[Message], **_settings: Any) -> AsyncIterator[StreamChunk]:
        for piece in ("a", "b", "c"):
            yield StreamChunk(delta=piece)
        yield StreamChunk(finish_reason="stop", usage=Usage())


async def one() -> str:
    """One."""
    return "one"


async def test_rule_1_a_stream_that_is_left_in_the_middle_leaves_no_scope_behind() -> None:
    assert not steps.inside()
    agent = Agent(name="a")
    async for _ in run.stream(agent, "q", provider=Counting(ModelConfig(provider="x", model_name="y"))):
        assert not steps.inside(), "the body of a generator sets nothing in its caller"
        break
    assert not steps.inside()


async def test_rule_2_a_single_tool_call_makes_no_task() -> None:
    made: list[str] = []

    def factory(loop: asyncio.AbstractEventLoop, coro: Any, **more: Any) -> asyncio.Task[Any]:
        made.append(repr(coro))
        return asyncio.Task(coro, loop=loop, **more)

    agent = Agent(name="a", tools=[one])
    provider = Counting(ModelConfig(provider="x", model_name="y"))
    loop = asyncio.get_running_loop()
    loop.set_task_factory(factory)
    try:
        assert (await run(agent, "q", provider=provider)).output == "done"
    finally:
        loop.set_task_factory(None)
    assert made == []


async def test_rule_2_tokens_pass_no_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    here = threading.get_ident()

    class Refused(asyncio.Queue[object]):
        def __init__(self) -> None:
            assert threading.get_ident() != here, "a token is handed on where it is made"
            super().__init__()

    monkeypatch.setattr(asyncio, "Queue", Refused)
    provider = Counting(ModelConfig(provider="x", model_name="y"))
    pieces = [event async for event in run.stream(Agent(name="a"), "q", provider=provider)]
    assert len(pieces) == 3


def test_rule_2_a_step_is_slotted() -> None:
    assert "__dict__" not in dir(steps.Step)


async def test_rule_4_a_tool_that_only_runs_agents_is_a_scope_without_a_time_out(bench: Bench, rules: Start) -> None:
    async with bench.driving(grace_s=0.0):
        run_id = await rules("scoped")
        (incident,) = await bench.incidents(run_id)
        state = await bench.until(run_id, lambda s: s.phase == "waiting")
        await asyncio.sleep(0.3)  # longer than its time-out
        state = await bench.ended_by(incident, "input", value="yes")
    (scope,) = [node for node in state.nodes.values() if node.name == "only_runs"]
    assert (scope.is_step, scope.phase) == (False, "succeeded")
    assert [found.opened.in_doubt for found in state.incidents.values()] == [False]
    assert state.output == "told: child is done"


async def test_rule_6_what_is_recalled_counts_nothing(bench: Bench, rules: Start) -> None:
    async with bench.driving(grace_s=0.0):
        run_id = await rules("resident")
        (incident,) = await bench.incidents(run_id)
        before = await bench.state(run_id)
    async with bench.driving(grace_s=0.0):
        state = await bench.until(run_id, lambda s: s.lives == 2 and bool(s.open_incidents))
        assert (state.llm_calls, state.tool_calls) == (before.llm_calls, before.tool_calls)
        assert all(node.attempts <= 1 for node in state.nodes.values())
    assert incident.run_id == run_id


async def test_rule_8_a_parked_step_raises_nothing_and_user_code_sees_only_the_cancellation(
    bench: Bench, rules: Start
) -> None:
    async with bench.driving(grace_s=0.0):
        run_id = await rules("catching")
        (incident,) = await bench.incidents(run_id)
        await bench.until(run_id, lambda s: s.phase == "waiting")
        assert bench.effects == ["CancelledError"]
        state = await bench.ended_by(incident, "input", value="yes")
    assert (state.output, len(state.incidents)) == ("told: inner is done", 1)
    assert bench.effects == ["CancelledError"]


async def test_rule_8_user_code_that_withdraws_closes_its_incident(bench: Bench, rules: Start) -> None:
    async with bench.driving():
        state = await bench.ended(await rules("impatient"))
    (incident,) = state.incidents.values()
    assert (incident.state, state.output) == ("closed", "told: without it, then")
    assert "no step waits for it any more" in incident.closed


async def test_rule_8_a_call_that_must_not_be_begun_twice_keeps_its_run_in_memory(bench: Bench, rules: Start) -> None:
    async with bench.driving(grace_s=0.0) as supervisor:
        run_id = await rules("resident")
        (incident,) = await bench.incidents(run_id)
        await asyncio.sleep(0.2)  # ten times its grace
        assert supervisor.driving == [run_id]
        state = await bench.ended_by(incident, "input", value="yes")
    assert (state.lives, bench.effects) == (1, ["once"])


@pytest.mark.parametrize(("told_at_once", "on"), [(True, True), (False, True), (False, False)])
async def test_gates_before_an_attempt_come_in_designs_order(
    monkeypatch: pytest.MonkeyPatch, told_at_once: bool, on: bool
) -> None:
    order = ["freeze", "breakpoint", "server", "permission", "budget", "breaker"]
    asked: list[str] = []

    def notes(gate: str) -> Callable[..., None]:
        return lambda *_args, **_kwargs: asked.append(gate)

    def awaits(gate: str) -> Callable[..., Coroutine[Any, Any, None]]:
        async def ask(*_args: Any) -> None:
            asked.append(gate)

        return ask

    def is_closed_now(_key: str) -> bool:
        if told_at_once:
            asked.append("breaker")
        return told_at_once

    monkeypatch.setattr(chain, "breakpoint_fault", notes("breakpoint"))
    monkeypatch.setattr(chain, "check_server", awaits("server"))
    monkeypatch.setattr(chain, "check_permission", awaits("permission"))
    monkeypatch.setattr(chain, "check_budget", notes("budget"))
    tracker = SimpleNamespace(wait_until_thawed=awaits("freeze"), is_frozen=False)
    execution: Any = SimpleNamespace(
        session=SimpleNamespace(tracker=tracker, ending="", breakers=SimpleNamespace(is_closed_now=is_closed_now)),
        state=SimpleNamespace(breakpoints=[("tool", "*")]),
        step=Step("tool", "pay", "clerk", Place(0), {}, None, None, Traits(server="bank", permissions=("pay:all",))),  # type: ignore[arg-type]
        breaker_key="mcp:bank",
        breaker=SimpleNamespace(admit=awaits("breaker")) if on else NO_BREAKER,
        **dict.fromkeys(("node_id", "parent_id", "activity", "tool_arguments", "model"), ""),
        attempts=0,
        refused=False,
    )
    assert await chain.check_gates(execution) is None
    # Once more where the breaker was waited for: something may have spent the budget meanwhile.
    assert asked == (order if told_at_once else [*order, "budget"] if on else order[:-1])


class Speaking(ModelProvider):
    """Counts how it is asked."""

    asked: ClassVar[list[str]] = []

    async def complete(self, messages: list[Message], **_settings: Any) -> ModelResponse:
        self.asked.append("complete")
        return ModelResponse(content="abc", usage=Usage())

    async def stream(self, messages: list[Message], **_settings: Any) -> AsyncIterator[StreamChunk]:
        self.asked.append("stream")
        for piece in ("a", "b", "c"):
            yield StreamChunk(delta=piece)
        yield StreamChunk(finish_reason="stop", usage=Usage())


class Streaming(Speaking):
    streams: ClassVar[bool] = True


class Watching:
    def __init__(self) -> None:
        self.pieces: list[tuple[str, str, int, str]] = []
        self.anybody = True

    def wants(self, run_id: str) -> bool:
        return self.anybody

    def put(self, run_id: str, node_id: str, attempt: int, kind: str, text: str) -> None:
        self.pieces.append((run_id, node_id, attempt, text))


@pytest.mark.parametrize(("declares", "watched"), [(True, True), (True, False), (False, True)])
async def test_rule_13_only_what_declares_it_is_streamed_and_only_to_who_watches(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, declares: bool, watched: bool
) -> None:
    name = f"rule13-{declares}-{watched}"
    kind = Streaming if declares else Speaking
    kind.asked = []
    monkeypatch.setitem(model_registry._items, name, kind)
    path = bench.root / "swarm.py"
    path.write_text(f"from orbiter import Agent\nswarm = Agent(name='a', model='{name}:x')\n")
    deltas = Watching()
    deltas.anybody = watched
    async with bench.driving(deltas=deltas):
        run_id = await bench.decisions.start(f"{path}:swarm", "go", by=ME)
        state = await bench.ended(run_id)
    assert state.output == "abc"
    streamed = declares and watched
    assert kind.asked == ["stream" if streamed else "complete"]
    assert [piece[3] for piece in deltas.pieces] == (["a", "b", "c"] if streamed else [])
    assert {piece[:3] for piece in deltas.pieces} == ({(run_id, "a~0/llm~0", 1)} if streamed else set())
    ended = [event for event in await bench.journal.read(run_id) if isinstance(event, ev.StepEnded)]
    assert len(ended) == 1, "pieces never reach the journal"


async def test_events_of_later_turns_are_no_longer_for_what_was_said_before(bench: Bench, rules: Start) -> None:
    async with bench.driving():
        run_id = await rules("talker")
        assert (await bench.ended(run_id)).output == "talked"
    asked = [
        len(json.dumps(event.requested))
        for event in await bench.journal.read(run_id)
        if isinstance(event, ev.StepStarted) and event.kind == "llm"
    ]
    assert len(asked) == 9
    assert max(asked[1:]) - min(asked[1:]) < 20, "a reply is recorded, never the list of messages again"


class Forgetful(LocalEngine):
    """Loses what it is given, now and then."""

    def __init__(self, carry_on: DriveRun, find: FindRuns) -> None:
        super().__init__(carry_on, find)
        self.given = 0

    def submit(self, run_id: str) -> bool:
        self.given += 1
        return True if self.given % 3 else super().submit(run_id)


async def test_section_4_what_an_engine_loses_is_submitted_again(bench: Bench) -> None:
    config = ExecutionConfig(workspace=str(bench.root), grace_s=0.0)
    supervisor = Supervisor(bench.journal, config, period_s=0.01, engine=Forgetful)
    serving = asyncio.create_task(supervisor.serve())
    try:
        runs = [await bench.start("plain") for _ in range(4)]
        for found in runs:
            assert (await bench.ended(found)).phase == "completed"
    finally:
        supervisor.stop()
        await serving


async def test_section_4_a_decision_of_another_process_wakes_a_run_that_is_driven(bench: Bench, tmp_path: Path) -> None:
    async with bench.driving():  # resident: its grace is a minute
        run_id, incident = await bench.asked("asker")
        async with await open_journal(bench.root) as other:
            await Bench(tmp_path, other).answer(incident, "input", value="you")
        state: DurableRun = await bench.ended(run_id)
    assert (state.phase, state.lives) == ("completed", 1)
