"""Following a run: every event once and in order, from any writer, without a task while nothing comes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from runtime.record.journal import Follower, Journal, JournalError
from runtime.record.rules.tails import Tails
from runtime.record.state import events as ev
from tests.patience import PATIENCE_S
from tests.runtime.record.journal_samples import elsewhere, opened, started, warned
from tests.runtime.record.rules.test_tails import BreakingStore, SilentWaker

if TYPE_CHECKING:
    from tests.runtime.record.conftest import Store

POST = 'await journal.post("r1", ev.AnalysisAdded(incident_id="i1", text="elsewhere"))'


class Heard:
    """What a follower was given; it fails the test where the run cannot be read."""

    def __init__(self) -> None:
        self.events: list[ev.JournalEvent] = []
        self.failed: list[JournalError] = []

    def follow(self, journal: Journal, after: int, *kinds: type[ev.JournalEvent]) -> Follower:
        return journal.follow("r1", after, self.events.append, self.failed.append, kinds=kinds or None)

    async def upto(self, count: int) -> list[ev.JournalEvent]:
        while len(self.events) < count and not self.failed:  # noqa: ASYNC110 - a list tells nothing
            await asyncio.sleep(0.01)
        assert self.failed == []
        return self.events


async def test_what_was_and_what_comes(journal: Journal) -> None:
    lease = await started(journal)
    whole, rest = Heard(), Heard()
    following = [whole.follow(journal, 0), rest.follow(journal, 2)]
    assert len(await whole.upto(2)) == 2
    for number in range(30):
        await journal.append(lease, [warned(str(number))] * (number % 3 + 1))
    written = await journal.read("r1")
    assert await whole.upto(len(written)) == written
    assert await rest.upto(len(written) - 2) == written[2:]
    for each in following:
        each.stop()
    await journal.append(lease, [warned("after the stop")])
    await asyncio.sleep(0)
    assert len(whole.events) == len(written)


async def test_what_others_write_and_only_the_kinds_that_are_wanted(store: Store, journal: Journal) -> None:
    lease = await started(journal)
    await journal.append(lease, [opened(), warned("own")])
    heard = Heard()
    following = heard.follow(journal, 3, ev.AnalysisAdded)
    await journal.post("r1", ev.AnalysisAdded(incident_id="i1", text="here"))
    await heard.upto(1)
    process = elsewhere(store.opener, POST)
    _, errors = await asyncio.to_thread(process.communicate)
    assert (process.returncode, errors) == (0, "")
    await journal.append(lease, [warned("own")])
    found = await heard.upto(2)
    assert [event.text for event in found if isinstance(event, ev.AnalysisAdded)] == ["here", "elsewhere"]
    following.stop()


async def test_nothing_waits_while_nothing_comes(journal: Journal) -> None:
    lease = await started(journal)
    before = asyncio.all_tasks()
    heard = [Heard() for _ in range(50)]
    following = [each.follow(journal, 0) for each in heard]
    for each in heard:
        await each.upto(2)
    async with asyncio.timeout(PATIENCE_S):
        while len(asyncio.all_tasks() - before) > 1:  # noqa: ASYNC110 - tasks give no sign; a store's listener stays
            await asyncio.sleep(0.01)
    await journal.append(lease, [warned("news")])
    for each in heard:
        assert len(await each.upto(3)) == 3
    for follower in following:
        follower.stop()


async def test_a_run_that_cannot_be_read_is_told_of() -> None:
    store = BreakingStore()
    store.breaks.set()
    tails = Tails(store.fetch, SilentWaker())
    failed: asyncio.Queue[JournalError] = asyncio.Queue()
    follower = tails.follow("r1", 0, lambda _: None, failed.put_nowait)
    assert str(await failed.get()) == "the connection is lost"
    follower.wake()  # there may be news: it is tried again
    assert str(await failed.get()) == "the connection is lost"
    follower.stop()


async def test_nothing_is_told_of_a_journal_that_is_closed_under_the_query() -> None:
    store = BreakingStore()
    tails = Tails(store.fetch, SilentWaker())
    failed: list[JournalError] = []
    tails.follow("r1", 0, lambda _: None, failed.append)
    await store.asked.wait()
    tails.close()
    store.breaks.set()
    await asyncio.sleep(0.01)
    assert failed == []
