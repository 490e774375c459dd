"""What goes to one console, in which order, and what is dropped."""

from __future__ import annotations

import asyncio
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.link.server.outbox import MAX_QUEUE_AGE_S, MIN_QUEUE_FOR_SNAPSHOT, ClientOutbox


def _now(lane: ClientOutbox) -> list[bytes]:
    """All that goes out without waiting for anything."""
    found: list[bytes] = []
    while (line := lane.ready_line()) is not None:
        found.append(line)
    return found


def _lane(window: int = 3, capacity: int = 4) -> ClientOutbox:
    return ClientOutbox(lambda: [b"snapshot"], window=window, capacity=capacity)


def test_not_more_than_the_window_is_under_way() -> None:
    lane = _lane()
    for name in (b"1", b"2", b"3", b"4"):
        lane.offer(name)
    assert _now(lane) == [b"1", b"2", b"3"]
    lane.reply(b"reply")
    assert _now(lane) == [b"reply"]
    lane.acknowledge(2)
    assert _now(lane) == [b"4"]


def test_what_waits_too_long_is_given_up_for_a_snapshot_unless_it_is_little() -> None:
    now = [0.0]
    lane = ClientOutbox(lambda: [b"snapshot"], window=1, capacity=10 * MIN_QUEUE_FOR_SNAPSHOT, clock=lambda: now[0])
    lane.offer(b"under way")
    assert _now(lane) == [b"under way"]
    for number in range(MIN_QUEUE_FOR_SNAPSHOT - 1):
        lane.offer(b"%d" % number)
    now[0] += MAX_QUEUE_AGE_S + 1
    lane.offer(b"a few, however old")
    held = [lane.stale]
    lane.offer(b"one too many")
    assert [*held, lane.stale] == [False, True]
    lane.acknowledge(1)
    assert _now(lane) == [b"snapshot"]


def test_overflow_drops_all_and_one_snapshot_follows_when_all_sent_was_taken() -> None:
    lane = _lane()
    for number in range(20):
        lane.offer(b"%d" % number)
    assert lane.stale
    assert _now(lane) == [b"snapshot"]
    lane = _lane()
    lane.offer(b"0")
    assert _now(lane) == [b"0"]
    for number in range(1, 20):
        lane.offer(b"%d" % number)
    assert _now(lane) == []
    lane.acknowledge(1)
    assert _now(lane) == [b"snapshot"]
    lane.offer(b"next")
    assert _now(lane) == [b"next"]
    assert lane.snapshots == 1


def test_a_snapshot_goes_before_what_waits_and_whole() -> None:
    lane = _lane(window=10)
    lane.offer(b"news")
    lane.send_bulk([b"a", b"b"])
    assert _now(lane) == [b"a", b"b", b"news"]


def test_pieces_of_a_text_are_joined_while_they_wait() -> None:
    lane = _lane(window=1)
    lane.offer(b"1")
    lane.delta(("r", "n", 1, "text"), 0, "ab")
    lane.delta(("r", "n", 1, "text"), 2, "cd")
    assert _now(lane) == [b"1"]
    lane.acknowledge(1)
    [line] = _now(lane)
    assert json.loads(line) | {"t": ""} == {
        "t": "", "run_id": "r", "node_id": "n", "attempt": 1, "kind": "text", "offset": 0, "text": "abcd",
    }  # fmt: skip
    lane.delta(("r", "n", 1, "text"), 4, "ef")
    lane.forget("r", "n")
    lane.acknowledge(2)
    assert _now(lane) == []


def test_a_closed_lane_still_gives_its_replies() -> None:
    lane = _lane()
    lane.offer(b"1")
    lane.reply(b"last word")
    lane.close()
    assert _now(lane) == [b"last word"]


async def test_waiting_for_the_next_line() -> None:
    lane = _lane()
    waiting = asyncio.ensure_future(lane.next_line())
    await asyncio.sleep(0)
    lane.offer(b"1")
    assert await waiting == b"1"
    waiting = asyncio.ensure_future(lane.next_line())
    await asyncio.sleep(0)
    lane.close()
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

    lane = ClientOutbox(refill, window=window, capacity=capacity)
    replies = 0

    def take() -> None:
        for line in _now(lane):
            if line != b"reply":
                sent.append(line.decode())
            assert lane.in_flight <= window

    for move in moves:
        if move == "offer":
            offered += 1
            lane.offer(b"e%d" % offered)
        elif move == "ack":
            lane.acknowledge(max(0, len(sent) - 1))
        elif move == "ackall":
            lane.acknowledge(len(sent))
        elif move == "reply":
            replies += 1
            lane.reply(b"reply")
        take()
    for _ in range(200):
        lane.acknowledge(len(sent))
        take()
    at = 0
    for name in sent:
        number = int(name[1:])
        assert number >= at if name[0] == "s" else number == at + 1
        at = number
    assert at == offered
