"""Graphs of LangGraph and agents of LangChain under a runtime: what is recorded, what waits, what an answer does."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from orbiter.guests.langgraph import approval
from runtime.operations.answer_params import InvalidCommand
from runtime.operations.run_controls import RunControls
from tests.runtime.bench import ME, Bench
from tests.runtime.guest_bench import LANGGRAPH as GRAPHS
from tests.runtime.guest_bench import asked, effects, options, parked, starts, two

start = starts(GRAPHS)
APPROVE_ANN = {"tool": "approve pay", "arguments": {"to": "ann", "amount": 1}, "permission": "approval.pay"}


async def test_structured_output_survives_replay_as_its_type(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "structured"))
    assert json.loads(state.output) == {"total": 3, "paid": ["ann", "bob"]}


async def test_decisions_of_the_human_in_the_loop_middleware_are_grants_edits_and_refusals(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "banker")
        first, second = await two(bench, run)
        assert first.opened.action == APPROVE_ANN
        assert {"grant", "deny", "edit", "result"} <= set(options(first))
        await bench.answer(second, "deny", message="not bob")
        state = await bench.ended_by(first, "edit", arguments={"to": "ann", "amount": 5})
    assert effects(bench) == ["note paid ann 5"]
    assert state.nodes["banker~0/pay~0.0"].requested["arguments"] == {"to": "ann", "amount": 5}
    assert "paid ann 5" in state.output
    assert "not bob" in state.output


async def test_only_decisions_that_the_middleware_allows_are_offered_and_what_is_decided_is_shown(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "banker_yes_or_no")
        first, second = await two(bench, run)
        assert first.opened.action == APPROVE_ANN
        assert options(first) == ["grant", "deny", "skip", "abort"]
        with pytest.raises(InvalidCommand):
            await bench.answer(first, "edit", arguments={"to": "ann", "amount": 5})
        await bench.answer(second, "skip")
        state = await bench.ended_by(first, "grant")
        assert effects(bench) == ["note paid ann 1"]
        assert "Skipped by the operator." in state.output
        approving, _ = await two(bench, await start(bench, "banker_only_yes"))
        assert options(approving) == ["grant", "deny", "edit", "abort"]


async def test_an_answer_that_an_earlier_program_offered_and_the_middleware_does_not_take_is_asked_for_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(approval, "_not_taken", lambda asked: frozenset())
        async with bench.driving(grace_s=0.0):
            run = await start(bench, "banker_yes_or_no")
            first, second = await two(bench, run)
            assert "result" in options(first)
            await bench.until(run, parked)
    await bench.answer(first, "result", value="transfer 4711 was done by phone")
    async with bench.driving():
        again, _ = await two(bench, run)
        assert options(again) == ["grant", "deny", "skip", "abort"]
        assert "the result that tester gave is not an answer that this takes" in again.opened.message
        await bench.answer(second, "skip")
        state = await bench.ended_by(again, "grant")
    assert effects(bench) == ["note paid ann 1"]
    assert "Skipped by the operator." in state.output


async def test_an_approval_for_each_call_has_its_own_interrupt(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "banker_per_call")
        first, second = await two(bench, run)
        await bench.answer(second, "result", value="bob was paid in cash")
        state = await bench.ended_by(first, "edit", arguments={"to": "ann", "amount": 7})
    assert effects(bench) == ["note paid ann 7"]
    assert state.output.endswith("paid ann 7; bob was paid in cash")


async def test_tools_that_ask_side_by_side_get_each_its_own_answers(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "asking")
        for order in ("first", "second"):
            for what in ("y", "x"):
                more = f'\n{{"so far": "{what} first"}}' if order == "second" else ""
                await bench.answer(await asked(bench, run, f"{order} {what}?{more}"), "input", value=f"{what} {order}")
        state = await bench.ended(run)
    assert state.output == "the end: x: x first x second; y: y first y second"
    assert sorted(each for each in effects(bench) if each.startswith("note")) == [
        "note confirmed x x first x second", "note confirmed y y first y second",
    ]  # fmt: skip


async def test_a_node_that_fails_is_done_again_and_its_finished_siblings_are_not(bench: Bench) -> None:
    (bench.root / "down").touch()
    async with bench.driving():
        (failed,) = await bench.incidents(await start(bench, "nodes", '{"text": "t", "notes": []}'))
        assert (failed.opened.error_type, "refused" in failed.opened.message) == ("ConnectionRefusedError", True)
        (bench.root / "down").unlink()
        state = await bench.ended_by(failed, "retry")
    assert json.loads(state.output)["notes"] == ["planned t", "charged 0", "charged 1", "charged 2", "shipped all"]
    assert sorted(effects(bench)) == ["note charged 0", "note charged 1", "note charged 2", "note shipped all"]
    (warned,) = state.nodes["nodes~0"].warnings
    assert "durable(function)" in warned


async def test_questions_in_parallel_in_a_loop_and_in_a_graph_within_a_node(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "questions", '{"text": "t", "notes": []}')
        waiting = {each.opened.question: each for each in await bench.incidents(run, 2)}
        await bench.answer(waiting["right of t?"], "input", value="R")
        await bench.answer(waiting["left of t?"], "input", value="L")
        not_taken = "how many?\nThe answer before was not taken: {} is not a number of JSON."
        for question, said in (
            ("how many?", "NaN"),
            (not_taken.format("NaN"), '{"most": -Infinity}'),
            (not_taken.format("-Infinity"), "[1e999]"),
            (not_taken.format("1e999"), "many"),
            ("'many' is not a number. how many?", "3"),
            ("deep of t?", "D"),
        ):
            found = await asked(bench, run, question)
            await bench.answer(found, "input", value=said)
        found = await asked(bench, run, "which one?")
        assert set((found.opened.answer_schema or {})["properties"]) == {"colour", "size"}
        state = await bench.ended_by(found, "input", value={"colour": "red", "size": 3})
    assert json.loads(state.output)["notes"] == ["left=L", "right=R", "n=3", "deep=D", "red 3"]


async def test_a_changed_graph_parks_with_the_difference(bench: Bench) -> None:
    app = bench.root / "app.py"
    source = (
        "from langgraph.graph import START, StateGraph\n"
        "from langgraph.types import interrupt\n"
        "from typing_extensions import TypedDict\n"
        "class State(TypedDict):\n    text: str\n"
        "def one(state: State) -> State:\n    return {'text': str(interrupt('go on?'))}\n"
        "builder = StateGraph(State).add_node('one', one).add_edge(START, 'one')\n"
    )
    app.write_text(f"{source}graph = builder.compile()\n")
    async with bench.driving():
        run = await bench.decisions.start(f"{app}:graph", "hi", by=ME)
        (question,) = await bench.incidents(run)
    app.write_text(f"{source}graph = builder.add_node('two', one).add_edge('one', 'two').compile()\n")
    async with bench.driving():
        await bench.answer(question, "input", value="yes")
        await bench.until(run, lambda state: any("recorded" in each.opened.message for each in state.open_incidents))
        found = next(each for each in await bench.journal.incidents(run) if "recorded" in each.opened.message)
    assert "nodes: recorded" in found.opened.message
    assert "two" in found.opened.message


async def test_a_graph_with_a_checkpointer_of_its_own_stops_where_it_was_compiled_to(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "stopping")
        found = await asked(bench, run, "The graph stops before 'close', as it was compiled to. Go on?")
        assert "note shipped all" not in bench.effects
        state = await bench.ended_by(found, "input", value=True)
    assert json.loads(state.output)["notes"][-1] == "shipped all"
    assert bench.effects.count("note charged 1") == 1


@pytest.mark.parametrize(
    ("option", "params", "note"),
    [
        ("edit", {"arguments": {"to": "bob"}}, "edit {'action': 'mail', 'args': {'to': 'bob'}}"),
        ("grant", {}, "accept None"),
        ("deny", {"message": "not her"}, "response Denied by the operator: not her"),
        ("result", {"value": "sent by hand"}, "response sent by hand"),
    ],
)
async def test_the_older_schema_of_interrupts_is_answered_like_a_permission(
    bench: Bench, option: str, params: dict[str, Any], note: str
) -> None:
    async with bench.driving():
        (found,) = await bench.incidents(await start(bench, "older"))
        assert found.opened.action == {
            "tool": "approve mail", "arguments": {"to": "ann"}, "permission": "approval.mail",
        }  # fmt: skip
        state = await bench.ended_by(found, option, **params)
    assert json.loads(state.output)["notes"] == [note]


async def test_a_coarse_run_is_turned_back_to_what_a_node_wrote_and_the_node_runs_again(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "nodes")
        before = await bench.ended(run)
        closing = next(key for key, node in before.nodes.items() if "close" in str(node.requested.get("task")))
        (bench.root / "down").touch()
        await RunControls(bench.journal).rewind(run, closing, confirm=True, by=ME)
        (failed,) = await bench.incidents(run)
        (bench.root / "down").unlink()
        await bench.answer(failed, "retry")
        state = await bench.until(run, lambda state: state.phase == "completed" and state.lives > 1)
    assert state.output == before.output
    done = Counter(effects(bench))
    assert (done["note shipped all"], done["note charged 1"]) == (1, 1)


async def test_what_acts_between_calls_is_refused_in_words_for_a_coarse_graph(bench: Bench) -> None:
    (bench.root / "down").touch()
    async with bench.driving():
        run = await start(bench, "nodes")
        (failed,) = await bench.incidents(run)
        controls = RunControls(bench.journal)
        for agent in ("nodes", "nodes~0"):
            with pytest.raises(InvalidCommand, match="recorded by supersteps: it reads no messages"):
                await controls.inject(run, agent, "be kind", by=ME)
        assert "does not stop" in await controls.set_breakpoint(run, "agent", "nodes", by=ME)
        assert await controls.freeze(run, by=ME) == [run]
        (bench.root / "down").unlink()
        await bench.answer(failed, "retry")
        assert "note shipped all" not in bench.effects
        await controls.thaw(run, by=ME)
        await bench.ended(run)
    assert Counter(effects(bench))["note charged 1"] == 1


async def test_a_fine_agent_reads_messages_stops_at_breakpoints_and_is_forked_from_a_call(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "broken")
        (failed,) = await bench.incidents(run)
        controls = RunControls(bench.journal)
        await controls.inject(run, "broken", "be kind", by=ME)
        assert await controls.set_breakpoint(run, "tool", "reach", by=ME) == ""
        await bench.answer(failed, "retry")
        await bench.until(
            run, lambda state: any(each.opened.fault.rule_id == "breakpoint" for each in state.open_incidents)
        )
        (stopped,) = await bench.incidents(run)
        assert bench.effects.count("reach h") == 1
        state = await bench.ended_by(stopped, "edit", arguments={"host": "up"})
        told = state.nodes["broken~0/llm~1"].requested
        forked = await bench.ended(await controls.fork(run, "broken~0/llm~1", by=ME))
    assert state.output == "went on: "  # the latest message is the operator's
    assert told["count"] == 4
    assert forked.phase == "completed"
    assert bench.effects.count("reach up") == 1


async def test_an_input_that_a_graph_does_not_take_is_asked_for_with_its_fields(bench: Bench) -> None:
    async with bench.driving(grace_s=0.0):
        run = await start(bench, "journey")
        (failed,) = await bench.incidents(run)
        await bench.until(run, parked)
    async with bench.driving(grace_s=0.0):
        state = await bench.ended_by(failed, "input", value={"start": "Bern", "end": "Ulm", "days": 2})
    assert "the graph takes 'start', 'end', 'days': write the input as a JSON object" in failed.opened.question
    assert (failed.opened.answer_schema or {})["properties"]["days"]["type"] == "integer"
    assert json.loads(state.output) == {"start": "Bern", "end": "Ulm for 2", "days": 2}


async def test_what_a_tool_writes_to_the_state_by_itself_is_there_when_the_call_is_recalled(bench: Bench) -> None:
    (bench.root / "down").touch()
    async with bench.driving(grace_s=0.0):
        run = await start(bench, "filing")
        (failed,) = await bench.incidents(run)
        await bench.until(run, parked)
    (bench.root / "down").unlink()
    async with bench.driving(grace_s=0.0):
        state = await bench.ended_by(failed, "retry")
    assert state.output == "the end: one, two"
    assert sorted(effects(bench)) == ["note kept one", "note kept two"]


async def test_tasks_of_the_functional_api_that_ended_are_not_done_again(bench: Bench) -> None:
    (bench.root / "down").touch()
    async with bench.driving(grace_s=0.0):
        run = await start(bench, "flow")
        assert "task" in (await bench.until(run, parked)).nodes["flow~0"].warnings[0]
    async with bench.driving(grace_s=0.0):
        await bench.answer(await asked(bench, run, "go on?"), "input", value="yes")
        await bench.until(run, lambda state: any("refused" in each.opened.message for each in state.open_incidents))
        (failed,) = await bench.incidents(run)
        (bench.root / "down").unlink()
        state = await bench.ended_by(failed, "retry")
    assert state.output == "go: A, B, settled yes"
    assert sorted(bench.effects) == ["note fetched a", "note fetched b", "note settled yes"]


async def test_langgraphs_own_tests_of_a_checkpointer_pass_in_a_run(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "conforming"))
    assert state.output == "put, put_writes, get_tuple, list, delete_thread"
    assert sum("/checkpoint~" in key for key in state.nodes) > 20
