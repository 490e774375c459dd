"""Properties of the engine over arbitrary calls, flows and crashes."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from orbiter import Agent, Swarm, run, steps, tool
from orbiter._internal.loop.loop_detection import LoopDetector, call_signature
from orbiter._internal.loop.tool_step import TOOL_CODEC, ToolInvocation
from orbiter.models.types import ModelResponse
from orbiter.types import ToolResult
from tests.orbiter.engine_fakes import ByAgent, Crash, Journal, Recording, calls, text

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
arguments = st.dictionaries(st.text(max_size=3), json_values, max_size=4)
some_calls = st.lists(st.tuples(st.sampled_from(["a", "b"]), arguments), min_size=1, max_size=4)


def shuffled_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shuffled_keys(value[key]) for key in reversed(value)}
    return [shuffled_keys(each) for each in value] if isinstance(value, list) else value


@given(some_calls, st.randoms())
def test_a_signature_knows_no_order(made: list[tuple[str, Any]], chance: Any) -> None:
    other = [(name, shuffled_keys(given)) for name, given in made]
    chance.shuffle(other)
    assert call_signature(made) == call_signature(other)
    repeats = LoopDetector(2)
    assert repeats.add_calls(made) is None
    assert repeats.add_calls(other) is not None


@given(some_calls, some_calls)
def test_other_calls_are_no_repetition(first: list[tuple[str, Any]], second: list[tuple[str, Any]]) -> None:
    repeats = LoopDetector(2)
    repeats.add_calls(first)
    assert (repeats.add_calls(second) is not None) == (call_signature(first) == call_signature(second))


@given(arguments, arguments)
def test_replaced_arguments_are_put_in_place(before: dict[str, Any], after: dict[str, Any]) -> None:
    invocation = ToolInvocation(None, "t", dict(before), "1")
    live = invocation.arguments
    assert TOOL_CODEC.replace(invocation, {"arguments": after}) is invocation
    assert live == after
    result = ToolResult(tool_call_id="1", tool_name="t", content=json.dumps(after))
    assert TOOL_CODEC.load(json.loads(json.dumps(TOOL_CODEC.dump(result)))) == result


# A flow: stages of one to three agents, each with some rounds of some tool calls before it answers.
agent_rounds = st.lists(st.integers(1, 3), max_size=2)
flows = st.lists(st.lists(agent_rounds, min_size=1, max_size=3), min_size=1, max_size=3)


def _swarm(flow: list[list[list[int]]], effects: Counter[str]) -> tuple[Swarm, ByAgent]:
    @tool
    async def act(what: str) -> str:
        effects[what] += 1
        return what

    agents: list[Agent] = []
    replies: dict[str, list[ModelResponse]] = {}
    stages: list[str] = []
    for at, stage in enumerate(flow):
        names = [f"s{at}m{member}" for member in range(len(stage))]
        for name, rounds in zip(names, stage, strict=True):
            agents.append(Agent(name=name, instructions=name, tools=[act]))
            replies[name] = [
                calls(*[("act", {"what": f"{name}.{turn}.{call}"}) for call in range(count)])
                for turn, count in enumerate(rounds)
            ]
            replies[name].append(text(f"{name} is done"))
        stages.append(f"({' | '.join(names)})")
    return Swarm(agents=agents, flow=" >> ".join(stages)), ByAgent(**replies)


@settings(max_examples=40, deadline=None)
@given(flows, st.lists(st.integers(0, 12), max_size=4))
def test_however_often_a_run_dies_each_recorded_effect_happens_once(
    flow: list[list[list[int]]], deaths: list[int]
) -> None:
    async def lives() -> None:
        effects: Counter[str] = Counter()
        swarm, provider = _swarm(flow, effects)
        journal = Journal()
        with steps.entered(Recording(journal)):
            for death in deaths:
                journal.crash_after = len(journal.records) + death
                try:
                    await run(swarm, "go", provider=provider)
                except Crash:
                    continue
                break
            journal.crash_after = None
            result = await run(swarm, "go", provider=provider)
        assert result.output.endswith("is done")
        wanted = sum(sum(rounds) for stage in flow for rounds in stage)
        assert len(effects) == wanted
        assert set(journal.executed.values()) == {1}
        assert result.total_usage is not None
        assert result.total_usage.total_tokens == 15 * sum(len(rounds) + 1 for stage in flow for rounds in stage)

    asyncio.run(lives())
