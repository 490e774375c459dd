"""Coarse runs of LangGraph, turned back and forked: what is finished is not done again, and what was chosen is."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest

from runtime.operations.run_controls import RunControls
from runtime.record.state.durable_run import DurableRun, Node
from tests.runtime.bench import ME, Bench
from tests.runtime.guest_bench import LANGGRAPH as GRAPHS
from tests.runtime.guest_bench import asked, effects, starts

start = starts(GRAPHS)

CHARGED = [f"note charged {n}" for n in range(3)]
HELD = ["note held hotel", "note held flight", "note held hotel yes", "note held flight yes"]


def first(state: DurableRun, fact: Callable[[Node], object]) -> str:
    return next(key for key, node in state.nodes.items() if fact(node))


def call_of(what: str) -> Callable[[Node], object]:
    return lambda node: what in node.requested.get("arguments", {}).values()


def writes_of(task: str) -> Callable[[Node], object]:
    return lambda node: task in str(node.requested.get("task"))


def question(text: str) -> Callable[[Node], object]:
    return lambda node: node.requested.get("question") == text


async def booked(bench: Bench) -> str:
    """A trip, booked: its nodes ran three times, each effect took place once."""
    run = await start(bench, "trip")
    for each in ("hotel?", "flight?"):
        await bench.answer(await asked(bench, run, each), "input", value="yes")
    state = await bench.ended(run)
    assert json.loads(state.output)["notes"] == ["held hotel yes", "held flight yes", "shipped tickets"]
    assert Counter(effects(bench)) == Counter([*["look hotel", "look flight"] * 3, *HELD, "note shipped tickets"])
    bench.effects_file.unlink()
    return run


@pytest.mark.parametrize("forks", [True, False])
async def test_a_question_that_is_turned_back_to_is_asked_again_and_what_was_done_before_it_stays(
    bench: Bench, forks: bool
) -> None:
    async with bench.driving():
        run = await booked(bench)
        node, controls = first(await bench.state(run), question("flight?")), RunControls(bench.journal)
        if forks:
            run = await controls.fork(run, node, by=ME)
        else:
            await controls.rewind(run, node, confirm=True, by=ME)
        await bench.answer(await asked(bench, run, "flight?"), "input", value="no")
        state = await bench.until(run, lambda state: state.phase == "completed" and "no" in state.output)
        again = await bench.ended(await controls.fork(run, by=ME))
    assert json.loads(state.output)["notes"] == ["held hotel yes", "held flight no", "shipped tickets"]
    assert Counter(effects(bench)) == Counter({
        "look flight": 2, "note held flight no": 1, "note shipped tickets": 1,
    })  # fmt: skip
    assert again.output == state.output, "of what a task wrote again, the latest counts"


@pytest.mark.parametrize(
    ("chosen", "repeated"),
    [
        (call_of("no such"), []),  # from where the source is
        (writes_of("close"), []),  # what it ships is a step of its own
        (lambda node: node.name == "ship", ["note shipped all"]),
        (writes_of("push"), ["note shipped all"]),
        (lambda node: node.requested.get("arguments") == {"amount": 1}, ["note charged 1", "note shipped all"]),
        (lambda node: node.requested.get("step") == 1, [*CHARGED, "note shipped all"]),
        (lambda node: node.kind == "agent", [*CHARGED, "note shipped all"]),
    ],
)
async def test_a_fork_of_a_coarse_run_does_what_stands_behind_the_chosen_step_and_nothing_else(
    bench: Bench, chosen: Callable[[Node], object], repeated: list[str]
) -> None:
    async with bench.driving():
        source = await bench.ended(await start(bench, "nodes"))
        assert Counter(effects(bench)) == Counter([*CHARGED, "note shipped all"])
        bench.effects_file.unlink()
        at = next((key for key, node in source.nodes.items() if chosen(node)), "")
        forked = await bench.ended(await RunControls(bench.journal).fork(source.id, at, by=ME))
    assert forked.output == source.output
    assert Counter(effects(bench)) == Counter(repeated)


async def test_a_fork_of_a_run_that_failed_and_waits_does_the_failed_node_alone(bench: Bench) -> None:
    (bench.root / "down").touch()
    async with bench.driving():
        run = await start(bench, "nodes")
        await bench.incidents(run)
        bench.effects_file.unlink()
        (bench.root / "down").unlink()
        forked = await bench.ended(await RunControls(bench.journal).fork(run, by=ME))
    assert json.loads(forked.output)["notes"][-1] == "shipped all"
    assert effects(bench) == ["note shipped all"]


async def test_calls_in_parallel_tasks_have_the_places_of_their_tasks_from_the_first_superstep(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "flow")
        state = await bench.ended_by(await asked(bench, run, "go on?"), "input", value="yes")
        forked = await bench.ended(await RunControls(bench.journal).fork(run, first(state, writes_of("push")), by=ME))
    assert forked.output == state.output
    assert Counter(effects(bench)) == Counter(["note fetched a", "note fetched b", "note settled yes"])
