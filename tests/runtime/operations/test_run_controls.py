"""Freeze, break, inject, rewind, fork: what an operator does to a run besides answering it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from runtime.operations.answer_params import InvalidCommand
from runtime.operations.requests.runs import BreakpointKind
from runtime.operations.rewind_rules import RewindNeedsConfirmation
from runtime.operations.run_controls import RunControls
from runtime.record.sqlite.journal import SqliteJournal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from tests.present import present
from tests.runtime.bench import ME, Bench
from tests.runtime.record.sqlite_parts import reader_of

LAST_STEP = "swarm(noter...)~0/plain~2/llm~0"
"""The last step of the swarm `workflow`."""


@pytest.fixture
def controls(bench: Bench) -> RunControls:
    return RunControls(bench.journal)


async def test_a_frozen_run_begins_nothing_until_it_is_thawed(bench: Bench, controls: RunControls) -> None:
    run = await bench.start("workflow")
    assert await controls.freeze(run, by=ME) == [run]
    async with bench.driving(grace_s=0.0):
        await bench.ended(await bench.start("plain"))
        assert bench.effects == []
        summary = present(await bench.journal.summary(run))
        assert summary.state == "frozen"
        await controls.thaw(run, by=ME)
        state = await bench.ended(run)
    assert state.phase == "completed"


async def test_freezing_a_run_that_is_driven_drains_it_and_lets_it_go(bench: Bench, controls: RunControls) -> None:
    async with bench.driving(grace_s=0.0) as supervisor:
        run = await bench.start("stage")
        await bench.incidents(run, 2)
        await bench.until(run, lambda s: s.phase == "waiting")
        await controls.freeze(run, reason="lunch", by=ME)
        waiting = await bench.journal.incidents(run)
        for incident in waiting:
            if incident.opened.question:
                await bench.answer(incident, "input", value="x")
            else:
                await bench.answer(incident, "grant")
        # Answered, but frozen: no process takes it up.
        await bench.ended(await bench.start("plain"))
        assert run not in supervisor.driving
        assert "save out.md" not in bench.effects
        assert await controls.thaw(by=ME) == [run]
        state = await bench.ended(run)
    assert state.phase == "completed"
    assert bench.effects.count("save out.md") == 1


async def test_a_frozen_run_can_be_aborted(bench: Bench, controls: RunControls) -> None:
    run = await bench.start("plain")
    await controls.freeze(by=ME)
    await bench.decisions.abort(run, by=ME)
    async with bench.driving():
        state = await bench.ended(run)
    assert state.phase == "aborted"


async def test_a_breakpoint_stops_once_before_a_tool(bench: Bench, controls: RunControls) -> None:
    run = await bench.start("chatty")
    await controls.set_breakpoint(run, "tool", "no*", by=ME)
    async with bench.driving():
        (incident,) = await bench.incidents(run)
        assert incident.opened.action == {"tool": "note", "arguments": {"text": "b"}}
        assert bench.effects == ["look a"]
        assert incident.opened.options[0].label == "Go on"
        state = await bench.ended_by(incident, "edit", arguments={"text": "edited"})
    assert state.phase == "completed"
    assert bench.effects == ["look a", "note edited"]


async def test_a_breakpoint_before_an_agent(bench: Bench, controls: RunControls) -> None:
    run = await bench.start("workflow")
    await controls.set_breakpoint(run, "agent", "parallel", by=ME)
    async with bench.driving(grace_s=0.0):
        (incident,) = await bench.incidents(run)
        assert incident.opened.lineage[-1] == "parallel"
        await bench.until(run, lambda s: s.phase == "waiting")
        assert bench.effects == ["note one", "note two"]
        state = await bench.ended_by(incident, "retry")
    assert (state.phase, len(state.incidents)) == ("completed", 1)
    with pytest.raises(InvalidCommand, match="has ended"):
        await controls.set_breakpoint(run, "agent", "x", by=ME)


async def test_an_injected_message_is_read_at_the_next_turn_in_every_life(bench: Bench, controls: RunControls) -> None:
    run = await bench.start("chatty", "hello")
    await controls.set_breakpoint(run, "tool", "note", by=ME)
    async with bench.driving(grace_s=0.0):
        (incident,) = await bench.incidents(run)
        await bench.until(run, lambda s: s.phase == "waiting")
        await controls.inject(run, "chatty", "stop after this", by=ME)
        with pytest.raises(InvalidCommand, match="has no agent 'nobody'"):
            await controls.inject(run, "nobody", "x", by=ME)
        state = await bench.ended_by(incident, "retry")
    assert state.output == "heard: stop after this"
    assert state.nodes["chatty~0"].delivered == {2: ("stop after this",)}
    assert not state.injected


async def _completed(bench: Bench, name: str) -> tuple[str, DurableRun]:
    run = await bench.start(name)
    return run, await bench.ended(run)


async def _rewound(bench: Bench, run: str) -> DurableRun:
    """The run once it ended again."""
    return await bench.until(run, lambda s: s.lives >= 2 and s.terminal and s.rewind is None)


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
            LAST_STEP,
        }
        state = await _rewound(bench, run)
    assert (state.phase, state.output) == ("completed", "done: three notes")
    counted = Counter(bench.effects)
    assert counted["note p1"] == 2
    assert all(count == 1 for what, count in counted.items() if what != "note p1")


async def test_rewind_with_another_model(bench: Bench, controls: RunControls) -> None:
    async with bench.driving():
        run, state = await _completed(bench, "workflow")
        await controls.rewind(run, LAST_STEP, changes={"model": "scripted:zoo/handing"}, by=ME)
        state = await _rewound(bench, run)
    assert state.output == "noter"
    assert state.nodes[LAST_STEP].effective == {"model": "scripted:zoo/handing"}


async def test_neither_rewind_nor_fork_takes_a_model_that_no_call_could_be_sent_to(
    bench: Bench, controls: RunControls
) -> None:
    async with bench.driving():
        run, before = await _completed(bench, "workflow")
    for model, said in (
        ("antropic:claude", "did you mean 'anthropic:claude'"),
        ("openai:", "names no model"),
        ("nonsense", "names no provider"),
    ):
        with pytest.raises(InvalidCommand, match=said):
            await controls.rewind(run, LAST_STEP, changes={"model": model}, by=ME)
        with pytest.raises(InvalidCommand, match=said):
            await controls.fork(run, LAST_STEP, changes={"model": model}, by=ME)
    assert (await bench.state(run)).last_seq == before.last_seq


async def test_a_waiting_run_is_rewound_and_its_incident_goes_with_the_node(
    bench: Bench, controls: RunControls
) -> None:
    async with bench.driving(grace_s=0.0):
        run, incident = await bench.asked("asker")
        await controls.rewind(run, "asker~0/llm~0", by=ME)
        await bench.until(run, lambda s: len(s.incidents) == 2)
        (second,) = await bench.journal.incidents(run)
        assert second.opened.incident_id != incident.opened.incident_id
        late = await bench.decisions.answer(incident.opened.incident_id, "input", {"value": "x"}, by=ME)
        assert "rewound" in getattr(late, "detail", "")
        state = await bench.ended_by(second, "input", value="y")
    assert state.output == "answered: the operator says y"


async def test_a_fork_goes_on_from_what_was_completed_and_leaves_its_source_alone(
    bench: Bench, controls: RunControls
) -> None:
    async with bench.driving():
        run, state = await _completed(bench, "workflow")
        before = list(bench.effects)
        fork = await controls.fork(run, LAST_STEP, changes={"model": "scripted:zoo/handing"}, by=ME)
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
        forked = await bench.ended_by(again, "deny")
        assert (await bench.state(run)).open_incidents
        await bench.decisions.abort(run, by=ME)
        await bench.ended(run)
    assert "the operator says first" in forked.output
    assert bench.effects.count("asked for whom?") == 1


async def test_a_freeze_of_a_swarm_stands_for_runs_that_begin_later(bench: Bench, controls: RunControls) -> None:
    first = await bench.start("plain")
    ref = (await bench.state(first)).ref
    assert await controls.freeze(ref=ref, reason="the provider is down", by=ME) == [first]
    later, other = await bench.start("plain"), await bench.start("chatty")
    async with bench.driving():
        await bench.ended(other)
        assert (await bench.state(later)).phase == "frozen"
        assert sorted(await controls.thaw(ref=ref, by=ME)) == sorted([first, later])
        await bench.ended(first)
        await bench.ended(later)
        await bench.ended(await bench.start("plain"))


async def test_a_run_of_a_frozen_swarm_is_frozen_with_its_creation(bench: Bench, controls: RunControls) -> None:
    first = await bench.start("plain")
    ref = (await bench.state(first)).ref
    await controls.freeze(ref=ref, reason="no money", by=ME)
    async with bench.driving(grace_s=0.0):
        later = await bench.start("plain")
        forked = await controls.fork(first, by=ME)
        for run in (later, forked):
            created, frozen = await bench.journal.read(run)
            assert isinstance(created, ev.RunCreated)
            assert isinstance(frozen, ev.RunFrozen), "in one transaction: there is no moment in which a step may begin"
            assert frozen.reason == "no money"
            summary = present(await bench.journal.summary(run))
            assert summary.state == "frozen"
        await controls.thaw(ref=ref, by=ME)
        assert (await bench.ended(later)).phase == "completed"


async def test_a_freeze_that_is_said_while_a_run_is_being_created_reaches_it(
    bench: Bench, controls: RunControls, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = bench.journal.create

    async def freeze_first(*args: Any, **more: Any) -> bool:
        assert await controls.freeze(by=ME) == [], "it is not listed yet"
        return await create(*args, **more)

    monkeypatch.setattr(bench.journal, "create", freeze_first)
    assert (await bench.state(await bench.start("plain"))).phase == "frozen"


async def test_a_thaw_that_is_said_while_a_run_is_being_created_reaches_it(
    bench: Bench, controls: RunControls, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = bench.journal.create
    await controls.freeze(by=ME)

    async def thaw_first(*args: Any, **more: Any) -> bool:
        await controls.thaw(by=ME)  # the run is not listed yet
        return await create(*args, **more)

    monkeypatch.setattr(bench.journal, "create", thaw_first)
    run = await bench.start("plain")
    async with bench.driving():
        assert (await bench.ended(run)).phase == "completed"


async def test_what_stands_is_read_once(bench: Bench, controls: RunControls, monkeypatch: pytest.MonkeyPatch) -> None:
    await controls.freeze(ref="other.py:swarm", by=ME)
    asked: list[int] = []
    events = reader_of(bench.journal).events

    async def counted(run_id: str, after: int = 0, limit: int | None = None) -> list[ev.JournalEvent]:
        found = await events(run_id, after, limit)
        asked.append(len(found))
        return found

    monkeypatch.setattr(reader_of(bench.journal), "events", counted)
    for _ in range(3):
        await bench.start("plain")
    assert sum(asked) == 1, "the freeze, once"


async def test_the_drain_of_a_freeze_is_seen_until_the_last_step_has_ended(bench: Bench, controls: RunControls) -> None:
    async with bench.driving(grace_s=0.0):
        run = await bench.start("slow")
        await bench.until(run, lambda s: any(each.kind == "tool" for each in s.in_flight))
        await controls.freeze(run, by=ME)
        state = await bench.until(run, lambda s: s.phase == "frozen")
        assert [node.name for node in state.in_flight] == ["linger"]
        assert state.freezing
        summary = present(await bench.journal.summary(run))
        assert (summary.state, summary.in_flight, summary.freezing) == ("frozen", 1, True)
        (bench.root / "go").touch()
        state = await bench.until(run, lambda s: not s.freezing)
        assert (state.phase, state.in_flight) == ("frozen", [])
        await bench.until(run, lambda s: s.parked is not None)
        summary = present(await bench.journal.summary(run))
        assert not summary.freezing
        assert bench.effects == ["lingered"], "what was under way has come to its end, and nothing new began"


async def test_a_frozen_run_whose_driver_died_is_looked_at_and_lies_still(bench: Bench, controls: RunControls) -> None:
    run = await bench.start("slow")
    lease = present(await bench.journal.claim(run, "somebody", 0.0))
    step = ev.StepStarted(node_id="slow~0/llm~0", parent_id="", kind="llm", name="x", agent="slow", attempt=1, epoch=1)
    await bench.journal.append(lease, [ev.RunStarted(epoch=1), step])
    await controls.freeze(run, by=ME)
    assert (await bench.state(run)).freezing, "as far as anybody knows"
    async with bench.driving(grace_s=0.0):
        state = await bench.until(run, lambda s: s.parked is not None)
    assert (state.phase, state.freezing, bench.effects) == ("frozen", False, [])
    assert await bench.journal.runnable() == []


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
        state = await _rewound(bench, run)
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
        summary = present(await bench.journal.summary(run))
        assert (summary.state, (await bench.state(run)).lives) == ("frozen", 1)
        await controls.thaw(run, by=ME)
        state = await bench.until(run, lambda s: bool(s.rewound) and bool(s.open_incidents))
        assert len(state.incidents) == 2, "it asks again"
        (incident,) = await bench.journal.incidents(run)
        assert (await bench.ended_by(incident, "input", value="you")).phase == "completed"


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
        run, incident = await bench.asked("asker")
        if by_answer:
            await bench.answer(incident, "abort")
        else:
            await bench.decisions.abort(run, by=ME)
        assert (await bench.ended(run)).phase == "aborted"
        await controls.rewind(run, "asker~0", by=ME)
        await bench.until(run, lambda s: bool(s.rewound) and bool(s.open_incidents))
        (again,) = await bench.journal.incidents(run)
        assert again.opened.incident_id != incident.opened.incident_id
        assert (await bench.ended_by(again, "input", value="you")).phase == "completed"
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
        before = await bench.ended_by(one, "abort")
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
        read = bench.journal.read

        async def aborted_after(run_id: str, after: int = 0, limit: int | None = None) -> list[ev.JournalEvent]:
            found = await read(run_id, after, limit)
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
        run, incident = await bench.asked("asker")
        await bench.until(run, lambda s: s.phase == "waiting")
    await bench.answer(incident, "abort")
    with pytest.raises(InvalidCommand, match="is being aborted"):
        await controls.rewind(run, "asker~0", by=ME)


async def test_a_breakpoint_that_matches_nothing_known_is_set_and_says_so(bench: Bench, controls: RunControls) -> None:
    run = await bench.start("stage")
    assert await controls.set_breakpoint(run, "tool", "anything", by=ME) == "", "nothing has begun: it is not known"
    async with bench.driving(grace_s=0.0):
        await bench.incidents(run, 2)

        async def warned(what: BreakpointKind, pattern: str) -> str:
            return await controls.set_breakpoint(run, what, pattern, by=ME)

        assert [await warned("tool", "sa*"), await warned("agent", "saver")] == ["", ""]
        assert "that matches 'savr': did you mean saver?" in await warned("agent", "savr")
        assert "saver is the name of an agent: agent:saver would stop there" in await warned("tool", "saver")
        assert "it has ask, note, save" in await warned("tool", "zzz")
        state = await bench.state(run)
    assert ("tool", "zzz") in state.breakpoints
    assert await controls.set_breakpoint(run, "tool", "zzz", clear=True, by=ME) == ""


@pytest.mark.parametrize("all_runs", [False, True])
async def test_a_freeze_after_an_abort_does_not_keep_the_run_from_ending(
    bench: Bench, controls: RunControls, *, all_runs: bool
) -> None:
    async with bench.driving(grace_s=0.0):
        run = await bench.start("asker")
        await bench.incidents(run)
        await bench.until(run, lambda s: s.phase == "waiting")
    await bench.decisions.abort(run, reason="enough", by=ME)  # while no runtime works
    if all_runs:
        assert await controls.freeze(by=ME) == []
    else:
        with pytest.raises(InvalidCommand, match=r"is being aborted \(tester, .*\): it cannot be frozen"):
            await controls.freeze(run, by=ME)
    async with bench.driving(grace_s=0.0):
        assert (await bench.ended(run)).error == "enough"


async def test_an_abort_that_comes_between_the_look_and_the_freeze_wins(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await bench.start("asker")
    latest = SqliteJournal.latest

    async def aborted_after_the_look(self: SqliteJournal, *args: Any, **more: Any) -> Any:
        found = await latest(self, *args, **more)
        if more.get("marks"):
            monkeypatch.undo()
            await bench.decisions.abort(run, reason="enough", by=ME)
        return found

    monkeypatch.setattr(SqliteJournal, "latest", aborted_after_the_look)
    with pytest.raises(InvalidCommand, match="is being aborted"):
        await RunControls(bench.journal).freeze(run, by=ME)
    async with bench.driving():
        assert (await bench.ended(run)).phase == "aborted"
