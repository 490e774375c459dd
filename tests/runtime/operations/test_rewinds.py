"""Rewind and fork: what an operator turns back or takes over, and what is refused."""

from __future__ import annotations

import asyncio
import re
from collections import Counter

import pytest

from runtime.operations.answer_params import InvalidCommand
from runtime.operations.rewind_rules import RewindNeedsConfirmation
from runtime.operations.run_controls import RunControls
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from tests.runtime.bench import ME, Bench


async def _completed(bench: Bench, name: str) -> tuple[str, DurableRun]:
    run = await bench.start(name)
    return run, await bench.ended(run)


async def test_rewind_drops_what_is_later_keeps_what_is_beside_and_asks_before_repeating(
    bench: Bench, controls: RunControls
) -> None:
    async with bench.driving():
        run, state = await _completed(bench, "workflow")
        at = "swarm(noter...)~0/parallel~1/note~0.1"
        with pytest.raises(RewindNeedsConfirmation, match="note"):
            await controls.rewind(run, at, by=ME)
        dropped = await controls.rewind(run, at, confirm=True, by=ME)
        assert dropped == {
            at,
            "swarm(noter...)~0/parallel~1/llm~1",
            "swarm(noter...)~0/plain~2",
            "swarm(noter...)~0/plain~2/llm~0",
        }
        state = await bench.until(run, lambda s: s.lives >= 2 and s.terminal and s.rewind is None)
    assert (state.phase, state.output) == ("completed", "done: three notes")
    counted = Counter(bench.effects)
    assert counted["note p1"] == 2
    assert all(count == 1 for what, count in counted.items() if what != "note p1")


@pytest.mark.parametrize(("name", "node"), [("plain", "plain~0"), ("asker", "asker~0")])
async def test_an_ended_run_that_is_turned_back_has_no_end_any_more_before_it_is_driven(
    bench: Bench, controls: RunControls, name: str, node: str
) -> None:
    async with bench.driving():
        run = await bench.start(name)
        if name == "asker":
            (incident,) = await bench.incidents(run)
            await bench.answer(incident, "abort", reason="enough")
        ended = await bench.ended(run)
    assert ended.output or ended.error
    await controls.rewind(run, node, confirm=True, by=ME)
    state = await bench.state(run)
    assert (state.phase, state.output, state.error, state.finished_at) == ("queued", "", "", None)
    summary = await bench.journal.summary(run)
    assert summary is not None
    assert (summary.state, summary.error) == ("queued", "")


async def test_rewind_with_another_model(bench: Bench, controls: RunControls) -> None:
    async with bench.driving():
        run, state = await _completed(bench, "workflow")
        node = "swarm(noter...)~0/plain~2/llm~0"
        await controls.rewind(run, node, changes={"model": "scripted:zoo/handing"}, by=ME)
        state = await bench.until(run, lambda s: s.lives >= 2 and s.terminal and s.rewind is None)
    assert state.output == "noter"
    assert state.nodes[node].effective == {"model": "scripted:zoo/handing"}


async def test_neither_rewind_nor_fork_takes_a_model_that_no_call_could_be_sent_to(
    bench: Bench, controls: RunControls
) -> None:
    async with bench.driving():
        run, before = await _completed(bench, "workflow")
    node = "swarm(noter...)~0/plain~2/llm~0"
    for model, said in (
        ("antropic:claude", "did you mean 'anthropic:claude'"),
        ("openai:", "names no model"),
        ("nonsense", "names no provider"),
    ):
        with pytest.raises(InvalidCommand, match=said):
            await controls.rewind(run, node, changes={"model": model}, by=ME)
        with pytest.raises(InvalidCommand, match=said):
            await controls.fork(run, node, changes={"model": model}, by=ME)
    assert (await bench.state(run)).last_seq == before.last_seq


async def test_a_waiting_run_is_rewound_and_its_incident_goes_with_the_node(
    bench: Bench, controls: RunControls
) -> None:
    async with bench.driving(grace_s=0.0):
        run = await bench.start("asker")
        (incident,) = await bench.incidents(run)
        await controls.rewind(run, "asker~0/llm~0", by=ME)
        await bench.until(run, lambda s: len(s.incidents) == 2)
        (second,) = await bench.journal.incidents(run)
        assert second.opened.incident_id != incident.opened.incident_id
        late = await bench.decisions.answer(incident.opened.incident_id, "input", {"value": "x"}, by=ME)
        assert "rewound" in getattr(late, "detail", "")
        await bench.answer(second, "input", value="y")
        state = await bench.ended(run)
    assert state.output == "answered: the operator says y"


async def test_a_fork_goes_on_from_what_was_completed_and_leaves_its_source_alone(
    bench: Bench, controls: RunControls
) -> None:
    async with bench.driving():
        run, state = await _completed(bench, "workflow")
        before = list(bench.effects)
        fork = await controls.fork(
            run, "swarm(noter...)~0/plain~2/llm~0", changes={"model": "scripted:zoo/handing"}, by=ME
        )
        forked = await bench.ended(fork)
        source = await bench.state(run)
    assert bench.effects == before
    assert (forked.phase, forked.output) == ("completed", "noter")
    assert (source.phase, source.output, source.last_seq) == ("completed", "done: three notes", state.last_seq)
    assert forked.steps == source.steps


async def test_a_fork_of_a_run_that_waits_asks_its_own_question(bench: Bench, controls: RunControls) -> None:
    async with bench.driving(grace_s=0.0):
        run = await bench.start("stage")
        waiting = await bench.incidents(run, 2)
        asked = next(found for found in waiting if found.opened.question)
        await bench.answer(asked, "input", value="first")
        await bench.until(run, lambda s: s.nodes["swarm(noter...)~0/asker~0.1"].phase == "succeeded")
        fork = await controls.fork(run, by=ME)
        (again,) = await bench.incidents(fork)
        await bench.answer(again, "deny")
        forked = await bench.ended(fork)
        assert (await bench.state(run)).open_incidents
        await bench.decisions.abort(run, by=ME)
        await bench.ended(run)
    assert "the operator says first" in forked.output
    assert bench.effects.count("asked for whom?") == 1


async def test_who_turned_a_run_back_to_what_is_kept(bench: Bench, controls: RunControls) -> None:
    async with bench.driving():
        run = await bench.start("workflow")
        before = await bench.ended(run)
        (node,) = [found for found in before.nodes if before.nodes[found].name == "plain"]
        dropped = await controls.rewind(run, node, reason="too short", by=ME)
        state = await bench.until(run, lambda s: s.lives > 1 and s.terminal)
    (back,) = state.rewound
    assert (back.by, back.reason, back.node_id, back.dropped) == (ME, "too short", node, len(dropped))


async def test_rewind_with_another_input(bench: Bench, controls: RunControls) -> None:
    async with bench.driving():
        run, _ = await _completed(bench, "plain")
        await controls.rewind(run, "plain~0", changes={"input": "something else"}, by=ME)
        state = await bench.until(run, lambda s: s.lives >= 2 and s.terminal and s.rewind is None)
        forked = await controls.fork(run, "plain~0", changes={"input": "yet another"}, by=ME)
        assert (await bench.ended(forked)).output == "done: yet another"
    assert state.output == "done: something else"


async def test_a_frozen_run_that_is_turned_back_stays_frozen(bench: Bench, controls: RunControls) -> None:
    async with bench.driving(grace_s=0.0):
        run = await bench.start("asker")
        await bench.incidents(run)
        await bench.until(run, lambda s: s.phase == "waiting")
        await controls.freeze(run, by=ME)
        await controls.rewind(run, "asker~0", by=ME)
        await bench.ended(await bench.start("plain"))
        summary = await bench.journal.summary(run)
        assert summary is not None
        assert (summary.state, (await bench.state(run)).lives) == ("frozen", 1)
        await controls.thaw(run, by=ME)
        state = await bench.until(run, lambda s: bool(s.rewound) and bool(s.open_incidents))
        assert len(state.incidents) == 2, "it asks again"
        (incident,) = await bench.journal.incidents(run)
        await bench.answer(incident, "input", value="you")
        assert (await bench.ended(run)).phase == "completed"


async def test_what_is_under_way_is_let_go_of_before_a_rewind(bench: Bench, controls: RunControls) -> None:
    async with bench.driving(grace_s=0.0):
        run = await bench.start("slow")
        state = await bench.until(
            run, lambda s: any(node.kind == "tool" and node.in_flight for node in s.nodes.values())
        )
        (tool,) = [node.id for node in state.nodes.values() if node.kind == "tool"]
        with pytest.raises(RewindNeedsConfirmation, match="linger"):
            await controls.rewind(run, tool, by=ME)
        await controls.rewind(run, tool, confirm=True, by=ME)
        await bench.until(
            run, lambda s: s.lives >= 2 and any(n.kind == "tool" and n.in_flight for n in s.nodes.values())
        )
        (bench.root / "go").touch()
        state = await bench.ended(run)
    assert (state.phase, bench.effects) == ("completed", ["lingered"])
    assert state.nodes[tool].attempts == 1


@pytest.mark.parametrize("by_answer", [False, True])
async def test_a_run_that_was_aborted_can_be_turned_back_and_lives_again(
    bench: Bench, controls: RunControls, *, by_answer: bool
) -> None:
    async with bench.driving(grace_s=0.0):
        run = await bench.start("asker")
        (incident,) = await bench.incidents(run)
        if by_answer:
            await bench.answer(incident, "abort")
        else:
            await bench.decisions.abort(run, by=ME)
        assert (await bench.ended(run)).phase == "aborted"
        await controls.rewind(run, "asker~0", by=ME)
        await bench.until(run, lambda s: bool(s.rewound) and bool(s.open_incidents))
        (again,) = await bench.journal.incidents(run)
        assert again.opened.incident_id != incident.opened.incident_id
        await bench.answer(again, "input", value="you")
        assert (await bench.ended(run)).phase == "completed"
        await controls.rewind(run, "asker~0", by=ME)
        await bench.until(run, lambda s: len(s.rewound) == 2 and bool(s.open_incidents))
        await bench.decisions.abort(run, by=ME)
        assert (await bench.ended(run)).phase == "aborted", "an abort counts as often as it is said"


async def test_a_run_that_was_aborted_at_a_step_is_not_turned_back_to_what_ran_beside_it(
    bench: Bench, controls: RunControls
) -> None:
    async with bench.driving(grace_s=0.0):
        run = await bench.start("stage")
        (one, other) = await bench.incidents(run, 2)
        await bench.answer(one, "abort")
        before = await bench.ended(run)
        beside = other.opened.node_id
        with pytest.raises(InvalidCommand, match=re.escape(one.opened.node_id)):
            await controls.rewind(run, beside, confirm=True, by=ME)
        assert await bench.state(run) == before, "nothing was asked of it"
        await controls.rewind(run, one.opened.node_id, confirm=True, by=ME)
        await bench.until(run, lambda s: bool(s.rewound) and bool(s.open_incidents))


async def test_while_an_abort_is_under_way_a_rewind_is_refused_and_says_whose(
    bench: Bench, controls: RunControls, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench.driving(grace_s=0.0):
        run = await bench.start("asker")
        await bench.incidents(run)
        await bench.until(run, lambda s: s.phase == "waiting")
    await bench.decisions.abort(run, reason="enough", by=ME)  # while nothing runs: it is under way until something does
    with pytest.raises(InvalidCommand, match=r"is being aborted \(tester, .* UTC\): once it has ended"):
        await controls.rewind(run, "asker~0", by=ME)
    async with bench.driving(grace_s=0.0):
        assert (await bench.ended(run)).phase == "aborted"
        await controls.rewind(run, "asker~0", by=ME)
        assert (await bench.until(run, lambda s: s.lives >= 3 and bool(s.open_incidents))).rewind is None
        # One that comes between the look and the word: the word is not taken.
        read, here = bench.journal.read, asyncio.current_task()

        async def aborted_after(run_id: str, after: int = 0, limit: int | None = None) -> list[ev.JournalEvent]:
            found = await read(run_id, after, limit)
            if asyncio.current_task() is not here:  # what drives the run reads as well
                return found
            monkeypatch.setattr(bench.journal, "read", read)
            await bench.decisions.abort(run, reason="now", by=ME)
            return found

        monkeypatch.setattr(bench.journal, "read", aborted_after)
        with pytest.raises(InvalidCommand, match="is being aborted"):
            await controls.rewind(run, "asker~0", by=ME)
        ended = await bench.until(run, lambda s: s.terminal and s.error == "now")
    assert (ended.phase, ended.rewind) == ("aborted", None)


async def test_an_answer_that_aborts_the_run_is_an_abort_under_way(bench: Bench, controls: RunControls) -> None:
    async with bench.driving(grace_s=0.0):
        run = await bench.start("asker")
        (incident,) = await bench.incidents(run)
        await bench.until(run, lambda s: s.phase == "waiting")
    await bench.answer(incident, "abort")
    with pytest.raises(InvalidCommand, match="is being aborted"):
        await controls.rewind(run, "asker~0", by=ME)
