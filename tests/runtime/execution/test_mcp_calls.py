"""Calls of tools of MCP servers under a runtime: permission, arguments, results, questions."""

from __future__ import annotations

from typing import Any

import pytest

from orbiter.mcp.sdk import session as sessions
from orbiter.redaction import Redactor
from runtime.judgement.permissions.policy import PermissionPolicy
from runtime.judgement.traces.attribute_text import AttributeText
from runtime.judgement.traces.run_spans import RunSpans
from runtime.judgement.traces.span import TraceSettings
from runtime.record.inbox_row import InboxRow
from runtime.record.state.durable_run import DurableRun
from tests.orbiter.mcp.sdk.test_sessions import Legacy
from tests.runtime.bench import ME, Bench
from tests.runtime.execution.mcp_bench import FREE, USERS, McpBench, options
from tests.runtime.execution.test_waits import Clock

# -- calls -------------------------------------------------------------------------------------------------------------


async def test_a_call_needs_a_permission_of_its_own_and_hints_do_not_widen_it(mcp: McpBench) -> None:
    mcp.approve()
    async with mcp.driving(permissions=PermissionPolicy()):
        run = await mcp.start("writer")
        (asked,) = await mcp.bench.incidents(run)
        assert asked.opened.action == {
            "tool": "ref.write",
            "arguments": {"path": "a.txt", "text": "hello"},
            "permission": "mcp.call:ref/write",
            "agent": "writer",
        }
        assert "write a.txt hello" not in mcp.effects
        await mcp.bench.answer(asked, "grant", **{"for": "always"})
        state = await mcp.bench.ended(run)
        assert state.output == "wrote a.txt"
        assert (await mcp.bench.ended(await mcp.start("writer"))).output == "wrote a.txt"
    call = next(node for key, node in state.nodes.items() if key.endswith("ref.write~0"))
    assert not call.idempotent, "the server says that it is; the operator does not"
    (grant,) = await mcp.bench.journal.grants()
    assert (grant.subject, grant.verb, grant.pattern) == ("writer", "mcp.call", "ref/write")


async def test_arguments_are_checked_by_the_tools_schema(mcp: McpBench) -> None:
    mcp.approve()
    state = await mcp.run("wrong")
    assert "invalid arguments" in state.output
    assert "text" in state.output
    assert mcp.effects == []


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("adder", '"total": 3'),
        ("breaker", "Error executing tool fail"),
        ("painter", "a pixel[2J"),
        ("readers", "content of c.txt"),
    ],
)
async def test_results_and_errors_reach_the_model(mcp: McpBench, name: str, output: str) -> None:
    mcp.approve()
    assert output in (await mcp.run(name)).output


async def test_an_agent_gets_only_the_tools_that_it_names(mcp: McpBench) -> None:
    mcp.approve()
    state = await mcp.run("twice")
    asked = next(node for key, node in state.nodes.items() if key.endswith("llm~0"))
    listed = next(node for key, node in state.nodes.items() if "list_tools" in key)
    assert [each["name"] for each in listed.result["tools"]] == ["write"]
    assert mcp.effects == ["write 1 x", "write 1 x"]
    assert asked.phase == "succeeded"


async def test_a_tool_whose_name_an_own_one_has_is_told_apart_and_said_to_the_operator(mcp: McpBench) -> None:
    mcp.approve()
    state = await mcp.run("namesake")
    calls = {node.name: node.result for node in state.nodes.values() if node.kind == "tool" and "list" not in node.name}
    assert mcp.effects == ["read a.txt"], calls
    assert "page 1" in str(calls["ref_read"])
    (warning,) = [each for node in state.nodes.values() for each in node.warnings]
    assert "'read' as ref__read: another tool of the agent has the name ref_read" in warning


# -- questions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "later"), [("", 0), ("k" * 32, 900)], ids=["key", "fifteen-minutes"])
async def test_a_question_is_answered_after_both_sides_were_restarted(
    mcp: McpBench, monkeypatch: pytest.MonkeyPatch, key: str, later: int
) -> None:
    """The server's state is sealed with a key of its process, which a new process does not have; or it keeps its key,
    and the state counts for ten minutes. Either way it asks once more, and the person does not hear of that. A grant
    for once covers all of it.
    """
    clock = Clock()
    server = mcp.stdio()
    mcp.write_server({**server, "env": {**server["env"], "MCP_TEST_KEY": key, "MCP_TEST_CLOCK": "${LATER:-0}"}})
    mcp.approve()

    async def first(bench: Bench) -> tuple[str, InboxRow]:
        async with bench.driving(grace_s=0.0, mcp=mcp.table()):
            run = await bench.decisions.start(f"{USERS}:greeter", "go", by=ME)
            (needed,) = await bench.incidents(run)
            assert needed.opened.action["permission"] == "mcp.call:ref/greet"
            await bench.answer(needed, "grant")
            (asked,) = await bench.incidents(run)
            await bench.until(run, lambda state: state.phase == "waiting")
        return run, asked

    async def second(bench: Bench) -> DurableRun:
        await bench.answer(asked, "input", value={"name": "Ann"})
        async with bench.driving(mcp=mcp.table()):
            return await bench.ended(run)

    run, asked = await mcp.live(first, clock)
    assert asked.opened.question == "ref asks: Who is the king?"
    assert asked.opened.answer_schema is not None
    assert asked.opened.answer_schema["required"] == ["name"]
    clock.jump(later)
    monkeypatch.setenv("LATER", str(later))
    state = await mcp.live(second, clock)
    assert state.output.startswith("hello king Ann")
    assert len(state.incidents) == 2
    assert mcp.effects == [*["started", "asks for king"] * 2, "greet king Ann state king"]


@pytest.mark.parametrize("name", ["Ann", "die"])
async def test_a_grant_for_once_covers_the_call_with_its_question_and_no_other_arguments(
    mcp: McpBench, name: str
) -> None:
    """At the name `die` the server goes away while it works on the answer; with another title it is another call."""
    mcp.write_server(mcp.stdio())
    mcp.approve()
    async with mcp.driving(permissions=PermissionPolicy()):
        run = await mcp.start("greeter")
        (needed,) = await mcp.bench.incidents(run)
        await mcp.bench.answer(needed, "grant")
        (asked,) = await mcp.bench.incidents(run)
        await mcp.bench.answer(asked, "input", value={"name": name})
        if name == "Ann":
            assert (await mcp.bench.ended(run)).output.startswith("hello king Ann")
            assert mcp.effects == ["started", "asks for king", "greet king Ann state king"]
            return
        (doubt,) = await mcp.bench.incidents(run)
        assert doubt.opened.fault.effect == "unknown"
        await mcp.bench.answer(doubt, "edit", arguments={"title": "queen"})
        (again,) = await mcp.bench.incidents(run)
        assert again.opened.action["permission"] == "mcp.call:ref/greet"
        assert again.opened.action["arguments"] == {"title": "queen"}
    assert "greet queen" not in " ".join(mcp.effects)


@pytest.mark.parametrize(
    ("name", "option", "given", "output"),
    [
        ("greeter", "skip", {}, "hello king decline"),
        ("visitor", "input", {"value": True}, "visited: accept"),
        ("visitor", "input", {"value": False}, "visited: decline"),
        ("confirmer", "input", {"value": True}, "confirmed: accept {}"),
        ("confirmer", "input", {"value": False}, "confirmed: decline None"),
    ],
)
async def test_a_question_may_be_left_and_an_address_is_shown(
    mcp: McpBench, name: str, option: str, given: dict[str, Any], output: str
) -> None:
    mcp.approve()
    async with mcp.driving():
        run = await mcp.start(name)
        (asked,) = await mcp.bench.incidents(run)
        if name == "visitor":
            assert "an address of example.com. Log in there" in asked.opened.question
            assert asked.opened.url == "https://example.com/login?x=1"
        await mcp.bench.answer(asked, option, **given)
        assert (await mcp.bench.ended(run)).output.startswith(output)


async def test_a_question_in_the_middle_of_a_call_is_asked_while_the_call_stays_open(
    mcp: McpBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As servers ask before 2026-07-28."""
    monkeypatch.setattr(sessions, "Client", Legacy)
    mcp.approve()
    async with mcp.driving():
        run = await mcp.start("greeter_now")
        (asked,) = await mcp.bench.incidents(run)
        assert asked.opened.question == "ref asks: Who is the king?"
        assert mcp.effects == ["asks for king"]
        await mcp.bench.answer(asked, "input", value={"name": "Ann"})
        assert (await mcp.bench.ended(run)).output == "hello king Ann"
    assert mcp.effects == ["asks for king", "greet king accept"]


@pytest.mark.parametrize("way", ["http", "stdio"])
async def test_a_server_of_both_protocols_that_asks_during_a_call_asks_a_person_after_a_retry(
    mcp: McpBench, way: str
) -> None:
    """What its tool did before it asked is not known: it is not called again unasked. The next run knows it."""
    mcp.write_server(mcp.http() if way == "http" else mcp.stdio())
    mcp.approve()
    started = ["started"] if way == "stdio" else []

    async def first(bench: Bench) -> tuple[str, InboxRow]:
        async with bench.driving(grace_s=0.0, permissions=FREE, mcp=mcp.table()):
            run = await bench.decisions.start(f"{USERS}:greeter_now", "go", by=ME)
            (doubted,) = await bench.incidents(run)
            await bench.until(run, lambda state: state.phase == "waiting")
        return run, doubted

    async def second(bench: Bench) -> None:
        async with bench.driving(permissions=FREE, mcp=mcp.table()):
            await bench.answer(doubted, "retry")
            await told(bench, run)
            again = await bench.decisions.start(f"{USERS}:greeter_now", "go", by=ME)
            await told(bench, again)

    async def told(bench: Bench, of_run: str) -> None:
        (asked,) = await bench.incidents(of_run)
        assert asked.opened.question == "ref asks: Who is the king?"
        await bench.answer(asked, "input", value={"name": "Ann"})
        assert (await bench.ended(of_run)).output == "hello king Ann"

    run, doubted = await mcp.live(first, Clock())
    fault = doubted.opened.fault
    assert (fault.cause, fault.effect, fault.rule_id) == ("tool_failed", "unknown", "mcp.question")
    assert "asked during the call" in doubted.opened.message
    assert {"retry", "result", "skip"} <= set(options(doubted))
    assert mcp.effects == [*started, "asks for king", *started], "a program is started again, and not called"
    await mcp.live(second, Clock())
    told_twice = ["asks for king", "greet king accept"] * 2
    assert mcp.effects == [*started, "asks for king", *started * 2, *told_twice]


async def test_a_tool_that_may_be_repeated_is_called_again_by_itself_to_ask(mcp: McpBench) -> None:
    (mcp.bench.root / "orbiter.toml").write_text("[mcp.servers.ref.tools.greet_now]\nidempotent = true\n")
    mcp.approve()
    async with mcp.driving():
        run = await mcp.start("greeter_now")
        (asked,) = await mcp.bench.incidents(run)
        assert asked.opened.question == "ref asks: Who is the king?"
        await mcp.bench.answer(asked, "input", value={"name": "Ann"})
        assert (await mcp.bench.ended(run)).output == "hello king Ann"
    assert mcp.effects == ["asks for king"] * 2 + ["greet king accept"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("beg_sampling", "the server asks for a reply of a model (sampling), which servers are not given here"),
        ("beg_roots", "the server asks for the directories of the workspace (roots), which servers are not given here"),
        ("beg_now_sampling", "Sampling not supported"),
        ("beg_now_roots", "List roots not supported"),
    ],
)
async def test_a_server_gets_no_reply_of_a_model_and_no_directories(
    mcp: McpBench, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    """Of 2026-07-28 it asks with its result; before, in the middle of the call. No person is asked either way."""
    if "now" in name:
        monkeypatch.setattr(sessions, "Client", Legacy)
    mcp.approve()
    state = await mcp.run(name)
    assert said in state.output
    assert state.incidents == {}


# -- trace context -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["http", "stdio"])
async def test_a_server_gets_the_trace_context_of_its_call(mcp: McpBench, way: str) -> None:
    mcp.write_server(mcp.http() if way == "http" else mcp.stdio())
    mcp.approve()
    async with mcp.driving(traces=TraceSettings()):
        run = await mcp.start("traced")
        state = await mcp.bench.ended(run)
    spans = RunSpans(TraceSettings(), AttributeText(Redactor()))
    made = [span for event in await mcp.bench.journal.read(run) for span in spans.apply(event)]
    (call,) = [span for span in made if span.attributes.get("mcp.method.name") == "tools/call"]
    told = f"00-{call.trace:032x}-{call.id:016x}-01"
    assert state.output == (f"{told} {told}" if way == "http" else told)
