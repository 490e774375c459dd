"""A node is named by its id, its name or an end of its id: alike over the link and on the command line."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from runtime.operations.answer_params import InvalidCommand
from runtime.operations.context import OperationContext, Origin
from runtime.operations.lookup import find_node
from runtime.operations.operations import Operations
from runtime.operations.requests.runs import ForkRun, RewindRun, ShowWaits
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events
from tests.runtime.bench import ME, Bench


def state_with(*node_ids: str) -> DurableRun:
    opened = [
        ev.NodeOpened(node_id=node_id, parent_id=node_id.rpartition("/")[0], kind="agent", name=node_id.split("~")[-2])
        for node_id in node_ids
    ]
    events: list[ev.JournalEvent] = [ev.RunCreated(ref="a.py:b", input="go", title=""), *opened]
    placed = [replace(event, run_id="r-1", seq=seq) for seq, event in enumerate(events, 1)]
    return fold_events(placed)


def test_an_id_a_name_and_an_end_of_an_id_lead_to_the_node() -> None:
    state = state_with("team~0", "writer~1", "writer~11")
    assert [find_node(state, name) for name in ("writer~1", "team", "m~0", "~11")] == [
        "writer~1", "team~0", "team~0", "writer~11",
    ]  # fmt: skip


def test_a_name_that_several_have_is_refused_with_their_ids() -> None:
    with pytest.raises(InvalidCommand, match="2 nodes of run r-1 could be meant by 'writer': writer~1, writer~11"):
        find_node(state_with("writer~1", "writer~11"), "writer")


@pytest.mark.parametrize("name", ["", "editor"])
def test_a_name_that_no_node_has_is_refused_with_where_they_are_listed(name: str) -> None:
    with pytest.raises(InvalidCommand, match=f"has no node '{name}': 'orbiter-console show r-1 --json' lists them"):
        find_node(state_with("writer~1"), name)


async def test_every_operation_on_a_node_takes_the_end_of_its_id(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("plain")
        state = await bench.ended(run)
    agent = next(node.id for node in state.nodes.values() if node.kind == "agent")
    operations, origin = Operations(OperationContext(bench.journal, bench.root, bench.root / "log")), Origin(ME)
    end = agent[1:]
    assert (await operations.run(ForkRun(run_id=run, node_id=end), origin)).node == agent
    assert (await operations.run(RewindRun(run_id=run, node_id=end, confirm=True), origin)).node == agent
    assert await operations.run(ShowWaits(run_id=run, node_id=end), origin) is not None
