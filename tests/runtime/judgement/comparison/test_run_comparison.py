"""Two runs, compared by path: real runs of the zoo, and states made by hand."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from orbiter.redaction import REDACTED
from runtime.judgement.comparison.run_comparison import SHOWN_CHARS, compare_runs, field_difference
from runtime.operations.run_controls import RunControls
from runtime.record.state.durable_run import DurableRun, Incident, Node
from runtime.record.state.events import IncidentOpened
from runtime.record.state.fault_taxonomy import Cause, Classification, Origin, Persistence
from tests.runtime.bench import ME, Bench


def made(*steps: tuple[str, dict[str, Any], Any], masked: str = "") -> DurableRun:
    """A run of one agent with steps: path, what was requested, result."""
    run = DurableRun(id="r", ref="a.py:swarm")
    agent = Node("agent~0", "", "agent", "agent", phase="succeeded")
    run.nodes[agent.id] = agent
    run.roots.append(agent.id)
    for name, requested, result in steps:
        kind: Any = "llm" if name.startswith("llm") else "tool"
        node = Node(f"agent~0/{name}", agent.id, kind, name.partition("~")[0], "agent", phase="succeeded")
        node.is_step, node.recorded, node.requested, node.result = True, True, requested, result
        run.nodes[node.id] = node
        agent.children = [*agent.children, node.id]
    return run


async def test_a_fork_and_its_origin_part_where_the_fork_was_changed(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("workflow")
        await bench.ended(run)
        at = "swarm(noter...)~0/plain~2/llm~0"
        fork = await RunControls(bench.journal).fork(run, at, changes={"model": "scripted:zoo/handing"}, by=ME)
        await bench.ended(fork)
    origin, forked = await bench.state(run), await bench.state(fork)
    found = compare_runs(origin, forked)
    assert found.first is not None
    assert found.first.node_id == at
    fields = {each.field: (each.left, each.right) for each in found.first.fields}
    assert fields["used model"] == ("null", "scripted:zoo/handing")
    assert fields["result text"] == ("done: three notes", "noter")
    assert found.same == sum(node.is_step for node in origin.nodes.values()) - 1
    assert [each.node_id for each in found.nodes] == [at], "what only follows is not told again"
    assert (found.origin, found.forked_at) == (run, at)
    assert "output" in {each.field for each in found.run}
    back = compare_runs(forked, origin)
    assert (back.origin, back.first and back.first.node_id) == (run, at)
    alike = compare_runs(origin, origin)
    assert (alike.nodes, alike.run, alike.origin) == ((), (), "")


def test_nodes_are_told_in_declared_order_and_not_in_that_of_their_start() -> None:
    left = made(("llm~0", {}, "a"), ("t~0.0", {}, 1), ("t~0.1", {}, 2), ("llm~1", {}, "b"))
    right = deepcopy(left)
    parent = right.nodes["agent~0"]
    parent.children = parent.children[::-1]
    for name in ("t~0.1", "t~0.0"):
        right.nodes[f"agent~0/{name}"].result = 9
    assert [each.node_id for each in compare_runs(left, right).nodes] == ["agent~0/t~0.0", "agent~0/t~0.1"]


def test_a_step_that_one_run_alone_has_is_named() -> None:
    left = made(("llm~0", {}, "a"), ("t~0.0", {}, 1))
    right = made(("llm~0", {}, "a"), ("u~0.0", {}, 1))
    found = compare_runs(left, right)
    assert [(each.node_id, each.how) for each in found.nodes] == [
        ("agent~0/t~0.0", "only_left"),
        ("agent~0/u~0.0", "only_right"),
    ]
    assert found.same == 1


def test_a_digest_counts_only_where_nothing_before_it_makes_it_differ() -> None:
    one = made(("llm~0", {}, "a"), ("t~0.0", {}, 1), ("llm~1", {"digest": "x", "count": 3}, "b"))
    other = made(("llm~0", {}, "a"), ("t~0.0", {}, 2), ("llm~1", {"digest": "y", "count": 3}, "b"))
    assert [each.node_id for each in compare_runs(one, other).nodes] == ["agent~0/t~0.0"]
    other.nodes["agent~0/t~0.0"].result = 1
    assert [each.node_id for each in compare_runs(one, other).nodes] == ["agent~0/llm~1"]
    for run in (one, other):
        run.nodes["agent~0/t~0.0"].result = f"key {REDACTED}"
    assert compare_runs(one, other).nodes == (), "the digest is of texts with a secret that is not there any more"


def test_ids_of_calls_are_not_compared() -> None:
    def reply(number: int, name: str = "ask") -> dict[str, Any]:
        return {"text": "", "tool_calls": [{"id": f"call_{number}", "name": name, "arguments": "{}"}]}

    left, right = (made(("llm~0", {}, reply(number))) for number in (1, 2))
    assert compare_runs(left, right).nodes == ()
    right.nodes["agent~0/llm~0"].result = reply(2, "tell")
    (field,) = compare_runs(left, right).nodes[0].fields
    assert (field.field, "call_" in field.left) == ("result tool_calls", False)


def test_a_run_in_which_all_waits_is_not_called_running() -> None:
    left, right = made(("t~0.0", {}, 1)), made(("t~0.0", {}, 1))
    left.phase, right.phase = "completed", "running"
    fault = Classification(origin=Origin.HUMAN, cause=Cause.MISSING_INPUT, persistence=Persistence.NEEDS_CHANGE)
    opened = IncidentOpened(incident_id="i", node_id="agent~0/t~0.0", fault=fault)
    right.incidents["i"] = Incident(opened=opened)
    for node in right.nodes.values():
        node.phase = "waiting"
    right.counts = Counter(waiting=2)
    assert [(each.field, each.right) for each in compare_runs(left, right).run] == [("state", "waiting")]


@given(st.text(max_size=600), st.text(max_size=600))
def test_texts_differ_where_they_differ_and_the_place_is_shown(one: str, other: str) -> None:
    found = field_difference("x", one, other)
    assert (found is None) == (one == other)
    if found is not None:
        assert max(len(found.left), len(found.right)) <= SHOWN_CHARS + 2
        assert found.left != found.right
