"""The first picture is shown as it comes, and says how much of it is there; in the end it is the one that was sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import timedelta
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from runtime.link.client.change_signal import ChangeSignal
from runtime.link.client.client import PictureProgress
from runtime.link.client.heartbeat import Heartbeat
from runtime.link.client.pending import PendingRequests
from runtime.link.client.receiver import Receiver
from runtime.link.client.workspace_view import MissingChange, WorkspaceView
from runtime.link.server import picture_parts as parts
from runtime.link.server.projection import WorkspaceProjection
from runtime.link.transports.handshake import HandshakeResult
from runtime.link.wire.framing import LineReader
from runtime.link.wire.message_parser import parse_message
from runtime.link.wire.protocol import Hello, PictureSize, SnapshotReason, WorkspaceChange, WorkspaceSnapshot
from runtime.record.inbox_row import InboxRow
from runtime.record.state.summary import Summary
from runtime.record.state.workspace_events import GrantAdded
from tests.screens.stories import START, limited, waiting_of

OPENED = waiting_of(limited(1))[0].opened


def row(number: int, *, fingerprint: str = "", minutes: float = 0.0, message: str = "") -> InboxRow:
    facts = replace(
        OPENED,
        incident_id=f"i{number}",
        fingerprint=fingerprint,
        ts=START + timedelta(minutes=minutes),
        message=message or "no",
    )
    return InboxRow(run_id=f"r{number}", title=f"run {number}", opened=facts)


def picture(runs: int, waiting: Iterable[InboxRow] = (), *, grants: int = 0) -> WorkspaceProjection:
    """A workspace with so many runs, `r0` the oldest."""
    made = WorkspaceProjection()
    made.summaries = {f"r{number}": Summary(f"r{number}", "x:y", input=f"task {number}") for number in range(runs)}
    made.incidents = {each.opened.incident_id: each for each in waiting}
    made.grants = tuple(
        GrantAdded(grant_id=f"g{number}", subject="*", verb="fs.read", pattern="", lifetime="always", ts=START)
        for number in range(grants)
    )
    made.position = 1
    return made


def messages(made: WorkspaceProjection, why: SnapshotReason = "first") -> list[WorkspaceSnapshot]:
    """As they come over the wire."""
    found = [parse_message(line) for line in made.snapshot(why)]
    assert all(isinstance(each, WorkspaceSnapshot) for each in found)
    return found  # type: ignore[return-value]


def tell(view: WorkspaceView, told: Iterable[WorkspaceSnapshot], epoch: str = "e") -> None:
    for message in told:
        view.apply_snapshot(message, epoch, 1)


def shows(view: WorkspaceView) -> tuple[list[object], ...]:
    """All rows, in their order."""
    return list(view.summaries.items()), list(view.incidents.items()), list(view.grants.items())


def of(made: WorkspaceProjection) -> tuple[list[object], ...]:
    return list(made.summaries.items()), list(made.incidents.items()), [(each.grant_id, each) for each in made.grants]


# -- what goes first -------------------------------------------------------------------------------------------------


def test_a_small_picture_is_one_message() -> None:
    (message,) = messages(picture(parts.ROWS_PER_PART, [row(1)]))
    assert (message.more, message.whole, len(message.summaries)) == (False, None, parts.ROWS_PER_PART)
    (message,) = messages(picture(0))
    assert not message.more


def test_first_go_the_decisions_that_matter_most_with_their_runs_and_the_newest_runs() -> None:
    old = [row(number, fingerprint="alike", minutes=number) for number in range(50)]
    alone = [row(100 + number, minutes=60) for number in range(60)]
    first, *rest = messages(picture(500, [*alone, *old]))
    assert first.more
    assert first.whole == PictureSize(runs=500, incidents=110)
    told = [each.opened.incident_id for each in first.incidents]
    assert told[:2] == ["i0", "i1"], "of those that are the same, so many that it is seen that there are several"
    assert told[2:] == [f"i{100 + number}" for number in range(parts.SCREENFUL - 2)]
    runs = {each.id for each in first.summaries}
    assert runs == {each.run_id for each in first.incidents} | {f"r{499 - number}" for number in range(parts.SCREENFUL)}
    assert sum(len(each.summaries) for each in rest) == 500
    assert sum(len(each.incidents) for each in rest) == 110


def test_what_goes_first_is_bounded_in_bytes_but_never_empty() -> None:
    big = "x" * parts.MAX_FIRST_BYTES
    first, *_ = messages(picture(200, [row(number, minutes=number, message=big) for number in range(9)]))
    assert [each.opened.incident_id for each in first.incidents] == ["i0"]
    half = "x" * (parts.MAX_FIRST_BYTES // 3)
    first, *_ = messages(picture(200, [row(number, minutes=number, message=half) for number in range(9)]))
    assert [each.opened.incident_id for each in first.incidents] == ["i0", "i1"]


def test_only_a_console_without_a_picture_is_told_some_rows_first() -> None:
    reasons: tuple[SnapshotReason, ...] = ("gap", "epoch", "slow")
    for why in reasons:
        assert [each.whole for each in messages(picture(300), why)] == [None] * 3


# -- what a console makes of it --------------------------------------------------------------------------------------


def test_the_first_part_is_shown_and_how_much_is_missing() -> None:
    made, view = picture(300, [row(number, minutes=number) for number in range(120)], grants=2), WorkspaceView()
    first, second, *rest = messages(made)
    tell(view, [first])
    assert not view.whole
    assert view.progress == PictureProgress(len(view.summaries), 300, parts.SCREENFUL, 120)
    assert next(iter(view.incidents)) == "i0", "the one to take next"
    tell(view, [second])
    assert len(view.incidents) == parts.ROWS_PER_PART
    assert next(iter(view.incidents)) == "i0"
    assert (view.epoch, view.position) == ("", 0), "a cut begins again"
    tell(view, rest)
    assert shows(view) == of(made)
    assert (view.epoch, view.position, view.snapshots) == ("e", 1, ["first"])


def test_a_runtime_that_does_not_say_how_much_there_is_shows_its_picture_when_it_is_whole() -> None:
    view = WorkspaceView()
    for message in messages(picture(300), "gap"):
        assert (view.summaries, view.progress, view.whole) == ({}, None, False)
        tell(view, [message])
    assert len(view.summaries) == 300


def test_after_a_cut_what_was_shown_stays_until_the_picture_begins_again() -> None:
    view, made = WorkspaceView(), picture(300)
    tell(view, messages(made)[:3])
    before = shows(view)
    view.connection_cut()
    assert shows(view) == before
    assert view.progress is not None
    smaller = picture(150)
    first, *rest = messages(smaller)
    tell(view, [first])
    assert view.progress == PictureProgress(parts.SCREENFUL, 150, 0, 0)
    tell(view, rest)
    assert shows(view) == of(smaller)


def test_a_console_that_has_a_picture_keeps_it_until_the_next_is_whole() -> None:
    view, made, other = WorkspaceView(), picture(300), picture(250, [row(7)])
    tell(view, messages(made))
    view.epoch = ""  # a change was missing: it is asked for as if it were the first
    first, *rest = messages(other)
    tell(view, [first, *rest[:-1]])
    assert (view.whole, view.progress, shows(view)) == (True, None, of(made))
    tell(view, rest[-1:])
    assert shows(view) == of(other)


@given(
    runs=st.integers(0, 12),
    waiting=st.lists(st.tuples(st.integers(0, 11), st.sampled_from(["", "a", "b"]), st.integers(0, 90)), max_size=12),
    grants=st.integers(0, 3),
    per_part=st.integers(1, 5),
    screenful=st.integers(1, 4),
    cuts=st.lists(st.integers(0, 9), max_size=3),
    changes=st.lists(st.integers(0, 15), max_size=6),
)
def test_in_the_end_it_is_the_picture_that_was_sent(
    *,
    runs: int,
    waiting: Sequence[tuple[int, str, int]],
    grants: int,
    per_part: int,
    screenful: int,
    cuts: Sequence[int],
    changes: Sequence[int],
) -> None:
    """However it is split, wherever it is cut, and whatever changes meanwhile: as if it had been sent whole."""
    made = picture(runs, [row(run, fingerprint=alike, minutes=ago) for run, alike, ago in waiting], grants=grants)
    view = WorkspaceView()
    with mock.patch.multiple(parts, ROWS_PER_PART=per_part, SCREENFUL=screenful):
        for cut in cuts:
            told = messages(made)
            tell(view, told[: min(cut, len(told) - 1)])
            assert view.progress is None or (view.progress.runs, view.progress.incidents) <= (runs, len(made.incidents))
            view.connection_cut()
            made.touch()
        told = messages(made)
    waits = [made.set_summary(Summary(f"r{number}", "x:y", steps=number + 1)) for number in changes]  # behind it
    tell(view, told)
    for line in filter(None, waits):
        change = parse_message(line)
        assert isinstance(change, WorkspaceChange)
        view.apply_change(change)
    assert (view.whole, view.progress, view.position) == (True, None, made.position)
    assert shows(view) == of(made)


# -- while the rest comes ------------------------------------------------------------------------------------------


def _receiver(view: WorkspaceView, signal: ChangeSignal) -> Receiver:
    session = HandshakeResult(
        mock.Mock(spec=asyncio.StreamWriter), Hello(epoch="e", position=0, role="operator", peer="me", program="p")
    )
    return Receiver(session, view, PendingRequests(), Heartbeat(), signal.mark)


async def test_who_waits_for_the_beginning_has_a_turn_before_the_rest_is_read() -> None:
    first, *rest = picture(parts.ROWS_PER_PART * 3).snapshot("first")
    view, signal, reader = WorkspaceView(), ChangeSignal(), asyncio.StreamReader()
    reader.feed_data(b"".join(line + b"\n" for line in rest))
    reader.feed_eof()
    receiver = _receiver(view, signal)

    async def whole_when_begun() -> bool:
        await signal.wait_until(lambda: bool(view.summaries))
        return view.whole

    waiting = asyncio.create_task(whole_when_begun())
    await asyncio.sleep(0)
    await receiver.listen(reader, LineReader(), [first])
    assert view.whole
    assert not await waiting


async def test_what_came_before_a_gap_is_told_before_the_picture_comes_again() -> None:
    view, signal = WorkspaceView(), ChangeSignal()
    told = asyncio.create_task(signal.wait_until(lambda: view.position == 1))
    await asyncio.sleep(0)
    lines = [WorkspaceChange(position=position).line() for position in (1, 9)]
    with pytest.raises(MissingChange):
        await _receiver(view, signal).listen(asyncio.StreamReader(), LineReader(), lines)
    await told
