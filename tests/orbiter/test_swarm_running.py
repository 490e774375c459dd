"""Swarms and groups in plain run: the three modes, nested swarms, join and failure policies."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import orbiter.runner
from orbiter import Agent, JoinPolicy, ParallelGroup, SerialGroup, Swarm, SwarmNode, run, tool
from orbiter._internal.declarations.container import models_of
from orbiter._internal.nested import NestedSwarmError
from orbiter.agent import AgentError
from orbiter.errors import CallRunnerError, ConfigurationError, GroupError, HandoffLimitError, JoinError
from orbiter.swarm import SwarmError, SwarmMode, _DelegateTool
from orbiter.types import (
    AgentOutput,
    AssistantMessage,
    Message,
    RunResult,
    SystemMessage,
    ToolResult,
    UserMessage,
)
from tests.orbiter.engine_fakes import ONE, ByAgent, Script, calls, text


def agent(name: str, **more: Any) -> Agent:
    return Agent(name=name, instructions=name, **more)


def echo(prefix: str) -> Any:
    return lambda messages: text(f"{prefix}({messages[-1].content})")


ECHO = ByAgent(**{name: [echo(name.upper())] for name in "abcdef"})


# --- workflow ---------------------------------------------------------------------------------------------------------


async def test_each_output_is_the_next_ones_input() -> None:
    result = await run(Swarm(agents=[agent(n) for n in "abc"]), "q", provider=ECHO)
    assert result.output == "C(B(A(q)))"
    # The result is the last agent's; the swarm's totals stand in fields of their own.
    assert (result.agent, result.usage, result.steps) == ("c", ONE, 1)
    assert result.total_usage is not None
    assert (result.total_usage.total_tokens, result.total_steps) == (45, 3)
    assert result.outputs == {"a": "A(q)", "b": "B(A(q))", "c": "C(B(A(q)))"}


async def test_a_parallel_stage_runs_at_once_and_hands_its_joined_outputs_on() -> None:
    # D19: flattened and run one after another with chaining.
    together = asyncio.Barrier(2)

    class Provider(ByAgent):
        async def complete(self, messages: list[Message], **kwargs: Any) -> Any:
            if messages[0].content in ("b", "c"):
                async with asyncio.timeout(60):
                    await together.wait()
            return await super().complete(messages, **kwargs)

    swarm = Swarm(agents=[agent(n) for n in "abcd"], flow="a >> (c | b) >> d")
    assert swarm.flow_order == ["a", "b", "c", "d"]
    result = await run(swarm, "q", provider=Provider(**ECHO.replies))
    assert result.output == "D(C(A(q))\n\nB(A(q)))"


async def test_a_last_parallel_stage_is_joined_and_summed() -> None:
    result = await run(Swarm(agents=[agent("a"), agent("b")], flow="(a | b)"), "q", provider=ECHO)
    assert result.output == "A(q)\n\nB(q)"
    assert (result.usage.total_tokens, result.steps) == (30, 2)


async def test_each_agent_uses_its_own_model(monkeypatch: pytest.MonkeyPatch) -> None:
    # 3.2.1: one provider was resolved from the first agent and used for all.
    asked: list[str] = []

    def resolve(member: Any) -> Any:
        asked.append(member.model)
        return Script(text(member.model))

    monkeypatch.setattr(orbiter.runner, "_resolve_provider", resolve)
    swarm = Swarm(agents=[agent("a", model="cheap:x"), agent("b", model="big:x")])
    assert (await run(swarm, "q")).output == "big:x"
    assert asked == ["cheap:x", "big:x"]


async def test_prior_messages_reach_every_agent_of_a_workflow() -> None:
    provider = Script(text("1"), text("2"))
    history: list[Message] = [UserMessage(content="hi"), AssistantMessage(content="ho")]
    await run(Swarm(agents=[Agent(name="a"), Agent(name="b")]), "q", messages=history, provider=provider)
    assert [seen[:2] for seen in provider.seen] == [history, history]


async def test_a_failing_stage_fails_the_run_or_is_passed_over_by_policy() -> None:
    replies = ECHO.replies | {"b": [ValueError("broken")]}
    agents = [agent(n) for n in "abc"]
    with pytest.raises(AgentError, match="Call runner failed for agent 'b': Agent 'b' failed after 1 retries: broken"):
        await run(Swarm(agents=agents), "q", provider=ByAgent(**replies), max_retries=1)
    result = await run(Swarm(agents=agents, failure="degrade"), "q", provider=ByAgent(**replies), max_retries=1)
    assert (result.output, result.state) == ("C(A(q))", "degraded")
    assert any("'b' failed and was passed over" in warning for warning in result.warnings)
    result = await run(Swarm(agents=agents, failure="continue"), "q", provider=ByAgent(**replies), max_retries=1)
    assert (result.output, result.state) == ("C(A(q))", "completed")


async def test_a_peer_called_as_a_tool_is_explained_in_each_mode() -> None:
    peer = calls(("b", {}))
    advices: dict[SwarmMode, str] = {
        "workflow": "works on its own stage",
        "handoff": "reply with exactly its name",
        "team": "Call the tool 'delegate_to_b' instead",
    }
    for mode, advice in advices.items():
        provider = Script(peer, text("sorry"), text("and b"))
        await run(Swarm(agents=[Agent(name="a"), Agent(name="b")], mode=mode), "q", provider=provider)
        result = provider.seen[1][-1]
        assert isinstance(result, ToolResult)
        assert str(result.error).startswith("Unknown tool 'b': 'b' is an agent, not a tool.")
        assert advice in str(result.error)


# --- handoff ----------------------------------------------------------------------------------------------------------


def handoff_swarm(**more: Any) -> Swarm:
    b = agent("b")
    a = agent("a", handoffs=[b])
    b.handoffs["a"] = a
    return Swarm(agents=[a, b], mode="handoff", **more)


async def test_a_handoff_carries_the_question_and_the_whole_conversation() -> None:
    # D6: the question and A's work were lost, system prompts piled up.
    @tool
    async def look() -> str:
        return "seen"

    b = agent("b")
    a = agent("a", handoffs=[b], tools=[look])
    provider = Script(calls(("look", {})), text(" b "), text("done"))
    history: list[Message] = [UserMessage(content="hi"), AssistantMessage(content="ho")]
    swarm = Swarm(agents=[a, b], mode="handoff")
    result = await run(swarm, "q", messages=history, provider=provider)
    assert result.output == "done"
    last = provider.seen[-1]
    assert last[0] == SystemMessage(content="b")
    assert [m.role for m in last] == ["system", "user", "assistant", "user", "assistant", "tool", "assistant", "user"]
    assert last[3] == UserMessage(content="q")
    assert last[-1] == UserMessage(content="b")
    assert (result.agent, result.total_steps) == ("b", 2)


async def test_max_handoffs_allows_as_many_transitions() -> None:
    back_and_forth = [text("b"), text("a"), text("b"), text("done")]
    assert (await run(handoff_swarm(max_handoffs=3), "q", provider=Script(*back_and_forth))).output == "done"
    with pytest.raises(SwarmError, match=r"^Max handoffs \(2\) exceeded in swarm$") as caught:
        await run(handoff_swarm(max_handoffs=2), "q", provider=Script(*back_and_forth))
    assert isinstance(caught.value, HandoffLimitError)


async def test_only_a_declared_handoff_within_the_swarm_hands_over() -> None:
    outside = agent("outside")
    a = agent("a", handoffs=[outside])
    swarm = Swarm(agents=[a, agent("b")], mode="handoff")
    for said in ("outside", "b", "go to b"):
        result = await run(swarm, "q", provider=Script(text(said)))
        assert (result.output, result.agent) == (said, "a")


# --- team -------------------------------------------------------------------------------------------------------------


async def test_a_lead_delegates_and_its_tools_stay_its_own() -> None:
    # 3.2.3: delegate tools were put into the shared lead.
    lead, worker = agent("lead"), agent("w")
    provider = ByAgent(
        lead=[calls(("delegate_to_w", {"task": "dig"})), echo("L")],
        w=[lambda messages: text(f"dug {messages[-1].content} {sorted(lead.tools)}")],
    )
    result = await run(Swarm(agents=[lead, worker], mode="team"), "q", provider=provider)
    assert result.output == "L(dug dig [])"
    assert result.outputs == {"w": "dug dig []", "lead": "L(dug dig [])"}
    assert result.total_usage is not None
    assert (result.usage.total_tokens, result.total_usage.total_tokens, result.total_steps) == (30, 45, 2)


async def test_a_thousand_runs_of_one_team_leave_no_trace() -> None:
    lead, worker = agent("lead"), agent("w")
    team = Swarm(agents=[lead, worker], mode="team")
    before = (dict(vars(lead)), dict(vars(worker)), dict(vars(team)))

    class Provider:
        async def complete(self, messages: list[Message], **kwargs: Any) -> Any:
            await asyncio.sleep(0)
            if messages[0].content == "lead" and isinstance(messages[-1], UserMessage):
                return calls(("delegate_to_w", {"task": f"task {messages[-1].content}"}))
            return text(str(messages[-1].content))

    provider = Provider()
    results = await asyncio.gather(*(run(team, str(n), provider=provider) for n in range(1000)))
    assert [result.output for result in results] == [f"task {n}" for n in range(1000)]
    assert (dict(vars(lead)), dict(vars(worker)), dict(vars(team))) == before
    assert lead.tools == {}


async def test_a_failing_worker_is_an_error_for_the_lead() -> None:
    provider = ByAgent(lead=[calls(("delegate_to_w", {"task": "dig"})), text("told")], w=[ValueError("no spade")])
    team = Swarm(agents=[agent("lead"), agent("w")], mode="team")
    result = await run(team, "q", provider=provider, max_retries=1)
    assert result.output == "told"
    told = result.messages[3]
    assert isinstance(told, ToolResult)
    assert "no spade" in str(told.error)


async def test_a_teams_join_policy_judges_what_was_delegated() -> None:
    provider = ByAgent(
        lead=[calls(("delegate_to_v", {"task": "1"}), ("delegate_to_w", {"task": "2"})), text("told")],
        v=[text("fine")],
        w=[ValueError("no spade")],
    )
    agents = [agent("lead"), agent("v"), agent("w")]
    lax = Swarm(agents=agents, mode="team", join="allow_optional_failures")
    result = await run(lax, "q", provider=provider, max_retries=1)
    assert (result.output, result.state) == ("told", "degraded")
    enough = await run(Swarm(agents=agents, mode="team", join="first_success"), "q", provider=provider, max_retries=1)
    assert (enough.output, enough.state) == ("told", "completed")
    assert len(enough.warnings) == 1
    assert enough.warnings[0].startswith("'w' failed: ")
    with pytest.raises(JoinError, match="Quorum of 2 not reached"):
        await run(Swarm(agents=agents, mode="team", join="quorum:2"), "q", provider=provider, max_retries=1)


async def test_a_nested_swarm_as_a_worker() -> None:
    # D20: failed with 'RunResult' object has no attribute 'tool_calls', hidden in a ToolResult.
    inner = SwarmNode(swarm=Swarm(agents=[agent("a"), agent("b")]), name="crew")
    replies = {"lead": [calls(("delegate_to_crew", {"task": "t"})), echo("L")], **ECHO.replies}
    result = await run(Swarm(agents=[agent("lead"), inner], mode="team"), "q", provider=ByAgent(**replies))
    assert result.output == "L(B(A(t)))"
    assert result.total_steps == 3


async def test_a_swarm_with_a_run_of_its_own_is_run_by_it() -> None:
    class Own(Swarm):
        async def run(self, input: str, **options: Any) -> RunResult:
            return await super().run(f"own {input}", **options)

    own, replaced = Own(agents=[agent("a")]), Swarm(agents=[agent("a")])

    async def stand_in(input: str, **options: Any) -> str:
        return f"stand-in {input}"

    vars(replaced)["run"] = stand_in
    for swarm, output in ((own, "A(own q)"), (replaced, "stand-in q")):
        assert (await run(swarm, "q", provider=ECHO)).output == output
        for member in (swarm, SwarmNode(swarm=swarm)):
            outer = SerialGroup(name="outer", agents=[member, agent("b")])
            assert (await run(outer, "q", provider=ECHO)).output == f"B({output})"


async def test_a_duck_typed_lead_gets_its_tools_in_a_copy() -> None:
    class Duck:
        name = "duck"

        def __init__(self) -> None:
            self.tools: dict[str, Any] = {}

        async def run(self, input: str, *, messages: Any = None, provider: Any = None, max_retries: int = 3) -> Any:
            said = await self.tools["delegate_to_a"].execute(task=input)
            return AgentOutput(text=f"duck {said}")

    duck = Duck()
    result = await run(Swarm(agents=[duck, agent("a")], mode="team"), "q", provider=ECHO)
    assert result.output == "duck A(q)"
    assert duck.tools == {}


async def test_the_delegate_tool_by_itself() -> None:
    delegate = _DelegateTool(worker=agent("a"), provider=ECHO, max_retries=1)
    assert delegate.name == "delegate_to_a"
    assert delegate.to_schema()["function"]["parameters"]["required"] == ["task"]
    assert await delegate.execute(task="t") == "A(t)"


async def test_what_a_team_cannot_be() -> None:
    with pytest.raises(SwarmError, match=r"^Team mode requires at least two agents \(lead \+ workers\)$"):
        await run(Swarm(agents=[agent("a")], mode="team"), "q", provider=ECHO)

    @tool(name="delegate_to_b")
    def taken() -> str:
        return ""

    with pytest.raises(SwarmError, match="delegate_to_b"):
        await run(Swarm(agents=[agent("a", tools=[taken]), agent("b")], mode="team"), "q", provider=ECHO)
    group = SerialGroup(name="g", agents=[agent("c")])
    with pytest.raises(SwarmError, match="requires an agent as its lead"):
        await run(Swarm(agents=[group, agent("b")], mode="team"), "q", provider=ECHO)


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "flow", "message"),
    [
        ("", None, "Swarm requires at least one agent"),
        ("aa", None, "Duplicate agent name 'a' in swarm"),
        ("ab", "", "Invalid flow DSL: Empty flow DSL"),
        ("ab", "a >> >> b", "Invalid flow DSL: Malformed flow DSL: 'a >> >> b'"),
        ("ab", "(a||b)", "Invalid flow DSL: Empty member in parallel group: '(a||b)'"),
        ("ab", "a | b", "Flow references unknown agent 'a | b'"),
        ("ab", "a >> b >> a", "Cycle in flow DSL: Cycle detected in graph"),
        ("abc", "a >> b", "Flow leaves out agents: 'c'"),
    ],
)
def test_the_constructor_refuses(names: str, flow: str | None, message: str) -> None:
    with pytest.raises(SwarmError) as caught:
        Swarm(agents=[agent(name) for name in names], flow=flow)
    assert str(caught.value) == message


def test_a_stage_without_parentheses_is_shown_with_them() -> None:
    with pytest.raises(SwarmError) as caught:
        Swarm(agents=[agent("a"), agent("b")], flow="a | b")
    assert caught.value.suggestion is not None
    assert "stand in parentheses: (a | b)." in caught.value.suggestion


async def test_the_mode_is_refused_at_run() -> None:
    swarm = Swarm(agents=[agent("a")], mode="chaos")  # type: ignore[arg-type]  # a mistake
    with pytest.raises(SwarmError, match=r"^Unsupported swarm mode: 'chaos'$"):
        await run(swarm, "q", provider=ECHO)


def test_policies_are_refused_at_once() -> None:
    with pytest.raises(ConfigurationError, match="Unknown join policy"):
        Swarm(agents=[agent("a")], join="most")
    with pytest.raises(ConfigurationError, match="quorum of 3 cannot be reached by 2"):
        ParallelGroup(name="g", agents=[agent("a"), agent("b")], join="quorum:3")


def test_describe_and_names() -> None:
    swarm = Swarm(agents=[agent("a"), agent("b")], flow="b >> a")
    described = swarm.describe()
    assert (described["mode"], described["flow_order"], list(described["agents"])) == (
        "workflow",
        ["b", "a"],
        ["a", "b"],
    )
    assert swarm.name == "swarm(a...)"
    assert SwarmNode(swarm=swarm).name == "swarm(a...)"


# --- groups -----------------------------------------------------------------------------------------------------------


async def test_a_parallel_group_joins_and_sums() -> None:
    group = ParallelGroup(name="g", agents=[agent("a"), agent("b")], separator=" | ")
    result = await run(Swarm(agents=[group, agent("c")]), "q", provider=ECHO)
    assert result.output == "C(A(q) | B(q))"
    alone = await run(group, "q", provider=ECHO)
    assert (alone.output, alone.usage.total_tokens, alone.steps) == ("A(q) | B(q)", 30, 2)


async def test_an_aggregate_gets_texts_that_know_their_results() -> None:
    async def longest(outputs: list[Any]) -> str:
        assert all(isinstance(output.result, RunResult) for output in outputs)
        return ", ".join(f"{output.name}={output} ({output.usage.total_tokens})" for output in outputs)

    group = ParallelGroup(name="g", agents=[agent("a"), agent("b")], aggregate_fn=longest)
    assert (await group.run("q", provider=ECHO)).output == "a=A(q) (15), b=B(q) (15)"


async def test_a_serial_group_chains() -> None:
    result = await run(SerialGroup(name="g", agents=[agent("a"), agent("b")]), "q", provider=ECHO)
    assert (result.output, result.usage.total_tokens, result.steps) == ("B(A(q))", 30, 2)


BROKEN = ByAgent(**{**ECHO.replies, "b": [ValueError("broken")]})


async def test_a_group_under_all_required_fails_with_its_member() -> None:
    group = ParallelGroup(name="g", agents=[agent("a"), agent("b")])
    with pytest.raises(
        GroupError, match=r"^ParallelGroup 'g' failed: Agent 'b' failed after 1 retries: broken$"
    ) as caught:
        await group.run("q", provider=BROKEN, max_retries=1)
    assert isinstance(caught.value, AgentError)
    assert isinstance(caught.value.__cause__, CallRunnerError)
    serial = SerialGroup(name="s", agents=[agent("a"), agent("b")])
    with pytest.raises(GroupError, match=r"^SerialGroup 's' failed: Agent 'b' failed"):
        await serial.run("q", provider=BROKEN, max_retries=1)


async def test_a_group_may_do_without_some() -> None:
    # 3.2.5: one failure threw all results away.
    group = ParallelGroup(name="g", agents=[agent(n) for n in "abc"], join="allow_optional_failures")
    result = await group.run("q", provider=BROKEN, max_retries=1)
    assert (result.output, result.state) == ("A(q)\n\nC(q)", "degraded")
    assert "'b' failed" in result.warnings[0]
    needed = JoinPolicy("allow_optional_failures", optional=("a",))
    strict = ParallelGroup(name="g", agents=[agent(n) for n in "abc"], join=needed)
    with pytest.raises(JoinError, match="ParallelGroup 'g' failed"):
        await strict.run("q", provider=BROKEN, max_retries=1)


@pytest.mark.parametrize(
    ("join", "slow", "expected"), [("first_success", "ad", "C(q)"), ("quorum:2", "a", "C(q)\n\nD(q)")]
)
async def test_the_others_are_not_waited_for(join: str, slow: str, expected: str) -> None:
    cancelled: list[Any] = []

    class Provider(ByAgent):
        async def complete(self, messages: list[Message], **kwargs: Any) -> Any:
            if str(messages[0].content) in slow:
                try:
                    await asyncio.Event().wait()
                finally:
                    cancelled.append(messages[0].content)
            return await super().complete(messages, **kwargs)

    group = ParallelGroup(name="g", agents=[agent(n) for n in "abcd"], join=join)
    result = await group.run("q", provider=Provider(**BROKEN.replies), max_retries=1)
    assert (result.output, result.state) == (expected, "completed")
    assert any(each.startswith("'b' failed: ") for each in result.warnings)
    assert sorted(cancelled) == list(slow)


async def test_a_stage_of_a_flow_joins_by_the_swarms_policy() -> None:
    swarm = Swarm(agents=[agent(n) for n in "abc"], flow="(a | b) >> c", join="allow_optional_failures")
    result = await run(swarm, "q", provider=BROKEN, max_retries=1)
    assert (result.output, result.state) == ("C(A(q))", "degraded")


async def test_cancelling_a_group_stops_its_members() -> None:
    running = asyncio.Semaphore(0)
    stopped: list[Any] = []

    class Provider:
        async def complete(self, messages: list[Message], **kwargs: Any) -> Any:
            running.release()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.append(messages[0].content)

    group = ParallelGroup(name="g", agents=[agent("a"), agent("b")])
    task = asyncio.create_task(run(group, "q", provider=Provider()))
    await running.acquire()
    await running.acquire()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(stopped) == ["a", "b"]


def test_groups_and_nodes_refuse() -> None:
    with pytest.raises(GroupError, match=r"^ParallelGroup requires at least one agent$"):
        ParallelGroup(name="g", agents=[])
    with pytest.raises(GroupError, match=r"^SerialGroup requires at least one agent$"):
        SerialGroup(name="g", agents=[])
    with pytest.raises(GroupError, match="Duplicate agent name 'a'"):
        SerialGroup(name="g", agents=[agent("a"), agent("a")])
    not_a_swarm: Any = agent("a")
    with pytest.raises(NestedSwarmError, match=r"^SwarmNode requires a Swarm instance \(object with flow_order\)$"):
        SwarmNode(swarm=not_a_swarm)


async def test_a_nested_swarm_begins_a_conversation_of_its_own() -> None:
    provider = Script(text("1"), text("2"))
    node = SwarmNode(swarm=Swarm(agents=[Agent(name="a")]), name="inner")
    swarm = Swarm(agents=[Agent(name="x"), node])
    await run(swarm, "q", messages=[UserMessage(content="before")], provider=provider)
    assert [len(seen) for seen in provider.seen] == [2, 1]


async def test_a_swarm_that_only_quacks() -> None:
    class Flock:
        name = "flock"

        def __init__(self) -> None:
            self.flow_order = ["a"]
            self.agents = {"a": agent("a")}

        async def run(self, input: str, *, messages: Any = None, provider: Any = None, max_retries: int = 3) -> Any:
            return RunResult(output=f"flock {input}", steps=2)

    assert (await run(Flock(), "q", provider=ECHO)).output == "flock q"
    node = SwarmNode(swarm=Flock(), name="nested")
    assert (await run(Swarm(agents=[agent("a"), node]), "q", provider=ECHO)).output == "flock A(q)"


def test_the_models_of_a_swarm_are_those_of_all_its_agents_and_their_fallbacks() -> None:
    one = Agent(name="one", model="openai:a", fallbacks=["groq:b"])
    two, three, four = (Agent(name=name, model=f"openai:{name}") for name in ("two", "three", "four"))
    again = Agent(name="again", model="openai:a")
    inner = Swarm(agents=[three, ParallelGroup(name="both", agents=[four, again])])
    assert models_of([one, two, SwarmNode(swarm=inner, name="inner"), object()]) == [
        "openai:a", "groq:b", "openai:two", "openai:three", "openai:four",
    ]  # fmt: skip
