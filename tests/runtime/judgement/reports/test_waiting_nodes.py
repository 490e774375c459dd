"""Nodes below which nothing moves, of trees of any shape."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from runtime.judgement.reports.waiting_nodes import holding_nodes
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from tests.runtime.link.link_bench import FAULT

SHAPES = st.lists(st.tuples(st.integers(0, 12), st.sampled_from(("runs", "waits", "ended"))), min_size=1, max_size=14)
"""Of each node: which of the earlier ones is above it, and what becomes of it."""


def _run(shape: list[tuple[int, str]]) -> DurableRun:
    """Scopes, with steps where nothing is below."""
    state = DurableRun()
    state.apply(ev.RunCreated(run_id="r", ref="x:y"))
    state.apply(ev.RunStarted(epoch=1))
    above = {str(at): str(chosen % at) if at else "" for at, (chosen, _) in enumerate(shape)}
    for node, parent in above.items():
        given: dict[str, str] = {"node_id": node, "parent_id": parent, "name": node}
        if node in above.values():
            state.apply(ev.NodeOpened(kind="agent", **given))  # type: ignore[arg-type]
        else:
            state.apply(ev.StepStarted(kind="tool", agent="a", attempt=1, epoch=1, **given))  # type: ignore[arg-type]
    for node, (_, becomes) in zip(above, shape, strict=True):
        if becomes == "waits" and node not in above.values():
            state.apply(ev.IncidentOpened(incident_id=f"i{node}", node_id=node, fault=FAULT))
        elif becomes == "ended" and node in above.values():
            state.apply(ev.NodeClosed(node_id=node, state="succeeded"))
        elif becomes == "ended":
            state.apply(ev.StepEnded(node_id=node, attempt=1))
    return state


@given(SHAPES)
def test_a_node_holds_where_each_open_leaf_below_it_waits(shape: list[tuple[int, str]]) -> None:
    state = _run(shape)
    waiting: Counter[str] = Counter()
    moving: set[str] = set()
    for leaf in state.nodes.values():
        if leaf.terminal or leaf.open_children:
            continue
        above = [node.id for node in state.lineage(leaf.parent_id) if node.phase == "running"]
        if leaf.phase == "waiting":
            waiting.update(above)
        else:
            moving.update(above)
    assert holding_nodes(state) == {node: number for node, number in waiting.items() if node not in moving}


def test_a_node_whose_only_open_call_waits_holds_until_another_begins() -> None:
    state = _run([(0, "runs"), (0, "waits"), (0, "ended")])
    assert holding_nodes(state) == {"0": 1}
    state.apply(ev.StepStarted(node_id="3", parent_id="0", kind="tool", name="3", agent="a", attempt=1, epoch=1))
    assert not holding_nodes(state)
