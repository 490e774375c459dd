"""Agents of pydantic-ai under a runtime: what is recorded, what waits, and what an answer does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from runtime.operations.run_controls import RunControls
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Limit
from tests.runtime.bench import ME, Bench
from tests.runtime.guest_bench import PYDANTIC_AI as GUESTS
from tests.runtime.guest_bench import effects, options, parked, starts, two

start = starts(GUESTS)


async def test_a_bare_agent_takes_the_name_of_its_reference(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "plain"))
    assert state.output == "you said go"
    node = state.nodes["plain~0"]
    assert (node.kind, node.name, node.info["framework"]) == ("agent", "plain", "pydantic-ai")
    asked = state.nodes["plain~0/llm~0"]
    assert (asked.kind, asked.name, asked.requested["messages"]) == (
        "llm", "function:scripted", [{"role": "user", "content": "go"}],
    )  # fmt: skip
    assert asked.input_tokens > 0


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


async def test_each_call_that_needs_approval_is_an_incident_of_its_own(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "banker")
        first, second = await two(bench, run)
        assert [each.opened.action for each in (first, second)] == [
            {"tool": "pay", "arguments": {"to": "ann", "amount": 1}, "permission": "approval.pay"},
            {"tool": "pay", "arguments": {"to": "bob", "amount": 2}, "permission": "approval.pay"},
        ]
        assert options(first) == ["grant", "deny", "edit", "result", "skip", "abort"]
        assert first.opened.arguments_schema is not None
        await bench.answer(second, "deny", message="not bob")
        state = await bench.ended_by(first, "edit", arguments={"to": "ann", "amount": 5})
    assert effects(bench) == ["note balance", "note paid ann 5"]
    assert state.output == '{"total": 3, "paid": ["ann", "bob"]}'
    told = state.nodes["bank~0/pay~0.1"].result
    assert told["error"] == "Denied by the operator: not bob"


async def test_a_grant_is_for_the_call_that_was_shown(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "banker")
        first, second = await two(bench, run)
        await bench.answer(first, "grant")
        await bench.until(run, lambda state: state.nodes["bank~0/pay~0.0"].terminal)
        assert [each.opened.incident_id for each in await bench.incidents(run)] == [second.opened.incident_id]
        state = await bench.ended_by(second, "result", value="bob was paid in cash")
    assert effects(bench) == ["note balance", "note paid ann 1"]
    assert state.nodes["bank~0/pay~0.1"].result["content"] == "bob was paid in cash"


async def test_changed_arguments_are_checked_as_the_models_are(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "banker")
        first, second = await two(bench, run)
        await bench.answer(second, "grant")
        with pytest.raises(Exception, match="amount"):
            await bench.answer(first, "edit", arguments={"to": "ann", "amount": "much"})
        await bench.ended_by(first, "grant")


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


async def test_another_exception_of_a_tool_is_an_incident_and_retry_heals_it(bench: Bench) -> None:
    async with bench.driving():
        (failed,) = await bench.incidents(await start(bench, "broken"))
        assert failed.opened.action == {"tool": "reach", "arguments": {"host": "h"}}
        state = await bench.ended_by(failed, "edit", arguments={"host": "up"})
    assert state.output == "went on: reached up"
    assert effects(bench) == ["reach h", "reach up"]


async def test_a_changed_tool_parks_with_the_difference(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(GUESTS.read_text())
    async with bench.driving(grace_s=0.0):
        run = await bench.decisions.start(f"{file}:broken", "go", by=ME)
        await bench.until(run, parked)
    file.write_text(GUESTS.read_text().replace("def reach(", "def grab("))
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
        state = await bench.ended_by(failed, "result", value="fine")
    assert state.output == "went on: fine; be kind"


async def test_a_guest_and_another_stand_in_one_swarm(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "both"))
    agents = [node.name for node in state.nodes.values() if node.kind == "agent"]
    assert agents == ["first", "parallel"]
    assert state.output.startswith("three notes")


async def test_the_model_is_one_of_those_that_are_registered(bench: Bench) -> None:
    async with bench.driving():
        (failed,) = await bench.incidents(await start(bench, "switching"))
        state = await bench.ended_by(failed, "switch_model", model="spare")
    assert state.output == "the spare one"


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


async def test_a_deferred_call_may_be_denied(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "careful")
        await bench.answer((await bench.incidents(run))[0], "result", value="left alone")
        await bench.until(run, lambda state: any("order" in key for key in state.nodes) and bool(state.open_incidents))
        (order,) = await bench.incidents(run)
        assert options(order) == ["input", "deny", "skip", "abort"]
        state = await bench.ended_by(order, "deny", message="no tea today")
    assert state.output == "the end: Denied by the operator: no tea today"


async def test_a_run_is_turned_back_to_a_call_and_goes_on_from_there(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "parallel")
        await bench.ended(run)
        await RunControls(bench.journal).rewind(run, "parallel~0/llm~1", confirm=True, by=ME)
        state = await bench.until(run, lambda state: state.phase == "completed" and state.lives > 1)
    assert state.output == "three notes: noted p0; noted p1; noted p2; saw p"
    assert Counter(bench.effects) == Counter(["look model"] * 3 + ["look p", "note p0", "note p1", "note p2"])


async def test_a_fork_begins_with_what_was_done(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "parallel")
        await bench.ended(run)
        other = await RunControls(bench.journal).fork(run, "parallel~0/note~0.1", by=ME)
        state = await bench.ended(other)
    assert state.output == "three notes: noted p0; noted p1; noted p2; saw p"
    assert bench.effects.count("note p1") == 2
    assert bench.effects.count("look model") == 3


async def test_a_breakpoint_stops_before_a_tool_and_before_the_agent(bench: Bench) -> None:
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
        state = await bench.ended_by(stopped, "edit", arguments={"host": "up"})
    assert state.output == "went on: reached up"


async def test_an_agent_is_skipped_with_a_value_from_its_model_or_from_a_tool(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "switching")
        (failed,) = await bench.incidents(run)
        state = await bench.ended_by(failed, "skip", value="nothing to say")
        assert (state.phase, state.output) == ("degraded", "nothing to say")
        run = await start(bench, "banker")
        first, _ = await two(bench, run)
        state = await bench.ended_by(first, "skip", value="no bank today", reach="agent")
    assert (state.phase, state.output, state.open_incidents) == ("degraded", "no bank today", [])
    assert effects(bench) == ["note balance"]


async def test_a_call_is_skipped_or_its_branch_ended(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "broken")
        await bench.answer((await bench.incidents(run))[0], "skip", value="left out")
        assert (await bench.ended(run)).output == "went on: left out"
        run = await start(bench, "broken")
        state = await bench.ended_by((await bench.incidents(run))[0], "abort", reach="agent", reason="enough")
    assert state.phase == "failed"
    assert "ended this branch" in state.summary().error


async def test_tokens_count_in_the_budget(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.decisions.start(
            f"{GUESTS}:parallel", "go", options={"budget": {"max_total_tokens": 60}}, by=ME
        )
        hits = await bench.incidents(run)
    assert {each.opened.fault.limit for each in hits} == {Limit.TOKENS}
