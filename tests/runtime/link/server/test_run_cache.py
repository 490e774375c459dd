"""A run's state as it goes over the link: whatever it holds, and in however many parts."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from runtime.link.client.run_view import RunView
from runtime.link.client.workspace_view import WorkspaceView
from runtime.link.server.run_cache import RECENT_EVENTS, CachedRun, RunCache
from runtime.link.wire import protocol as p
from runtime.link.wire.message_parser import parse_message
from runtime.link.wire.run_snapshot import StateAssembler
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from tests.present import present
from tests.runtime.link.link_bench import FAULT, Bench

ME = ev.Actor(name="me", channel="console")
OPTION = ev.Option(id="retry", label="Retry operation")


def _step(**given: object) -> ev.StepStarted:
    values: dict[str, object] = {"kind": "tool", "name": "send", "agent": "a", "attempt": 1, "epoch": 1}
    return msgspec.convert(values | given, ev.StepStarted)


WHOLE: list[ev.JournalEvent] = [
    ev.RunCreated(ref="x.py:a", title="t", input="i", options={"k": [1, None]}, program="p", by=ME),
    ev.RunStarted(epoch=1, owner="o"),
    ev.BreakpointSet(what="tool", pattern="s*", by=ME),
    ev.NodeOpened(node_id="a", kind="agent", name="a", info={"model": "m"}),
    ev.Warned(node_id="a", text="careful"),
    ev.MessageInjected(injection_id="m-1", agent="a", text="one", by=ME),
    ev.MessageInjected(injection_id="m-2", agent="a", text="two", by=ME),
    ev.MessageDelivered(node_id="a", turn=3, texts=("one",), injection_ids=("m-1",)),
    _step(node_id="a/s", parent_id="a", requested={"to": "€"}, permissions=("net:x",), effective={"to": "b"}),
    ev.StepEnded(node_id="a/s", parent_id="a", attempt=1, fault=FAULT, seconds=1.5),
    ev.RetryScheduled(
        node_id="a/s", parent_id="a", attempt=2, max_attempts=4, delay_s=1.0, until=ev.utc_now(), source="backoff"
    ),
    _step(node_id="a/s", parent_id="a", attempt=2),
    ev.IncidentOpened(
        incident_id="i-1", node_id="a/s", fault=FAULT, options=(OPTION,), action={"tool": "send"}, lineage=("a", "send")
    ),
    ev.AnalysisAdded(incident_id="i-1", text="why", model="m"),
    ev.IncidentAnswered(incident_id="i-1", revision=1, option="retry", params={"x": 1}, by=ME),
    ev.IncidentOpened(incident_id="i-2", node_id="a", fault=FAULT),
    ev.IncidentClosed(incident_id="i-2", reason="withdrawn"),
    _step(node_id="a/v", parent_id="a", kind="value"),
    ev.StepEdited(node_id="a/v", changes={"c": 1}),
    ev.StepEnded(
        node_id="a/v", parent_id="a", attempt=1, result=[{"deep": None}], input_tokens=3, cost_usd=0.25, by=ME
    ),
    ev.RewindRequested(node_id="a/v", changes={"arguments": {"q": 2}}, by=ME),
    ev.AbortRequested(reason="enough", by=ME),
    ev.RunParked(reason="waiting", wake_at=ev.utc_now()),
    ev.NodeClosed(node_id="a", state="failed", error="e", output="o"),
    ev.RunFinished(state="aborted", error="e", by=ME),
]


def _numbered(events: list[ev.JournalEvent]) -> list[ev.JournalEvent]:
    return [replace(event, seq=seq, run_id="r") for seq, event in enumerate(events, 1)]


def _restored(run: CachedRun) -> DurableRun | None:
    restoring = StateAssembler()
    state = None
    for line in run.snapshot("first"):
        message = parse_message(line)
        assert isinstance(message, p.RunSnapshot)
        assert state is None
        state = restoring.add(message)
    return state


@pytest.mark.parametrize("length", range(1, len(WHOLE) + 1))
def test_every_state_on_the_way_comes_through_as_it_was(length: int) -> None:
    run = CachedRun("r")
    for event in _numbered(WHOLE[:length]):
        run.feed(event)
    assert _restored(run) == run.state
    assert run.state.last_seq == length


@given(st.integers(0, len(WHOLE)))
def test_a_snapshot_and_the_events_after_it_are_the_whole(cut: int) -> None:
    run, view = CachedRun("r"), WorkspaceView()
    view.runs["r"] = RunView()
    events = _numbered(WHOLE)
    for event in events[:cut]:
        run.feed(event)
    lines = run.snapshot("first")
    lines += [line for event in events[max(0, cut - 3) :] if (line := run.feed(event)) is not None]
    for line in lines:
        message = parse_message(line)
        if isinstance(message, p.RunSnapshot):
            view.apply_run_snapshot(message)
        else:
            assert isinstance(message, p.RunEvent)
            assert view.apply_event(message)
            assert view.apply_event(message)  # twice changes nothing
    assert view.runs["r"].state == run.state


def test_a_gap_is_noticed_at_both_ends() -> None:
    run, view = CachedRun("r"), WorkspaceView()
    first, _, third = _numbered(WHOLE)[:3]
    run.feed(first)
    with pytest.raises(LookupError):
        run.feed(third)
    view.runs["r"] = RunView(state=DurableRun(last_seq=1))
    assert not view.apply_event(p.RunEvent(run_id="r", seq=3, body=Raw(b'{"type": "run.started"}')))


def test_what_came_since_or_nothing_if_that_is_too_long_ago() -> None:
    run = CachedRun("r")
    events = _numbered([ev.NodeOpened(node_id=f"n{n}", kind="agent", name="n") for n in range(RECENT_EVENTS + 10)])
    for event in events:
        run.feed(event)
    assert run.events_since(0) is None
    assert run.events_since(RECENT_EVENTS + 11) is None
    assert run.events_since(9) is None
    assert run.events_since(RECENT_EVENTS + 10) == []
    latest = present(run.events_since(10))
    assert len(latest) == RECENT_EVENTS


async def test_a_run_that_is_always_written_to_is_loaded(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = await bench.started()
    journal = await bench.open()
    read, reads = journal.read, 0

    async def read_and_write(run_id: str, after: int = 0, limit: int | None = None) -> list[ev.JournalEvent]:
        nonlocal reads
        reads += 1
        assert reads < 10, "it waits for a moment at which nothing is new"
        found = await read(run_id, after, limit)
        await driver.nodes(f"n{reads}")
        return found

    monkeypatch.setattr(journal, "read", read_and_write)
    run = present(await RunCache(journal).load(driver.run_id))
    assert run.seq == 2
    assert reads == 1


def test_events_of_a_newer_program_do_not_hide_a_run() -> None:
    view = WorkspaceView()
    view.runs["r"] = RunView(state=DurableRun(last_seq=1))
    assert view.apply_event(p.RunEvent(run_id="r", seq=2, body=Raw(b'{"type": "run.danced", "seq": 2, "run_id": "r"}')))
    assert view.apply_event(p.RunEvent(run_id="r", seq=3, body=Raw(b'{"type": "run.finished", "state": "sublime"}')))
    state = present(view.runs["r"].state)
    assert state.last_seq == 3


def test_the_rest_of_a_snapshot_that_cannot_be_read_is_ignored() -> None:
    view = WorkspaceView()
    view.runs["r"] = RunView()
    view.apply_run_snapshot(p.RunSnapshot(run_id="r", seq=1, why="first", head={"phase": "sublime"}, more=True))
    assert "cannot read" in view.runs["r"].problem
    view.apply_run_snapshot(p.RunSnapshot(run_id="r", seq=1, why="first", nodes={}))
    assert view.runs["r"].state is None
