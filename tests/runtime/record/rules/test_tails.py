"""Tails that the journal is closed under, while the store is being asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from runtime.record.journal import JournalError
from runtime.record.rules.batch import WrittenEvent
from runtime.record.rules.tails import Tails, Wake
from runtime.record.state import events as ev


class SilentWaker:
    """A `Waker` that notices nothing."""

    eager = False
    looks = False
    """Whether it was told to notice."""

    def start(self, changed: Wake) -> None:
        self.looks = True

    def stop(self) -> None:
        self.looks = False

    def notify_written(self, written: Sequence[WrittenEvent]) -> None: ...


class BreakingStore:
    """Its query fails when `breaks` is set, as one does whose connection is closed."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.breaks = asyncio.Event()

    async def fetch(self, run_id: str | None, after: int, limit: int) -> list[WrittenEvent]:
        self.asked.set()
        await self.breaks.wait()
        raise JournalError("the connection is lost")


async def collect(tails: Tails) -> list[list[ev.JournalEvent]]:
    return [events async for events in tails.tail(None, 0)]


async def test_a_tail_ends_when_the_journal_is_closed_under_its_query() -> None:
    store = BreakingStore()
    tails = Tails(store.fetch, SilentWaker())
    reading = asyncio.create_task(collect(tails))
    await store.asked.wait()
    tails.close()
    store.breaks.set()
    assert await reading == []


async def test_a_query_that_fails_while_the_journal_is_open_is_the_readers_error() -> None:
    store = BreakingStore()
    store.breaks.set()
    with pytest.raises(JournalError, match="the connection is lost"):
        await collect(Tails(store.fetch, SilentWaker()))


def _fail(exc: JournalError) -> None:
    pytest.fail(str(exc))


async def _nothing_new(run_id: str | None, after: int, limit: int) -> list[WrittenEvent]:
    return []


def _at(run_id: str, seq: int, pos: int) -> WrittenEvent:
    return WrittenEvent(pos, ev.Warned(text=f"{run_id} {seq}").placed(run_id, seq))


async def test_an_event_goes_to_all_tails_of_its_run_and_of_the_journal_and_to_no_other() -> None:
    tails = Tails(_nothing_new, SilentWaker())
    heard: dict[str, list[ev.JournalEvent]] = {name: [] for name in ("one", "same", "other")}
    one, *_ = [
        tails.follow(run_id, 0, heard[name].append, _fail)
        for name, run_id in (("one", "a"), ("same", "a"), ("other", "b"))
    ]
    whole = tails.tail(None, 0)
    first = asyncio.ensure_future(anext(whole))
    await asyncio.sleep(0)
    tails.publish([_at("a", 1, 1), _at("b", 1, 2), _at("c", 1, 3)])
    assert [(event.run_id, event.seq) for event in await first] == [("a", 1), ("b", 1), ("c", 1)]
    one.stop()
    tails.publish([_at("a", 2, 4)])
    assert [(event.run_id, event.seq) for event in await anext(whole)] == [("a", 2)]
    await asyncio.sleep(0)
    found = {name: [(event.run_id, event.seq) for event in events] for name, events in heard.items()}
    assert found == {"one": [("a", 1)], "same": [("a", 1), ("a", 2)], "other": [("b", 1)]}
    await whole.aclose()  # type: ignore[attr-defined]


async def test_a_wake_up_for_runs_reaches_their_tails_and_those_of_the_whole_journal() -> None:
    asked: list[str | None] = []

    async def fetch(run_id: str | None, after: int, limit: int) -> list[WrittenEvent]:
        asked.append(run_id)
        return []

    tails = Tails(fetch, SilentWaker())
    whole = tails.tail(None, 0)
    reading = asyncio.ensure_future(anext(whole))
    for run_id in ("a", "b"):
        tails.follow(run_id, 0, lambda _: None, _fail)
    for run_ids, expected in ((None, {None, "a", "b"}), (["b", "c"], {None, "b"}), ([], {None})):
        await asyncio.sleep(0.01)
        asked.clear()
        tails.wake(run_ids)
        await asyncio.sleep(0.01)
        assert set(asked) == expected
    reading.cancel()


async def test_others_are_looked_for_soon_while_a_run_is_followed_and_not_at_all_without_a_tail() -> None:
    waker = SilentWaker()
    tails = Tails(_nothing_new, waker)
    workspace, one, same = (
        tails.follow(run_id, 0, lambda _: None, _fail) for run_id in (ev.WORKSPACE_RUN_ID, "a", "a")
    )
    states = [(waker.looks, waker.eager)]
    for follower in (one, same, same, workspace):  # to stop twice does nothing
        follower.stop()
        states.append((waker.looks, waker.eager))
    assert states == [(True, True), (True, True), (True, False), (True, False), (False, False)]
