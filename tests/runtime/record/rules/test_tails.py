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

    def start(self, changed: Wake) -> None: ...

    def stop(self) -> None: ...

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
