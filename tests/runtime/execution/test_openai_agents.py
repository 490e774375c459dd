"""Agents of the OpenAI Agents SDK under a runtime: what is recorded, what waits, and what an answer does."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from agents import set_trace_processors
from agents.tracing import TracingProcessor
from agents.tracing.processors import default_processor

from runtime.operations.run_controls import RunControls
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Limit
from tests.orbiter.models.loopback import Answer, Loopback
from tests.runtime.bench import ME, Bench
from tests.runtime.guest_bench import OPENAI_AGENTS as GUESTS
from tests.runtime.guest_bench import effects, options, parked, starts, two

start = starts(GUESTS)


async def test_a_bare_agent_takes_the_name_of_its_reference(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "plain"))
    assert state.output == "you said go"
    node = state.nodes["plain~0"]
    assert (node.kind, node.name, node.info["framework"]) == ("agent", "plain", "openai-agents")
    asked = state.nodes["plain~0/llm~0"]
    assert (asked.kind, asked.name, asked.requested["messages"]) == (
        "llm", "plain", [{"role": "user", "content": "go"}],
    )  # fmt: skip
    assert (asked.input_tokens, asked.output_tokens) == (20, 5)


async def test_calls_that_end_in_reverse_order_have_the_places_of_the_reply(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "reverse"))
    steps = {key: node.requested["arguments"] for key, node in state.nodes.items() if node.kind == "tool"}
    assert steps == {
        "reverse~0/note~0.0": {"text": "p0"},
        "reverse~0/note~0.1": {"text": "p1"},
        "reverse~0/note~0.2": {"text": "p2"},
        "reverse~0/look~0.3": {"what": "p"},
    }
    assert [each for each in effects(bench) if each.startswith("note")] == ["note p2", "note p1", "note p0"]
    assert state.nodes["reverse~0/look~0.3"].idempotent
    assert state.output == "three notes: noted p0; noted p1; noted p2; {'seen': 'p'}"


async def test_each_call_that_needs_approval_is_an_incident_of_its_own(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "banker")
        first, second = await two(bench, run)
        assert [each.opened.action for each in (first, second)] == [
            {"tool": "pay", "arguments": {"to": "ann", "amount": 1}, "permission": "approval.pay"},
            {"tool": "pay", "arguments": {"to": "bob", "amount": 2}, "permission": "approval.pay"},
        ]
        assert options(first) == ["grant", "deny", "edit", "result", "skip", "abort"]
        with pytest.raises(Exception, match="amount"):
            await bench.answer(first, "edit", arguments={"to": "ann", "amount": "much"})
        await bench.answer(second, "deny", message="not bob")
        await bench.answer(first, "edit", arguments={"to": "ann", "amount": 5})
        state = await bench.ended(run)
    assert effects(bench) == ["note balance", "note paid ann 5"]
    assert state.output == '{"total": 3, "paid": ["ann", "bob"]}'
    assert state.nodes["bank~0/pay~0.1"].result["error"] == "Denied by the operator: not bob"


async def test_a_failure_that_would_end_the_run_is_an_incident_and_an_answer_heals_it(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "broken")
        (failed,) = await bench.incidents(run)
        assert failed.opened.action == {"tool": "reach", "arguments": {"host": "h"}}
        await bench.answer(failed, "edit", arguments={"host": "up"})
        state = await bench.ended(run)
    assert state.output == "went on: reached up"
    assert effects(bench) == ["reach h", "reach up"]


async def test_a_failure_that_the_sdk_tells_the_model_of_is_told(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "clumsy"))
    assert state.output == (
        "heard: An error occurred while running the tool. Please try again.;"
        " Tool 'dawdle' timed out after 0.01 seconds."
    )
    assert effects(bench) == ["note stumbled 1"]


async def test_a_handoff_is_a_node_and_what_it_does_besides_a_step(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "triage")
        (asked,) = await bench.incidents(run)
        assert asked.opened.action["arguments"] == {"to": "ann", "amount": 5}
        await bench.answer(asked, "grant")
        state = await bench.ended(run)
    assert state.output == "refunded: paid ann 5"
    assert {key: node.kind for key, node in state.nodes.items()} == {
        "triage~0": "agent",
        "triage~0/llm~0": "llm",
        "triage~0/transfer_to_billing~0.0": "tool",
        "triage~0/billing~1": "agent",
        "triage~0/billing~1/llm~1": "llm",
        "triage~0/refunds~2": "agent",
        "triage~0/refunds~2/llm~2": "llm",
        "triage~0/refunds~2/pay~2.0": "tool",
        "triage~0/refunds~2/llm~3": "llm",
    }
    assert {node.phase for node in state.nodes.values()} == {"succeeded"}
    assert bench.effects.count("note welcomed") == 1


async def test_agents_as_tools_are_nodes_and_their_calls_are_steps(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "researcher")
        (asked,) = await bench.incidents(run)
        assert asked.opened.action == {
            "tool": "ask_first", "arguments": {"input": "three"}, "permission": "approval.ask_first",
        }  # fmt: skip
        await bench.answer(asked, "grant")
        state = await bench.ended(run)
    assert state.output == "found: " + "; ".join(["read {'seen': 'page'}"] * 3)
    below = "research~0/read~0.1/reader~0"
    assert [key for key in state.nodes if key.startswith(below)] == [
        below, f"{below}/llm~0", f"{below}/look~0.0", f"{below}/llm~1",
    ]  # fmt: skip
    assert bench.effects.count("look page") == 3


async def test_an_agent_as_a_tool_may_be_refused_or_skipped(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "researcher")
        (asked,) = await bench.incidents(run)
        await bench.answer(asked, "deny", message="not now")
        state = await bench.ended(run)
    assert state.output.endswith("Denied by the operator: not now")
    assert bench.effects.count("look page") == 2


async def test_a_guardrail_asks_another_agent_and_its_trip_is_an_incident(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "guarded"))
        assert state.output == "you said go"
        assert "guarded~0/guardrail is_fine~0.0/judge~0/llm~0" in state.nodes
        run = await start(bench, "guarded", "something bad")
        (tripped,) = await bench.incidents(run)
        assert (tripped.opened.fault.rule_id, tripped.opened.fault.cause) == (
            "openai-agents.input-guardrail",
            "refused",
        )
        await bench.answer(tripped, "skip", value="we do not talk about that")
        state = await bench.ended(run)
        assert (state.phase, state.output) == ("degraded", "we do not talk about that")
        run = await start(bench, "guarded", "a very long text, which is said once more in the answer")
        (tripped,) = await bench.incidents(run)
        assert tripped.opened.fault.rule_id == "openai-agents.output-guardrail"
        await bench.answer(tripped, "abort")
        await bench.ended(run)


async def test_a_retry_gives_as_many_turns_once_more_also_after_a_restart(bench: Bench) -> None:
    async with bench.driving(grace_s=0.0):
        run = await start(bench, "endless")
        (hit,) = await bench.incidents(run)
        assert (hit.opened.fault.rule_id, hit.opened.fault.cause) == ("openai-agents.max-turns", "limit_reached")
        await bench.until(run, parked)
    async with bench.driving(grace_s=0.0):
        await bench.answer(hit, "retry")
        state = await bench.ended(run)
    assert state.output == "the end"
    assert effects(bench) == ["look 0", "look 1", "look 2"]


async def test_a_session_is_read_once_and_written_once(bench: Bench) -> None:
    async with bench.driving():
        assert (await bench.ended(await start(bench, "remembering", "a"))).output == "1 items: a"
        state = await bench.ended(await start(bench, "remembering", "b"))
    assert state.output == "3 items: b"
    assert [node.name for node in state.nodes.values() if node.kind == "value"].count("session read") == 1


async def test_a_changed_tool_parks_with_the_difference(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(GUESTS.read_text())
    async with bench.driving(grace_s=0.0):
        run = await bench.decisions.start(f"{file}:broken", "go", by=ME)
        await bench.until(run, parked)
    file.write_text(GUESTS.read_text().replace("def reach(", "def grab(").replace("tools=[reach]", "tools=[grab]"))
    async with bench.driving(grace_s=0.0):
        (failed,) = await bench.incidents(run)
        await bench.answer(failed, "retry")
        await bench.until(run, lambda state: any("tools" in each.opened.message for each in state.open_incidents))
        (changed,) = await bench.incidents(run)
    assert "tools: recorded" in changed.opened.message


async def test_what_an_operator_declares_in_the_settings_goes_over_the_authors_word(bench: Bench) -> None:
    async with bench.driving(guest_tools={"note": {"permissions": ["notes:{text}"]}, "look": {"idempotent": False}}):
        run = await start(bench, "parallel")
        asked = sorted(await bench.incidents(run, 3), key=lambda each: each.opened.node_id)
        assert [each.opened.action["permission"] for each in asked] == ["notes:p0", "notes:p1", "notes:p2"]
        for each in asked:
            await bench.answer(each, "grant")
        state = await bench.ended(run)
    assert not state.nodes["parallel~0/look~0.3"].idempotent


async def test_what_an_operator_says_to_the_agent_is_in_its_next_request(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "broken")
        (failed,) = await bench.incidents(run)
        await RunControls(bench.journal).inject(run, "broken", "be kind", by=ME)
        await bench.answer(failed, "result", value="fine")
        state = await bench.ended(run)
    assert state.output == "went on: fine; be kind"


async def test_a_guest_and_another_stand_in_one_swarm(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "both"))
    assert [node.name for node in state.nodes.values() if node.kind == "agent"] == ["first", "parallel"]
    assert state.output.startswith("three notes")


async def test_the_model_is_one_of_those_that_are_registered(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "switching")
        (failed,) = await bench.incidents(run)
        assert failed.opened.fault.cause == "auth_failed"
        await bench.answer(failed, "switch_model", model="spare")
        state = await bench.ended(run)
    assert state.output == "the spare one"


async def test_a_model_of_the_run_goes_before_the_agents(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "configured"))
    assert (state.output, state.nodes["configured~0/llm~0"].name) == ("by the run", "m")


async def test_what_the_provider_runs_is_said_once(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "searching")
        state = await bench.ended(run)
    (warning,) = state.nodes["searching~0"].warnings
    assert warning == "web_search: the provider runs them as part of a model call, so they cannot be steps"


async def test_a_step_takes_little_beyond_the_reply(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "parallel")
        await bench.ended(run)
    by_step: Counter[str] = Counter()
    for event in await bench.journal.read(run):
        if isinstance(event, ev.StepStarted | ev.StepEnded):
            by_step[event.node_id] += len(event.model_dump_json())
    assert len(by_step) == 6
    assert max(by_step.values()) < 2_000


async def test_a_run_is_turned_back_to_a_call_and_goes_on_from_there(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "parallel")
        await bench.ended(run)
        await RunControls(bench.journal).rewind(run, "parallel~0/llm~1", confirm=True, by=ME)
        state = await bench.until(run, lambda state: state.phase == "completed" and state.lives > 1)
    assert state.output.startswith("three notes")
    assert Counter(bench.effects) == Counter(["look m"] * 3 + ["look p", "note p0", "note p1", "note p2"])


async def test_a_fork_begins_with_what_was_done(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "parallel")
        await bench.ended(run)
        other = await RunControls(bench.journal).fork(run, "parallel~0/note~0.1", by=ME)
        state = await bench.ended(other)
    assert state.output.startswith("three notes")
    assert bench.effects.count("note p1") == 2
    assert bench.effects.count("look m") == 3


async def test_a_breakpoint_stops_before_a_tool(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "broken")
        (failed,) = await bench.incidents(run)
        await RunControls(bench.journal).set_breakpoint(run, "tool", "reach", by=ME)
        await bench.answer(failed, "retry")
        await bench.until(
            run, lambda state: any(each.opened.fault.rule_id == "breakpoint" for each in state.open_incidents)
        )
        (stopped,) = await bench.incidents(run)
        assert bench.effects.count("reach h") == 1
        await bench.answer(stopped, "edit", arguments={"host": "up"})
        state = await bench.ended(run)
    assert state.output == "went on: reached up"


async def test_an_agent_is_skipped_from_its_model_or_from_a_tool_or_its_branch_is_ended(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "switching")
        (failed,) = await bench.incidents(run)
        await bench.answer(failed, "skip", value="nothing to say")
        state = await bench.ended(run)
        assert (state.phase, state.output) == ("degraded", "nothing to say")
        run = await start(bench, "banker")
        first, _ = await two(bench, run)
        await bench.answer(first, "skip", value="no bank today", reach="agent")
        state = await bench.ended(run)
        assert (state.phase, state.output, state.open_incidents) == ("degraded", "no bank today", [])
        run = await start(bench, "broken")
        await bench.answer((await bench.incidents(run))[0], "abort", reach="agent", reason="enough")
        state = await bench.ended(run)
    assert state.phase == "failed"
    assert "ended this branch" in state.summary().error


async def test_tokens_count_in_the_budget(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.decisions.start(
            f"{GUESTS}:parallel", "go", options={"budget": {"max_total_tokens": 20}}, by=ME
        )
        hits = await bench.incidents(run)
    assert {each.opened.fault.limit for each in hits} == {Limit.TOKENS}


async def test_a_tool_of_an_mcp_server_is_a_step(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "jotting")
        (asked,) = await bench.incidents(run)
        assert asked.opened.action == {"tool": "jot", "arguments": {"text": "tea"}, "permission": "approval.jot"}
        await bench.answer(asked, "edit", arguments={"text": "milk"})
        state = await bench.ended(run)
    assert "noted milk" in state.output
    assert effects(bench) == ["note jot milk"]


async def test_an_agent_that_a_tool_runs_is_a_node_where_the_tool_is_declared_composite(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "consulting"))
        assert state.output == "heard: fine; fine"
        assert "consulting~0/consult~0.0/judge~0/llm~0" in state.nodes
        # One that streams has its steps in the node of the tool.
        assert state.nodes["consulting~0/read~0.1/llm~0"].kind == "llm"
        assert "note message_output_created" in effects(bench)
        state = await bench.ended(await start(bench, "closed"))
    assert [key for key in state.nodes if "consult" in key] == ["closed~0/consult~0.0"]


class _Collector(TracingProcessor):
    """Takes the names of what is traced."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_trace_start(self, trace: Any) -> None:
        self.seen.append(trace.name)

    def on_trace_end(self, trace: Any) -> None: ...
    def on_span_start(self, span: Any) -> None: ...
    def on_span_end(self, span: Any) -> None: ...
    def shutdown(self) -> None: ...
    def force_flush(self) -> None: ...


async def test_a_recorded_run_is_traced_only_where_it_was_asked_for(bench: Bench) -> None:
    collector = _Collector()
    set_trace_processors([collector])
    try:
        async with bench.driving():
            for name in ("plain", "guarded", "consulting", "closed"):
                await bench.ended(await start(bench, name))
            assert collector.seen == []
            await bench.ended(await start(bench, "traced"))
        assert collector.seen == ["Agent workflow"]
    finally:
        set_trace_processors([default_processor()])


ONLINE = """
from agents import Agent, OpenAIResponsesModel, function_tool
from openai import AsyncOpenAI

@function_tool
def read(path: str) -> str:
    return "text of " + path

client = AsyncOpenAI(base_url="{url}/v1", api_key="key-123456")
agent = Agent("online", model=OpenAIResponsesModel("gpt-5-pro", client), tools=[read])
"""


def response(*output: dict[str, Any]) -> str:
    usage = {
        "input_tokens": 20, "input_tokens_details": {"cached_tokens": 7}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 25,
    }  # fmt: skip
    return json.dumps(
        {
            "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-5-pro-2025", "status": "completed",
            "output": list(output), "usage": usage, "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        }
    )  # fmt: skip


async def test_a_real_client_makes_one_attempt_each_and_its_calls_are_steps(bench: Bench, tmp_path: Path) -> None:
    called = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": '{"path": "a"}'}
    said = {
        "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Done", "annotations": []}],
    }  # fmt: skip
    async with Loopback() as server:
        server.answers = [
            Answer(503, {"retry-after": "0"}, body='{"error": {"message": "busy"}}'),
            Answer(body=response(called)),
            Answer(body=response(said)),
        ]
        file = tmp_path / "online.py"
        file.write_text(ONLINE.replace("{url}", server.url))
        async with bench.driving():
            state = await bench.ended(await bench.decisions.start(f"{file}:agent", "go", by=ME))
        assert [each.path for each in server.asked] == ["/v1/responses"] * 3
        last = server.asked[-1].body["input"]
    assert (state.output, state.nodes["online~0/llm~0"].attempts) == ("Done", 2)
    assert state.nodes["online~0/llm~0"].name == "openai:gpt-5-pro"
    assert [each.get("type", each.get("role")) for each in last] == ["user", "function_call", "function_call_output"]
    assert state.nodes["online~0/llm~1"].result["usage"]["cached_tokens"] == 7
