"""A body that is done again says the same steps under the same paths, and nothing is executed twice."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from orbiter import Agent, ParallelGroup, SerialGroup, Swarm, SwarmNode, run, steps, tool
from orbiter.hooks import HookPoint
from orbiter.steps import Answer
from orbiter.types import Message, RunResult
from tests.orbiter.engine_fakes import ByAgent, Crash, Journal, Recording, Script, calls, text

effects: Counter[str] = Counter()


@tool
async def note(what: str) -> str:
    """Note something."""
    # Which starts first must not matter to what is recorded where.
    await asyncio.sleep(random.random() / 1000)
    effects[what] += 1
    return f"noted {what}"


@tool
def blocking(what: str) -> str:
    """Note something in a thread."""
    effects[what] += 1
    return f"noted {what}"


@tool
async def asks_another(question: str) -> str:
    """Run an agent inside a tool."""
    helper = Agent(name="helper", instructions="helper")
    return (await run(helper, question, provider=_provider())).output


def _echo(prefix: str) -> Callable[[list[Message]], Any]:
    return lambda messages: text(f"{prefix}({messages[-1].content})")


def _provider() -> ByAgent:
    return ByAgent(
        a=[calls(("note", {"what": "a1"}), ("blocking", {"what": "a2"}), ("note", {"what": "a3"})), _echo("A")],
        b=[calls(("note", {"what": "b1"})), _echo("B")],
        c=[_echo("C")],
        d=[calls(("asks_another", {"question": "why?"})), _echo("D")],
        helper=[_echo("H")],
        lead=[
            calls(("delegate_to_a", {"task": "one"}), ("delegate_to_b", {"task": "two"})),
            calls(("delegate_to_a", {"task": "three"}), ("note", {"what": "lead"})),
            _echo("L"),
        ],
        x=[calls(("note", {"what": "x1"})), text("y")],
        y=[text("z")],
        z=[_echo("Z")],
    )


def _agent(name: str, *tools: Any, **more: Any) -> Agent:
    return Agent(name=name, instructions=lambda _: f"{name} {random.random()}", tools=list(tools), **more)


def _workflow() -> Swarm:
    return Swarm(
        agents=[_agent("a", note, blocking), _agent("b", note), _agent("c"), _agent("d", asks_another)],
        flow="a >> (b | c) >> d",
    )


def _team() -> Swarm:
    return Swarm(agents=[_agent("lead", note), _agent("a", note, blocking), _agent("b", note)], mode="team")


def _handoff() -> Swarm:
    z = _agent("z")
    y = _agent("y", handoffs=[z])
    x = _agent("x", note, handoffs=[y])
    return Swarm(agents=[x, y, z], mode="handoff")


def _groups() -> Swarm:
    inner = Swarm(agents=[_agent("c"), _agent("b", note)])
    together = ParallelGroup(
        name="together",
        agents=[_agent("a", note, blocking), SwarmNode(swarm=inner, name="inner")],
        aggregate_fn=lambda outputs: "+".join(sorted(outputs)) + str(random.random()),
    )
    return Swarm(agents=[together, SerialGroup(name="chain", agents=[_agent("d", asks_another), _agent("z")])])


async def _life(journal: Journal, make: Callable[[], Any]) -> RunResult:
    with steps.entered(Recording(journal)):
        return await run(make(), "go", provider=_provider())


@pytest.fixture(autouse=True)
def _clean() -> None:
    effects.clear()


SWARMS = [_workflow, _team, _handoff, _groups]


@pytest.mark.parametrize("make", SWARMS)
async def test_a_run_that_died_after_any_step_goes_on_and_repeats_nothing(make: Callable[[], Any]) -> None:
    whole = Journal()
    await _life(whole, make)
    assert len(whole.records) > 5
    for crash_after in range(len(whole.records)):
        effects.clear()
        journal = Journal()
        journal.crash_after = crash_after
        with pytest.raises(Crash):
            await _life(journal, make)
        died_with = dict(journal.records)
        journal.crash_after = None
        result = await _life(journal, make)
        assert result.output
        assert journal.records.keys() == whole.records.keys()
        assert died_with.items() <= journal.records.items()
        # What was under way beside the step that died may be done again: it had no record yet.
        assert all(count == 1 for path, count in journal.executed.items() if path in died_with)


@pytest.mark.parametrize("make", SWARMS)
async def test_a_finished_run_is_recalled_without_a_single_call(make: Callable[[], Any]) -> None:
    journal = Journal()
    first = await _life(journal, make)
    before = Counter(journal.executed)
    done = Counter(effects)
    second = await _life(journal, make)
    assert journal.executed == before
    assert effects == done
    assert (second.output, second.total_usage, second.messages) == (first.output, first.total_usage, first.messages)


@pytest.mark.parametrize("make", SWARMS)
async def test_no_two_steps_of_a_life_share_a_path(make: Callable[[], Any]) -> None:
    journal = Journal()
    await _life(journal, make)
    assert set(journal.visited.values()) == {1}
    assert len(set(journal.opened)) == len(journal.opened)


async def test_paths_are_those_of_the_declaration() -> None:
    journal = Journal()
    await _life(journal, _workflow)
    swarm = "/swarm:swarm(a...)~0"
    assert f"{swarm}/agent:a~0/tool:note~0.2" in journal.records
    assert f"{swarm}/agent:b~1.0/tool:note~0.0" in journal.records
    assert f"{swarm}/agent:c~1.1/llm:llm~0" in journal.records
    assert f"{swarm}/agent:d~2/value:instructions~0" in journal.records


async def test_a_delegated_task_is_a_node_and_the_worker_stands_in_it() -> None:
    journal = Journal()
    await _life(journal, _team)
    lead = "/swarm:swarm(lead...)~0/agent:lead~0"
    assert f"{lead}/tool:delegate_to_b~0.1/agent:b~0/tool:note~0.0" in journal.records
    assert f"{lead}/tool:delegate_to_a~1.0/agent:a~0/llm:llm~1" in journal.records
    assert not any(path.endswith("tool:delegate_to_a~0.0") for path in journal.records)


async def test_an_agent_that_asks_twice_is_two_nodes() -> None:
    class Twice(Agent):
        async def run(self, input: str, **settings: Any) -> Any:
            first = await super().run(input, **settings)
            return await super().run(first.text, **settings)

    swarm = Swarm(agents=[Twice(name="c", instructions="c"), _agent("b", note)])
    journal = Journal()
    result = await _life(journal, lambda: swarm)
    again = await _life(journal, lambda: swarm)
    assert result.output == again.output == "B(noted b1)"
    assert result.outputs["c"] == "C(C(go))"
    steps_of_c = [path for path in journal.records if "/agent:c" in path]
    assert steps_of_c == ["/swarm:swarm(c...)~0/agent:c~0/llm:llm~0", "/swarm:swarm(c...)~0/agent:c#2~0/llm:llm~0"]
    assert set(journal.executed.values()) == {1}


async def test_hooks_fire_once_in_all_lives() -> None:
    fired: Counter[str] = Counter()

    def count(point: HookPoint) -> Any:
        async def hook(**data: Any) -> None:
            fired[f"{data['agent'].name}:{point.name}"] += 1

        return hook

    hooks = [(point, count(point)) for point in HookPoint]

    def make() -> Swarm:
        lead = Agent(name="lead", instructions="lead", tools=[note], hooks=hooks)
        workers = [Agent(name=n, instructions=n, tools=[note, blocking], hooks=hooks) for n in "ab"]
        return Swarm(agents=[lead, *workers], mode="team")

    journal = Journal()
    await _life(journal, make)
    once = Counter(fired)
    assert once["lead:START"] == once["lead:FINISHED"] == 1
    assert once["lead:PRE_TOOL_CALL"] == once["lead:POST_TOOL_CALL"] == 4
    assert once["lead:ERROR"] == 0
    await _life(journal, make)
    assert fired == once


async def test_messages_edited_by_a_hook_are_what_the_model_gets() -> None:
    async def edit(agent: Any, messages: list[Message]) -> None:
        messages[-1] = messages[-1].model_copy(update={"content": "edited"})

    agent = Agent(name="c", instructions="c", hooks=[(HookPoint.PRE_LLM_CALL, edit)])
    assert (await run(agent, "go", provider=_provider())).output == "C(edited)"


async def test_a_body_done_again_after_a_fault_recalls_its_steps_and_counts_loops_anew() -> None:
    journal = Journal()
    raised: list[str] = []

    async def once(agent: Any, output: str) -> None:
        if not raised:
            raised.append(output)
            raise ValueError("not yet")

    agent = Agent(name="a", instructions="a", tools=[note, blocking], hooks=[(HookPoint.FINISHED, once)])
    journal.answers["/agent:a~0"] = [Answer("retry")]
    with steps.entered(Recording(journal)):
        result = await run(agent, "go", provider=_provider(), loop_threshold=2)
    assert result.output.startswith("A(")
    assert set(effects.values()) == {1}
    assert journal.faults == [("/agent:a~0", "not yet", None)]
    assert result.usage.total_tokens == 30


async def test_a_loop_that_an_operator_lets_go_on_is_counted_from_the_beginning() -> None:
    journal, same = Journal(), calls(("note", {"what": "again"}))
    agent = Agent(name="a", instructions="a", tools=[note])
    journal.answers["/agent:a~0"] = [Answer("input", "try something else")]
    with steps.entered(Recording(journal)):
        result = await run(agent, "go", provider=Script(same, same, same, text("done")), loop_threshold=2)
    assert result.output == "done"
    assert [(path, at) for path, _, at in journal.faults] == [("/agent:a~0", 1)]
    assert "try something else" in [message.content for message in result.messages]


async def test_calls_that_are_malformed_and_a_loop_are_one_fault() -> None:
    journal, bad = Journal(), calls(("note", "{"))
    agent = Agent(name="a", instructions="a", tools=[note])
    journal.answers["/agent:a~0"] = [Answer("retry")]
    with steps.entered(Recording(journal)):
        result = await run(agent, "go", provider=Script(bad, bad, bad, text("done")), loop_threshold=2, max_retries=2)
    assert result.output == "done"
    ((_, said, at),) = journal.faults
    assert said.startswith("Invalid JSON in arguments for tool 'note'")
    assert at == 1


async def test_an_answer_of_input_is_the_input_of_the_body_done_again() -> None:
    journal = Journal()
    path = "/swarm:swarm(x...)~0"
    # One handoff more than is allowed; the operator asks something that needs none.
    journal.answers[path] = [Answer("input", "stop handing over")]
    x = Agent(name="x", instructions="x")
    x.handoffs["y"] = Agent(name="y", instructions="y")
    replies = ByAgent(x=[lambda messages: text("done" if messages[-1].content == "stop handing over" else "y")])
    swarm = Swarm(agents=[x, x.handoffs["y"]], mode="handoff", max_handoffs=0)
    scope = _Forgetful(journal)
    with steps.entered(scope):
        result = await run(swarm, "go", provider=replies)
    assert result.output == "done"
    assert [fault[1] for fault in journal.faults] == ["Max handoffs (0) exceeded in swarm"]


class _Forgetful(Recording):
    """A runtime for which other input makes other steps: what was recorded for the old input does not count."""

    __slots__ = ()

    def scope(self, *args: Any, **kwargs: Any) -> Any:
        inner = super().scope(*args, **kwargs)
        assert isinstance(inner, Recording)
        return _Forgetful(self.journal, inner.path)

    async def fault(self, exc: Exception, *, at: int | None = None) -> Answer:
        answer = await super().fault(exc, at=at)
        self.journal.records.clear()
        return answer
