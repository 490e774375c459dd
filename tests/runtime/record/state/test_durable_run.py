"""State is a fold: any prefix of any journal, sensible or not, gives a legal state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from runtime.record.state import events as ev
from runtime.record.state.durable_run import (
    NODE_TERMINAL,
    RUN_TERMINAL,
    DurableRun,
    fold_events,
)
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Origin,
    Persistence,
)
from runtime.record.state.nodes import Node

FAULT = Classification(origin=Origin.MODEL, cause=Cause.NETWORK, persistence=Persistence.TRANSIENT)
PATHS = ("a~0", "a~0/b~0", "a~0/b~0/llm~0", "a~0/c~1.0", "a~0/c~1.0/t~0.0")
T0 = datetime(2026, 1, 1, tzinfo=UTC)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


paths = st.sampled_from(PATHS)
ids = st.sampled_from(("i-1", "i-2"))


@st.composite
def events(draw: st.DrawFn) -> ev.JournalEvent:
    path = draw(paths)
    at: dict[str, Any] = {"node_id": path, "parent_id": _parent(path), "run_id": "r"}
    spec: dict[str, Any] = at | {"kind": "tool", "name": "t", "agent": "a", "requested": {"x": 1}}
    makers: dict[str, Callable[[], ev.JournalEvent]] = {
        "created": lambda: ev.RunCreated(run_id="r", ref="x:y"),
        "started": lambda: ev.RunStarted(epoch=draw(st.integers(1, 3))),
        "parked": lambda: ev.RunParked(reason=draw(st.sampled_from(("waiting", "stop")))),
        "finished": lambda: ev.RunFinished(state=draw(st.sampled_from(("completed", "failed", "aborted")))),
        "abort": ev.AbortRequested,
        "frozen": ev.RunFrozen,
        "thawed": ev.RunThawed,
        "rewind": lambda: ev.RewindRequested(**at),
        "rewound": lambda: ev.RunRewound(**at, changes={"model": "m"}),
        "injected": lambda: ev.MessageInjected(**at, injection_id=draw(ids), agent="n", text="t"),
        "delivered": lambda: ev.MessageDelivered(**at, turn=1, texts=("t",), injection_ids=(draw(ids),)),
        "break": lambda: ev.BreakpointSet(what="tool", pattern="t*"),
        "unbreak": lambda: ev.BreakpointCleared(what="tool", pattern="t*"),
        "opened": lambda: ev.NodeOpened(**at, kind="agent", name="n"),
        "closed": lambda: ev.NodeClosed(**at, state=draw(st.sampled_from(("succeeded", "failed", "skipped")))),
        "requested": lambda: ev.StepRequested(**spec),
        "begun": lambda: ev.StepStarted(**spec, attempt=1, epoch=1),
        "ended": lambda: ev.StepEnded(
            **at,
            attempt=1,
            result=1,
            fault=draw(st.sampled_from((None, FAULT))),
            absorbed=draw(st.booleans()),
            settled=draw(st.booleans()),
            input_tokens=3,
        ),
        "settled": lambda: ev.StepSettled(**at),
        "edited": lambda: ev.StepEdited(**at, changes={"arguments": {}}),
        "retry": lambda: ev.RetryScheduled(**at, attempt=2, max_attempts=4, delay_s=1, until=T0),
        "incident": lambda: ev.IncidentOpened(**at, incident_id=draw(ids), fault=FAULT),
        "answer": lambda: ev.IncidentAnswered(**at, incident_id=draw(ids), revision=1, option="retry"),
        "moot": lambda: ev.IncidentClosed(**at, incident_id=draw(ids), reason="moot"),
    }
    return makers[draw(st.sampled_from(sorted(makers)))]()


def _numbered(found: list[ev.JournalEvent]) -> list[ev.JournalEvent]:
    return [replace(event, seq=number, ts=T0 + timedelta(seconds=number)) for number, event in enumerate(found, 1)]


def _check(state: DurableRun) -> None:
    assert sum(state.counts.values()) == len(state.nodes)
    assert all(count >= 0 for count in state.counts.values())
    open_ones = [node for node in state.nodes.values() if not node.terminal]
    assert all(
        node.open_children == sum(each.parent_id == node.id for each in open_ones) for node in state.nodes.values()
    )
    assert state.holding == sum(node.holds for node in state.nodes.values())
    reached = {node.id for _, node in state.walk()}
    assert reached == set(state.nodes)
    somebody_waits = bool(state.open_incidents)
    assert [node.id for node in state.in_flight] == [
        busy
        for busy in state.busy
        if not ((somebody_waits or state.nodes[busy].children) and state._waits_inside(busy))
    ]
    assert state.summary().in_flight == len(state.in_flight)
    if state.terminal:
        assert not state.open_incidents
        assert all(node.terminal for node in state.nodes.values())
    for node in state.nodes.values():
        if node.recorded:
            assert node.is_step
            assert node.terminal
        assert not (node.recorded and node.hooks_due)


@given(st.lists(events(), max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_prefix_of_any_journal_folds_to_a_legal_state(found: list[ev.JournalEvent]) -> None:
    state = DurableRun()
    for event in _numbered(found):
        run_before = state.phase
        nodes_before = {node.id: node.phase for node in state.nodes.values()}
        recorded_before = {node.id: node.result for node in state.nodes.values() if node.recorded}
        state.apply(event)
        _check(state)
        if isinstance(event, ev.RewindRequested | ev.RunRewound):
            continue  # turning a run back is the one way out of a terminal state
        if run_before in RUN_TERMINAL:
            assert state.phase == run_before, "a terminal state of a run was left"
        for node_id, phase in nodes_before.items():
            if phase in NODE_TERMINAL:
                assert state.nodes[node_id].phase == phase, "a terminal state of a node was left"
        for node_id, result in recorded_before.items():
            assert state.nodes[node_id].result == result, "a recorded result was replaced"


@given(st.lists(events(), max_size=25))
def test_events_survive_being_written_and_read(found: list[ev.JournalEvent]) -> None:
    numbered = _numbered(found)
    read = [ev.load_event(ev.dump_event(event)) for event in numbered]
    assert read == numbered
    assert fold_events(read) == fold_events(numbered)


def test_an_event_of_a_newer_program_is_kept_and_changes_nothing() -> None:
    event = ev.load_event('{"type":"run.teleported","seq":7,"run_id":"r","where":"moon"}')
    assert isinstance(event, ev.UnknownEvent)
    assert event.type == "run.teleported"
    assert event.others == {"where": "moon"}
    state = fold_events([ev.RunCreated(run_id="r", ref="x:y", seq=1), event])
    assert (state.phase, state.anomalies, state.last_seq) == ("queued", 0, 7)


def test_an_answer_to_a_parked_run_makes_it_runnable_and_starts_a_new_round() -> None:
    at: dict[str, Any] = {"node_id": "a~0/llm~0", "parent_id": "a~0"}
    state = fold_events(
        _numbered(
            [
                ev.RunCreated(run_id="r", ref="x:y"),
                ev.RunStarted(epoch=1),
                ev.NodeOpened(node_id="a~0", kind="agent", name="a"),
                ev.StepStarted(**at, kind="llm", name="m", agent="a", attempt=1, epoch=1),
                ev.StepEnded(**at, attempt=1, fault=FAULT),
                ev.IncidentOpened(**at, incident_id="i-1", fault=FAULT),
                ev.RunParked(reason="waiting"),
            ]
        )
    )
    assert (state.phase, state.nodes["a~0/llm~0"].phase) == ("waiting", "waiting")
    state.apply(ev.IncidentAnswered(incident_id="i-1", revision=1, option="retry", seq=8))
    assert (state.phase, state.nodes["a~0/llm~0"].phase) == ("queued", "running")
    assert (state.nodes["a~0/llm~0"].round, state.nodes["a~0/llm~0"].attempts) == (0, 1)


@pytest.mark.parametrize(
    ("ended", "restarts"),
    [
        ([ev.RunParked(reason="waiting")], 0),
        ([ev.RunParked(reason="stop")], 1),
        ([], 1),
        ([ev.RunRewound(node_id="a~0", dropped=1), ev.RunParked(reason="stop")], 0),
        ([ev.RunFinished(state="failed"), ev.RewindRequested(node_id="a~0")], 0),
    ],
    ids=["left memory", "its runtime was stopped", "its process ended", "turned back", "had ended"],
)
def test_only_a_life_that_was_cut_short_makes_a_restart(ended: list[ev.JournalEvent], restarts: int) -> None:
    told: list[ev.JournalEvent] = [
        ev.RunCreated(run_id="r", ref="x:y"),
        ev.RunStarted(epoch=1, owner="here:1:a#1"),
        ev.NodeOpened(node_id="a~0", kind="agent", name="a"),
        *(replace(event) for event in ended),
        ev.RunStarted(epoch=2, owner="here:2:b#1"),
    ]
    state = fold_events(_numbered(told))
    assert (state.restarts, state.anomalies) == (restarts, 0)


def _call_that_asks_inside(*between: ev.JournalEvent) -> Node:
    """A call whose agent inside asks a person, after the run was taken up again in a second life."""
    call: dict[str, Any] = {"node_id": "a~0/ask~0", "parent_id": "a~0", "kind": "tool", "name": "ask", "agent": "a"}
    inside = "a~0/ask~0/b~0"
    state = fold_events(
        _numbered(
            [
                ev.RunCreated(run_id="r", ref="x:y"),
                ev.RunStarted(epoch=1, owner="here:1:a#1"),
                ev.NodeOpened(node_id="a~0", kind="agent", name="a"),
                ev.StepStarted(**call, attempt=1, epoch=1, idempotent=True),
                ev.NodeOpened(node_id=inside, parent_id="a~0/ask~0", kind="agent", name="b"),
                ev.IncidentOpened(node_id=inside, parent_id="a~0/ask~0", incident_id="i-1", fault=FAULT),
                *between,
                ev.RunStarted(epoch=2, owner="here:1:a#2"),
                ev.StepStarted(**call, attempt=2, epoch=2, idempotent=True),
            ]
        )
    )
    return state.nodes["a~0/ask~0"]


def test_a_call_that_waited_for_what_it_runs_is_not_tried_again_when_its_run_comes_back() -> None:
    came_back = _call_that_asks_inside(ev.RunParked(reason="waiting"))
    assert (came_back.attempts, came_back.tries_begun) == (2, 1)
    cut_off = _call_that_asks_inside()
    assert (cut_off.attempts, cut_off.tries_begun) == (2, 2)


def test_what_is_open_when_its_ancestor_ends_was_cancelled() -> None:
    state = fold_events(
        _numbered(
            [
                ev.RunCreated(run_id="r", ref="x:y"),
                ev.NodeOpened(node_id="g~0", kind="group", name="g"),
                ev.NodeOpened(node_id="g~0/a~0.0", parent_id="g~0", kind="agent", name="a"),
                ev.NodeOpened(node_id="g~0/b~0.1", parent_id="g~0", kind="agent", name="b"),
                ev.NodeClosed(node_id="g~0/a~0.0", state="succeeded"),
                ev.NodeClosed(node_id="g~0", state="succeeded"),
            ]
        )
    )
    assert {node.id: node.phase for node in state.nodes.values()} == {
        "g~0": "succeeded",
        "g~0/a~0.0": "succeeded",
        "g~0/b~0.1": "cancelled",
    }


def _asked_in_parallel() -> tuple[DurableRun, list[ev.JournalEvent]]:
    """A group of two; one of them asks a person in its call, the other is still at work."""
    at: dict[str, Any] = {"run_id": "r", "attempt": 1}
    call: dict[str, Any] = {**at, "kind": "llm", "name": "m", "agent": "a"}
    one, other = "g~0/a~0", "g~0/b~0"
    told: list[ev.JournalEvent] = [
        ev.RunCreated(run_id="r", ref="x:y"),
        ev.RunStarted(epoch=1),
        ev.NodeOpened(node_id="g~0", kind="group", name="g"),
        ev.NodeOpened(node_id=one, parent_id="g~0", kind="agent", name="a"),
        ev.NodeOpened(node_id=other, parent_id="g~0", kind="agent", name="b"),
        ev.StepStarted(**call, node_id=f"{one}/m~0", parent_id=one, epoch=1),
        ev.StepStarted(**call, node_id=f"{other}/m~0", parent_id=other, epoch=1),
        ev.StepEnded(**at, node_id=f"{one}/m~0", parent_id=one, fault=FAULT),
        ev.IncidentOpened(node_id=f"{one}/m~0", parent_id=one, incident_id="i-1", fault=FAULT, message="m"),
    ]
    ended: list[ev.JournalEvent] = [
        ev.StepEnded(**at, node_id=f"{other}/m~0", parent_id=other, settled=True, result={}),
        ev.NodeClosed(node_id=other, parent_id="g~0", state="succeeded"),
    ]
    return fold_events(_numbered(told)), ended


def test_a_run_of_which_all_that_is_open_waits_for_a_person_is_shown_to_wait_at_once() -> None:
    state, ended = _asked_in_parallel()
    shown = [state.shown_phase]
    for event in ended:
        state.apply(event)
        shown.append(state.shown_phase)
    # Between its call and its end the other member is at work, though no call is under way.
    assert shown == ["running", "running", "waiting"]
    assert (state.phase, state.summary().state, state.summary().shown_phase) == ("running", "running", "waiting")
    assert state.summary().public().state == "waiting"
    state.apply(ev.IncidentAnswered(incident_id="i-1", option="retry", revision=1, node_id="g~0/a~0/m~0"))
    assert state.shown_phase == state.summary().shown_phase == "running"


def test_a_run_in_which_something_else_is_tried_again_by_itself_is_not_shown_to_wait() -> None:
    state, _ = _asked_in_parallel()
    state.apply(ev.RetryScheduled(node_id="g~0/b~0/m~0", attempt=2, max_attempts=4, delay_s=1, until=T0))
    assert state.shown_phase == "running"
    state.apply(ev.RunFrozen())
    assert state.shown_phase == state.summary().shown_phase == "frozen"


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(("retry", "skip")), st.integers(1, 3)), max_size=6))
def test_the_latest_proposal_for_the_incident_as_it_is_stands_whatever_comes_late(
    said: list[tuple[str, str, int]],
) -> None:
    proposals = [
        ev.AnswerProposed(
            incident_id="i-1", option=option, revision=revision, by=ev.Actor(name=name, channel="mcp"), reason="x"
        )
        for name, option, revision in said
    ]
    state = DurableRun()
    for event in (
        ev.RunCreated(run_id="r", ref="x:y"),
        ev.RunStarted(epoch=1),
        ev.IncidentOpened(incident_id="i-1", fault=FAULT, revision=2),
        *proposals,
    ):
        state.apply(event)
    fitting = [each for each in proposals if each.revision == 2]
    found = state.incidents["i-1"].proposal
    assert found == (fitting[-1] if fitting else None)


class _Unsearched(list[str]):
    """A list to which names are added, and that is not gone through."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all roots are gone through for a node that came")


def test_a_node_that_comes_is_not_looked_for_among_all_roots() -> None:
    state = DurableRun(roots=_Unsearched())
    at: dict[str, Any] = {"run_id": "r", "node_id": "swarm/early", "parent_id": "swarm"}
    step = ev.StepStarted(**at, kind="tool", name="early", agent="a", attempt=1, epoch=1)
    others = (ev.NodeOpened(run_id="r", node_id=f"other-{number}", kind="agent", name="n") for number in range(3))
    for event in _numbered([step, *others, ev.NodeOpened(run_id="r", node_id="swarm", kind="swarm", name="swarm")]):
        state.apply(event)

    assert state.nodes["swarm"].open_children == 1  # the step that came before it
    assert state.nodes["other-1"].open_children == 0


def test_of_steps_under_way_only_those_are_looked_at_that_may_wait_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    state = DurableRun()
    looked: list[str] = []
    state.apply(ev.RunStarted(epoch=1))
    state.apply(ev.NodeOpened(node_id="a~0", kind="agent", name="a"))
    for number in range(50):
        spec: dict[str, Any] = {"kind": "tool", "name": "t", "agent": "a", "attempt": 1, "epoch": 1}
        state.apply(ev.StepStarted(node_id=f"a~0/t~0.{number}", parent_id="a~0", **spec))
    state.apply(ev.NodeOpened(node_id="a~0/t~0.7/b~0", parent_id="a~0/t~0.7", kind="agent", name="b"))
    waits_inside = DurableRun._waits_inside

    def noted(run: DurableRun, node_id: str) -> bool:
        looked.append(node_id)
        return waits_inside(run, node_id)

    monkeypatch.setattr(DurableRun, "_waits_inside", noted)
    assert state.summary().in_flight == 49, "one runs an agent that is not at work"
    assert looked == ["a~0/t~0.7"]
    state.apply(ev.IncidentOpened(node_id="a~0/t~0.9", incident_id="i-1", fault=FAULT))
    assert state.summary().in_flight == 48, "and another waits for a person"
    assert sorted(looked[1:]) == ["a~0/t~0.7", "a~0/t~0.9"]
