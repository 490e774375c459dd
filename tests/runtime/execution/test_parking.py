"""Parking: what is decided about a run is decided by the journal, in the transaction that writes it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from runtime.judgement.recovery.stall_detection import no_progress
from runtime.operations.answer_params import InvalidCommand
from runtime.operations.run_controls import RunControls
from runtime.record.journal import StaleSequence
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from tests.present import present
from tests.runtime.bench import ME, Bench
from tests.runtime.execution.interleaving import World
from tests.runtime.execution.lost_runs import lose
from tests.runtime.execution.parking_machine import Interleaved, answer, asked, follow
from tests.runtime.record.sqlite_parts import writer_of

TestInterleaved = Interleaved.TestCase
TestInterleaved.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.fixture
def effects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    return tmp_path


@pytest.mark.parametrize("first", "twhH")
def test_a_rules_own_answer_and_a_park_in_every_order(effects: Path, first: str) -> None:
    for rest in product("twhH", repeat=2):
        world = World(effects / "".join(rest), "dead", attended=False)
        try:
            asked(world)
            follow(world, first + "".join(rest))
            assert world.drain().phase == "failed", first + "".join(rest)
        finally:
            world.close()


@pytest.mark.parametrize("schedule", ["whHww", "hwhHw", "wwhH", "thHw"])
def test_an_answer_that_was_heard_as_the_run_was_parked_is_acted_upon_while_another_is_open(
    effects: Path, schedule: str
) -> None:
    world = World(effects, "both_dead")
    try:
        asked(world)
        while len(world.state().open_incidents) < 2:
            follow(world, "w" if any(key[1] == "write" for key in world.gates.closed()) else "t")
        first = world.state().open_incidents[0].opened
        world.act(answer(world, first.incident_id, "result"))
        while world.acts:  # what the operator does is committed; the driver has not heard of it
            world.go(next(key for key in world.gates.closed() if key[0] == "operator"))
        follow(world, schedule)
        state = world.drain()
        assert state.phase == "waiting"
        assert len(state.open_incidents) == 1
        assert state.nodes[first.node_id].recorded, "answered, and no process goes on with it"
    finally:
        world.close()


def test_a_rewind_that_was_accepted_as_the_run_ended_is_done(effects: Path) -> None:
    """The driver has not heard of it: its end is refused, and it decides again."""
    world = World(effects, "plain")
    try:
        world.resume(world.processes[0])
        while not any(node.kind == "llm" and node.recorded for node in world.state().nodes.values()):
            follow(world, "w" if any(key[1] == "write" for key in world.gates.closed()) else "t")
        assert world.gates.closed(), "the end waits to be written"
        world.act(world.controls.rewind(world.run, next(iter(world.state().nodes)), confirm=True, by=ME))
        while world.acts:
            world.go(next(key for key in world.gates.closed() if key[0] == "operator"))
        state = world.drain()
        assert state.phase == "completed"
        assert len(state.rewound) == 1
    finally:
        world.close()


async def test_a_rewind_to_a_node_that_another_rewind_has_dropped_is_refused(bench: Bench) -> None:
    """It read the journal before the first was done: accepted, it had the run driven without end."""
    async with bench.driving():
        run = await bench.start("chatty")
        await bench.ended(run)
    state = await bench.state(run)
    top, leaf = next(iter(state.nodes)), list(state.nodes)[-1]
    await RunControls(bench.journal).rewind(run, top, confirm=True, by=ME)
    lease = present(await bench.journal.claim(run, "me", 60))
    told = (await bench.journal.read(run))[-1].seq
    rewound = [ev.RunStarted(epoch=lease.epoch), ev.RunRewound(node_id=top), ev.RunParked(reason="stop")]
    await bench.journal.append(lease, rewound, seen=told)
    await bench.journal.release(lease)
    with pytest.raises(StaleSequence, match="told something else"):
        await bench.journal.post(run, ev.RewindRequested(node_id=leaf, by=ME), told=told)
    with pytest.raises(InvalidCommand, match="no node"):
        await RunControls(bench.journal).rewind(run, leaf, confirm=True, by=ME)
    async with bench.driving():
        await bench.ended(run)


async def test_a_message_for_a_run_that_has_ended_meanwhile_is_refused_and_a_freeze_of_all_passes_it_by(
    bench: Bench,
) -> None:
    async with bench.driving():
        ended, live = await bench.start("plain"), await bench.start("saver")
        listed = await bench.journal.runs()
        await bench.ended(ended)
        await bench.incidents(live)
    controls = RunControls(bench.journal)
    with pytest.raises(InvalidCommand, match="has ended"):
        await controls.inject(ended, "plain", "too late", by=ME)
    done = await controls._post_each(listed, ev.RunFrozen(by=ME), alone=False)
    assert done == [live]
    assert (await bench.state(ended)).anomalies == 0


async def test_a_message_that_comes_to_a_step_that_waits_is_part_of_what_was_asked(bench: Bench) -> None:
    """Else the run, taken up again, differs from its own record."""
    async with bench.driving(grace_s=0.0):
        run, incident = await bench.asked("dead")
        await bench.until(run, lambda s: s.phase == "waiting")
        await RunControls(bench.journal).inject(run, "dead", "mind this", by=ME)
        await bench.ended_by(incident, "result", value="by hand")
    state = await bench.state(run)
    llm = next(node for node in state.nodes.values() if node.kind == "llm")
    assert (state.phase, state.anomalies) == ("completed", 0)
    assert "mind this" in str(llm.requested)


async def test_runs_that_earlier_programs_lost_are_driven_again(bench: Bench) -> None:
    runs = [await bench.start("dead", f"task {number}") for number in range(3)]
    async with bench.driving(enable_error_routing=False):
        for run in runs:
            await bench.ended(run)
    await bench.journal.close()
    lose(bench.root / "journal.db", runs)
    async with await open_journal(bench.root) as journal:
        again = Bench(bench.root, journal)
        assert sorted(await journal.stranded()) == sorted(runs)
        async with again.driving(enable_error_routing=False):
            for run in runs:
                assert (await again.ended(run)).phase == "failed"
        assert await journal.stranded() == []


async def test_the_end_that_a_standstill_was_answered_with_outlives_the_driver(bench: Bench) -> None:
    run = await bench.start("plain")
    lease = present(await bench.journal.claim(run, "gone", 60))
    fault = present(no_progress(0.0, 100.0, 1.0))
    option = ev.Option(id="abort", label="Abort execution")
    stall = ev.IncidentOpened(incident_id="i-stall", fault=fault, options=(option,))
    await bench.journal.append(lease, [ev.RunStarted(epoch=lease.epoch), stall])
    await bench.decisions.answer("i-stall", "abort", reason="too slow", by=ME)
    assert await bench.journal.expire_leases(lambda owner: owner == "gone") == [run]
    async with bench.driving():
        state = await bench.ended(run)
    assert (state.phase, state.error) == ("aborted", "too slow")


async def test_a_run_that_was_turned_back_since_it_was_listed_is_not_pruned(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("plain")
        node = next(iter((await bench.ended(run)).nodes))
    rewound = False

    def turn_back() -> None:
        """Another process's rewind, between the list of what may go and the transaction that lets it go."""
        nonlocal rewound
        if not rewound:
            rewound = True
            asyncio.run(_rewind(bench.root, run, node))

    def watch(sql: str) -> None:
        if sql.startswith("BEGIN IMMEDIATE"):
            turn_back()

    writer = writer_of(bench.journal)
    await writer.run_exclusive(lambda connection: connection.set_trace_callback(watch))
    assert await bench.journal.prune(older_than=timedelta()) == []
    await writer.run_exclusive(lambda connection: connection.set_trace_callback(None))
    assert rewound
    assert (await bench.state(run)).rewind is not None


async def _rewind(root: Path, run: str, node: str) -> None:
    async with await open_journal(root) as journal:
        await journal.post(run, ev.RewindRequested(node_id=node, by=ME))
