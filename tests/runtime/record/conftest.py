"""Journals under test. The contract tests know only the port: another implementation is one more `Store` here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import pytest

from runtime.record.journal_care import JournalCare
from runtime.record.places import init_database, open_journal
from runtime.record.state import events as ev


class Store(Protocol):
    """Where journals of one kind keep their events; each `open` is one client of the same store."""

    async def open(self, clock: Callable[[], datetime] = ...) -> JournalCare: ...

    @property
    def opener(self) -> str:
        """Python source of an expression, awaited in another process, that opens a client of the same store."""


class SqliteStore:
    def __init__(self, place: Path) -> None:
        self.place = place
        self.path = place / "journal.db"

    async def open(self, clock: Callable[[], datetime] = ev.utc_now) -> JournalCare:
        return await open_journal(self.place, clock=clock)

    @property
    def opener(self) -> str:
        return f"__import__('runtime.record.places', fromlist=['open_journal']).open_journal({str(self.place)!r})"


class PostgresStore:
    """A workspace of a database; made when it is first opened."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._made = False

    async def open(self, clock: Callable[[], datetime] | None = None) -> JournalCare:
        if not self._made:
            await init_database(self.url)
            self._made = True
        return await open_journal(self.url, clock=clock)

    @property
    def opener(self) -> str:
        return f"__import__('runtime.record.places', fromlist=['open_journal']).open_journal({self.url!r})"


class Clock:
    """A wall clock that jumps as told."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def jump(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "postgres":
        return PostgresStore(request.getfixturevalue("postgres_url"))
    return SqliteStore(tmp_path)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def journal(store: Store, clock: Clock) -> AsyncIterator[JournalCare]:
    opened = await store.open(clock)
    try:
        yield opened
    finally:
        await opened.close()
