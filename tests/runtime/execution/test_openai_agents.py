"""Agents of the OpenAI Agents SDK under a runtime: what is recorded, what waits, and what an answer does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agents import set_trace_processors, set_tracing_disabled
from agents.tracing import TracingProcessor
from agents.tracing.processors import default_processor

from tests.orbiter.models.loopback import Answer, Loopback
from tests.runtime.bench import ME, Bench
from tests.runtime.guest_bench import OPENAI_AGENTS as GUESTS
from tests.runtime.guest_bench import effects, parked, starts

start = starts(GUESTS)


async def test_a_failure_that_the_sdk_tells_the_model_of_is_told(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "clumsy"))
    assert state.output == (
        "heard: An error occurred while running the tool. Please try again.;"
        " Tool 'dawdle' timed out after 0.01 seconds."
    )
    assert effects(bench) == ["note stumbled 1"]


async def test_arguments_that_are_not_json_call_no_tool(bench: Bench) -> None:
    """The SDK reads ``NaN`` and what is nested deeply: such a call would be made, and no step would record it."""
    async with bench.driving():
        state = await bench.ended(await start(bench, "odd_arguments"))
        assert state.output == "heard: " + "; ".join(
            ["An error occurred while running the tool. Please try again."] * 3
        )
        (asked,) = await bench.incidents(await start(bench, "taking"))
        assert "Infinity is not a number in JSON" in asked.opened.message
    assert effects(bench) == []


async def test_a_handoff_is_a_node_and_what_it_does_besides_a_step(bench: Bench) -> None:
    async with bench.driving():
        (asked,) = await bench.incidents(await start(bench, "triage"))
        assert asked.opened.action["arguments"] == {"to": "ann", "amount": 5}
        state = await bench.ended_by(asked, "grant")
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
        (asked,) = await bench.incidents(await start(bench, "researcher"))
        assert asked.opened.action == {
            "tool": "ask_first", "arguments": {"input": "three"}, "permission": "approval.ask_first",
        }  # fmt: skip
        state = await bench.ended_by(asked, "grant")
    assert state.output == "found: " + "; ".join(["read {'seen': 'page'}"] * 3)
    below = "research~0/read~0.1/reader~0"
    assert [key for key in state.nodes if key.startswith(below)] == [
        below, f"{below}/llm~0", f"{below}/look~0.0", f"{below}/llm~1",
    ]  # fmt: skip
    assert bench.effects.count("look page") == 3


async def test_an_agent_as_a_tool_may_be_refused_or_skipped(bench: Bench) -> None:
    async with bench.driving():
        (asked,) = await bench.incidents(await start(bench, "researcher"))
        state = await bench.ended_by(asked, "deny", message="not now")
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
        state = await bench.ended_by(tripped, "skip", value="we do not talk about that")
        assert (state.phase, state.output) == ("degraded", "we do not talk about that")
        run = await start(bench, "guarded", "a very long text, which is said once more in the answer")
        (tripped,) = await bench.incidents(run)
        assert tripped.opened.fault.rule_id == "openai-agents.output-guardrail"
        await bench.ended_by(tripped, "abort")


async def test_a_retry_gives_as_many_turns_once_more_also_after_a_restart(bench: Bench) -> None:
    async with bench.driving(grace_s=0.0):
        run = await start(bench, "endless")
        (hit,) = await bench.incidents(run)
        assert (hit.opened.fault.rule_id, hit.opened.fault.cause) == ("openai-agents.max-turns", "limit_reached")
        await bench.until(run, parked)
    async with bench.driving(grace_s=0.0):
        state = await bench.ended_by(hit, "retry")
    assert state.output == "the end"
    assert effects(bench) == ["look 0", "look 1", "look 2"]


async def test_a_session_is_read_once_and_written_once(bench: Bench) -> None:
    async with bench.driving():
        assert (await bench.ended(await start(bench, "remembering", "a"))).output == "1 items: a"
        state = await bench.ended(await start(bench, "remembering", "b"))
    assert state.output == "3 items: b"
    assert [node.name for node in state.nodes.values() if node.kind == "value"].count("session read") == 1


async def test_a_model_of_the_run_goes_before_the_agents(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "configured"))
    assert (state.output, state.nodes["configured~0/llm~0"].name) == ("by the run", "m")


async def test_what_the_provider_runs_is_said_once(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "searching"))
    (warning,) = state.nodes["searching~0"].warnings
    assert warning == "web_search: the provider runs them as part of a model call, so they cannot be steps"


async def test_a_tool_of_an_mcp_server_is_a_step(bench: Bench) -> None:
    async with bench.driving():
        (asked,) = await bench.incidents(await start(bench, "jotting"))
        assert asked.opened.action == {"tool": "jot", "arguments": {"text": "tea"}, "permission": "approval.jot"}
        state = await bench.ended_by(asked, "edit", arguments={"text": "milk"})
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
    set_tracing_disabled(False)  # a swarm that was loaded before may have said so, for the whole process
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
