"""What goes to one console, in which order, and what is dropped."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.link.server.outbox import (
    AT_ONCE,
    EVENTS_PER_PART,
    GATHER_S,
    MAX_GATHERED,
    MAX_GATHERED_BYTES,
    MAX_PICTURE_UNDER_WAY,
    MAX_QUEUE_AGE_S,
    MIN_QUEUE_FOR_SNAPSHOT,
    ClientOutbox,
)
from tests.present import present
from tests.runtime.link.link_bench import Bench


def _now(outbox: ClientOutbox) -> list[bytes]:
    """All that goes out without waiting for anything."""
    found: list[bytes] = []
    while (line := outbox.ready_line()) is not None:
        found.append(line)
    return found


def _outbox(window: int = 3, capacity: int = 4) -> ClientOutbox:
    return ClientOutbox(lambda: [b"snapshot"], window=window, capacity=capacity)


def _begun(window: int, capacity: int) -> ClientOutbox:
    """One whose console has acknowledged something."""
    outbox = _outbox(window, capacity)
    outbox.send_bulk([b"begun"])
    assert _now(outbox) == [b"begun"]
    outbox.acknowledge(1)
    return outbox


def test_not_more_than_the_window_is_under_way() -> None:
    outbox = _outbox()
    for name in (b"1", b"2", b"3", b"4"):
        outbox.offer(name)
    assert _now(outbox) == [b"1", b"2", b"3"]
    outbox.reply(b"reply")
    assert _now(outbox) == [b"reply"]
    outbox.acknowledge(2)
    assert _now(outbox) == [b"4"]


def test_what_waits_too_long_is_given_up_for_a_snapshot_unless_it_is_little() -> None:
    now = [0.0]
    outbox = ClientOutbox(lambda: [b"snapshot"], window=1, capacity=10 * MIN_QUEUE_FOR_SNAPSHOT, clock=lambda: now[0])
    outbox.offer(b"under way")
    assert _now(outbox) == [b"under way"]
    for number in range(MIN_QUEUE_FOR_SNAPSHOT - 1):
        outbox.offer(b"%d" % number)
    now[0] += MAX_QUEUE_AGE_S + 1
    outbox.offer(b"a few, however old")
    held = [outbox.stale]
    outbox.offer(b"one too many")
    assert [*held, outbox.stale] == [False, True]
    outbox.acknowledge(1)
    assert _now(outbox) == [b"snapshot"]


def test_what_waits_too_long_is_not_given_up_for_a_snapshot_that_is_longer() -> None:
    now, rows = [0.0], 3 * MIN_QUEUE_FOR_SNAPSHOT
    outbox = ClientOutbox(
        lambda: [b"snapshot"], window=1, capacity=10 * rows, snapshot_rows=lambda: rows, clock=lambda: now[0]
    )
    for number in range(rows - 1):
        outbox.offer(b"%d" % number)
    now[0] += MAX_QUEUE_AGE_S + 1
    outbox.offer(b"as many as the snapshot has rows")
    held = [outbox.stale]
    outbox.offer(b"one too many")
    assert [*held, outbox.stale] == [False, True]


def test_overflow_drops_all_and_one_snapshot_follows_when_all_sent_was_taken() -> None:
    outbox = _outbox()
    for number in range(20):
        outbox.offer(b"%d" % number)
    assert outbox.stale
    assert _now(outbox) == [b"snapshot"]
    outbox = _outbox()
    outbox.offer(b"0")
    assert _now(outbox) == [b"0"]
    for number in range(1, 20):
        outbox.offer(b"%d" % number)
    assert _now(outbox) == []
    outbox.acknowledge(1)
    assert _now(outbox) == [b"snapshot"]
    outbox.offer(b"next")
    assert _now(outbox) == [b"next"]
    assert outbox.snapshots == 1


def test_changes_of_a_picture_wait_behind_it_and_what_was_there_before_goes_first() -> None:
    outbox = _outbox(window=10)
    outbox.offer(b"before")
    outbox.send_bulk([b"a", b"b"])
    outbox.offer(b"change")
    assert _now(outbox) == [b"before", b"a"]
    outbox.acknowledge(1)
    assert _now(outbox) == [b"b", b"change"]
    outbox.offer(b"next")
    assert _now(outbox) == [b"next"]


def test_what_is_told_ahead_goes_before_the_rest_of_a_picture_and_only_while_its_change_waits() -> None:
    outbox = _outbox(window=1, capacity=10)
    outbox.offer(b"0", ahead=b"0 ahead")
    outbox.send_bulk([b"a", b"b", b"c"])
    outbox.offer(b"1", ahead=b"1 ahead")
    sent = []
    for number in range(6):
        outbox.acknowledge(number)
        sent += _now(outbox)
        if sent[-1] == b"b":
            outbox.offer(b"2", ahead=b"2 ahead")
    assert sent == [b"1 ahead", b"0", b"a", b"b", b"2 ahead", b"c"]
    for number in range(6, 9):
        outbox.acknowledge(number)
        sent += _now(outbox)
    assert sent[6:] == [b"1", b"2"]
    outbox.offer(b"3", ahead=b"3 ahead")
    outbox.acknowledge(9)
    assert _now(outbox) == [b"3"]


def test_a_picture_without_parts_holds_nothing_back() -> None:
    outbox = _outbox(window=10)
    outbox.send_bulk([])
    outbox.offer(b"change")
    assert _now(outbox) == [b"change"]


def test_a_run_that_is_opened_and_its_events_do_not_wait_for_the_rest_of_a_picture() -> None:
    outbox = _outbox(window=1, capacity=10)
    outbox.send_bulk([b"a", b"b", b"c"])
    assert _now(outbox) == [b"a"]
    outbox.offer(b"change")
    outbox.show("run", lambda: [b"run", b"its nodes"])
    outbox.offer(b"event", of_run=True)
    sent = []
    for number in range(1, 8):
        outbox.acknowledge(number)
        sent += _now(outbox)
    assert sent == [b"run", b"its nodes", b"event", b"b", b"c", b"change"]


def test_the_first_part_of_a_picture_goes_alone_until_the_console_has_it() -> None:
    outbox = _outbox(window=10)
    outbox.send_bulk([b"first", b"b", b"c"])
    outbox.offer(b"event", of_run=True)
    assert _now(outbox) == [b"event", b"first"], "what is told of a run does not wait for it"
    outbox.acknowledge(2)
    assert _now(outbox) == [b"b", b"c"]


def test_a_picture_goes_on_however_many_events_there_are() -> None:
    outbox = _begun(window=1000, capacity=1000)
    outbox.send_bulk([b"a", b"b"])
    for number in range(3 * EVENTS_PER_PART):
        outbox.offer(b"e%d" % number, of_run=True)
    sent = _now(outbox)
    assert [at for at, line in enumerate(sent) if line in (b"a", b"b")] == [EVENTS_PER_PART, 2 * EVENTS_PER_PART + 1]
    assert [line for line in sent if line not in (b"a", b"b")] == [
        b"e%d" % number for number in range(3 * EVENTS_PER_PART)
    ]


def test_of_a_picture_only_so_much_is_under_way_that_the_rest_does_not_wait_long_behind_it() -> None:
    outbox = _begun(window=1000, capacity=1000)
    part = b"x" * (MAX_PICTURE_UNDER_WAY // 2)
    outbox.send_bulk([part] * 4)
    assert _now(outbox) == [part] * 2
    events = [b"e%d" % number for number in range(2 * EVENTS_PER_PART)]
    outbox.show("run", lambda: [b"run"])
    for event in events:
        outbox.offer(event, of_run=True)
    assert _now(outbox) == [b"run", *events], "what is told of a run goes meanwhile"
    outbox.acknowledge(2)
    assert _now(outbox) == [part]
    outbox.acknowledge(3)
    assert _now(outbox) == [part]
    outbox.acknowledge(1000)
    outbox.offer(b"change")
    assert _now(outbox) == [b"change"]


def test_changes_that_are_held_behind_a_picture_count_for_what_may_wait() -> None:
    outbox = _outbox(window=1, capacity=3)
    outbox.send_bulk([b"a", b"b"])
    for name in (b"1", b"2", b"3", b"4"):
        outbox.offer(name)
    assert outbox.stale
    sent = []
    for number in range(4):
        outbox.acknowledge(number)
        sent += _now(outbox)
    assert sent == [b"a", b"b", b"snapshot"], "the picture goes out whole, then a fresh one"


def test_pieces_of_a_text_are_joined_while_they_wait() -> None:
    outbox = _outbox(window=1)
    outbox.offer(b"1")
    outbox.delta(("r", "n", 1, "text"), 0, "ab")
    outbox.delta(("r", "n", 1, "text"), 2, "cd")
    assert _now(outbox) == [b"1"]
    outbox.acknowledge(1)
    [line] = _now(outbox)
    assert json.loads(line) | {"t": ""} == {
        "t": "", "run_id": "r", "node_id": "n", "attempt": 1, "kind": "text", "offset": 0, "text": "abcd",
    }  # fmt: skip
    outbox.delta(("r", "n", 1, "text"), 4, "ef")
    outbox.forget("r", "n")
    outbox.acknowledge(2)
    assert _now(outbox) == []


def test_a_closed_lane_still_gives_its_replies_and_no_picture() -> None:
    outbox = _outbox()
    outbox.offer(b"1", of_run=True)
    outbox.send_bulk([b"picture"])
    outbox.reply(b"last word")
    outbox.close()
    assert _now(outbox) == [b"last word"]


async def test_waiting_for_the_next_line() -> None:
    outbox = _outbox()
    waiting = asyncio.ensure_future(outbox.next_line())
    await asyncio.sleep(0)
    outbox.offer(b"1")
    assert await waiting == b"1"
    waiting = asyncio.ensure_future(outbox.next_line())
    await asyncio.sleep(0)
    outbox.close()
    assert await waiting is None


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(["offer", "ack", "take", "ackall", "reply"]), max_size=80),
    st.integers(1, 5),
    st.integers(1, 5),
)
def test_what_is_shown_is_in_order_and_after_a_loss_only_behind_a_snapshot(
    moves: list[str], window: int, capacity: int
) -> None:
    offered = 0
    sent: list[str] = []

    def refill() -> list[bytes]:
        return [b"s%d" % offered]

    outbox = ClientOutbox(refill, window=window, capacity=capacity)
    replies = 0

    def take() -> None:
        for line in _now(outbox):
            if line != b"reply":
                sent.append(line.decode())
            assert outbox.in_flight <= window

    for move in moves:
        if move == "offer":
            offered += 1
            outbox.offer(b"e%d" % offered)
        elif move == "ack":
            outbox.acknowledge(max(0, len(sent) - 1))
        elif move == "ackall":
            outbox.acknowledge(len(sent))
        elif move == "reply":
            replies += 1
            outbox.reply(b"reply")
        take()
    for _ in range(200):
        outbox.acknowledge(len(sent))
        take()
    at = 0
    for name in sent:
        number = int(name[1:])
        assert number >= at if name[0] == "s" else number == at + 1
        at = number
    assert at == offered


async def test_what_is_ready_goes_out_in_one_write(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    write = asyncio.StreamWriter.write

    def counted(self: asyncio.StreamWriter, data: bytes) -> None:
        written.append(data.count(b'"t":"event"'))
        write(self, data)

    driver = await bench.started()
    await bench.serve()
    console = await bench.watching()
    monkeypatch.setattr(asyncio.StreamWriter, "write", counted)
    await driver.nodes(*(f"n{number}" for number in range(50)))
    await console.wait_until(lambda: len(present(console.run("run-1")).nodes) == 50)
    assert sum(written) == 50
    assert max(written) > 10


async def _waits(gathering: asyncio.Task[None]) -> bool:
    for _ in range(5):
        await asyncio.sleep(0)
    return not gathering.done()


async def _busy(now: float = 1000.0) -> ClientOutbox:
    """One whose stream goes on and on, at a time that stands still."""
    outbox = ClientOutbox(lambda: [b"snapshot"], window=500, capacity=2000, clock=lambda: now)
    for _ in range(AT_ONCE - 1):
        await outbox.gather()
    return outbox


async def test_a_stream_that_goes_on_and_on_gathers_and_what_was_asked_for_ends_that() -> None:
    outbox = await _busy()
    gathering = asyncio.create_task(outbox.gather())
    assert not await _waits(gathering), "a few writes follow each other at once"
    hurries: list[Callable[[], object]] = [
        lambda: outbox.reply(b"reply"),
        lambda: outbox.send_bulk([b"picture"]),
        lambda: outbox.show("run", list),
        lambda: list(map(outbox.offer, [b"event"] * MAX_GATHERED)),
        lambda: outbox.offer(bytes(MAX_GATHERED_BYTES)),
        outbox.close,
    ]
    for hurry in hurries:
        gathering = asyncio.create_task(outbox.gather())
        assert await _waits(gathering)
        outbox.offer(b"event")
        assert await _waits(gathering)
        hurry()
        assert not await _waits(gathering)
        _now(outbox)


async def test_changes_that_gather_go_out_before_the_end() -> None:
    """A runtime that stops parks its runs, and closes: consoles are told that they are parked."""
    outbox = await _busy()
    await outbox.gather()
    gathering = asyncio.create_task(outbox.gather())
    assert await _waits(gathering)
    outbox.offer(b"parked")
    outbox.reply(b"reply")
    outbox.close()
    await gathering
    assert [await outbox.next_line() for _ in range(3)] == [b"reply", b"parked", None]


async def test_what_waits_to_go_out_does_not_gather() -> None:
    outbox = await _busy()
    await outbox.gather()
    for _ in range(501):
        outbox.offer(b"event")
    assert len(_now(outbox)) == 500
    assert not await _waits(asyncio.create_task(outbox.gather())), "the last one waits for an acknowledgement alone"


async def test_many_replies_do_not_keep_the_stream_waiting_after_them() -> None:
    now = [1000.0]
    outbox = ClientOutbox(lambda: [b"snapshot"], window=500, capacity=2000, clock=lambda: now[0])
    for _ in range(100 * AT_ONCE):
        outbox.reply(b"reply")
        await outbox.gather()
        _now(outbox)
    now[0] += (AT_ONCE + 1) * GATHER_S
    assert not await _waits(asyncio.create_task(outbox.gather()))
