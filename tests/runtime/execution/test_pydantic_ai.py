"""Agents of pydantic-ai under a runtime: what is recorded, what waits, and what an answer does."""

from __future__ import annotations

from tests.runtime.bench import Bench
from tests.runtime.guest_bench import PYDANTIC_AI as GUESTS
from tests.runtime.guest_bench import effects, options, parked, starts, two

start = starts(GUESTS)


async def test_what_the_tool_raises_to_steer_the_framework_is_a_result(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "careful")
        (wipe,) = await bench.incidents(run)
        assert wipe.opened.action["permission"] == "approval.wipe"
        await bench.answer(wipe, "grant")
        await bench.until(run, lambda state: any("order" in key for key in state.nodes) and bool(state.open_incidents))
        (order,) = await bench.incidents(run)
        assert (order.opened.question, order.opened.answer_schema) == ("Is the tea there?", {"type": "string"})
        state = await bench.ended_by(order, "input", value="yes, it is")
    assert state.output == "the end: yes, it is"
    assert effects(bench) == ["asked /tmp", "note wiped /tmp", "note guess 1", "note guess 2"]
    assert state.nodes["careful~0/wipe~0.0"].result["outcome"]["kind"] == "approval_required"
    assert state.nodes["careful~0/guess~1.0"].result == {
        "tool_name": "guess", "tool_call_id": "g1", "error": "another number", "outcome": {"kind": "model_retry"},
    }  # fmt: skip


async def test_an_agent_that_runs_another_is_a_node_and_its_parts_are_steps(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "searching"))
    assert state.output == '{"number": "B2", "price": 70}'
    below = "search~0/read_flights~0.0/reader~0"
    assert [key for key in state.nodes if key.startswith(below)] == [below, f"{below}/llm~0"]
    assert len([key for key in state.nodes if key.startswith("search~0/llm")]) == 3


async def test_request_input_is_asked_once_and_what_it_leaves_open_is_asked_here(bench: Bench) -> None:
    async with bench.driving(grace_s=0.0):
        run = await start(bench, "asking")
        first, second = await two(bench, run)
        assert [each.opened.action["arguments"]["amount"] for each in (first, second)] == [50, 60]
        await bench.until(run, parked)
        await bench.answer(first, "edit", arguments={"amount": 49})
        state = await bench.ended_by(second, "deny", message="too much")
    assert state.output == "the end: spent 49; Denied by the operator: too much"
    assert effects(bench) == [
        "posted 1 asking~0/deferred_tool_calls~1.0",
        "note spent 1",
        "posted 2 asking~0/deferred_tool_calls~2.0",
        "note spent 49",
    ]


async def test_a_dynamic_tool_sets_tools_are_recorded(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "dynamic"))
    assert state.output == "the end: HEY"
    listed = [node for node in state.nodes.values() if node.name.endswith("today.get_tools")]
    assert [node.kind for node in listed] == ["value", "value"]
    assert effects(bench).count("note hey") == 1


async def test_a_model_that_streams_is_asked_as_one_step(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "streaming"))
    assert state.output == "one two"
    assert [key for key, node in state.nodes.items() if node.kind == "llm"] == ["streaming~0/llm~0"]


async def test_a_deferred_call_may_be_denied(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "careful")
        await bench.answer((await bench.incidents(run))[0], "result", value="left alone")
        await bench.until(run, lambda state: any("order" in key for key in state.nodes) and bool(state.open_incidents))
        (order,) = await bench.incidents(run)
        assert options(order) == ["input", "deny", "skip", "abort"]
        state = await bench.ended_by(order, "deny", message="no tea today")
    assert state.output == "the end: Denied by the operator: no tea today"


async def test_a_call_is_skipped(bench: Bench) -> None:
    async with bench.driving():
        (failed,) = await bench.incidents(await start(bench, "broken"))
        assert (await bench.ended_by(failed, "skip", value="left out")).output == "went on: left out"
