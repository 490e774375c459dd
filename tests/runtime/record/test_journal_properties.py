"""Whatever workers, operators and clocks do to a run, in whatever order: what must hold of its journal holds."""

from __future__ import annotations

import asyncio
import itertools
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.record.journal import AnswerAccepted, Fenced, Journal, JournalError, Lease
from runtime.record.places import init_database, open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import RUN_TERMINAL
from tests.runtime.record.journal_samples import answer, created, opened, state_of, summary, warned

if TYPE_CHECKING:
    from tests.postgres_server import PostgresServer
    from tests.runtime.record.conftest import Clock

Deed = tuple[str, int]
WORKERS = 3
BY_LEASE = ["renew", "release", "write", "open", "start", "learn", "park", "park", "finish"]
DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("claim"), st.integers(0, WORKERS - 1)),
        st.tuples(st.sampled_from(BY_LEASE), st.sampled_from([0, 0, 0, 1, 2])),  # mostly the newest
        st.tuples(st.just("answer"), st.integers(0, 2)),
        st.tuples(st.sampled_from(["abort", "freeze", "thaw"]), st.just(0)),
        st.tuples(st.just("jump"), st.sampled_from([-5000, -3, 1, 6, 11, 40])),
    ),
    max_size=30,
)


@dataclass
class World:
    """A run, its workers with what each of them has folded, and what must be true of them."""

    journal: Journal
    clock: Clock
    leases: list[Lease] = field(default_factory=list)
    """Every lease ever given: a process may still believe in an old one."""
    folded: dict[int, int] = field(default_factory=dict)
    """By epoch: up to which event its holder has folded."""
    newest: Lease | None = None
    held: bool = False
    told: int = 0
    known_at_park: int | None = None
    answers: int = 0
    incidents: int = 0

    async def do(self, what: str, n: int) -> None:
        before = await state_of(self.journal)
        length = len(await self.journal.read("r1"))
        if what == "jump":
            self.clock.jump(n)
        elif what == "claim":
            await self.claim(n)
        elif what == "answer":
            await self.answer(n)
        elif what == "abort":
            await self.abort(before)
        elif what == "freeze":
            await self.journal.post("r1", ev.RunFrozen())
        elif what == "thaw":
            self.told = (await self.journal.post("r1", ev.RunThawed())).seq
        elif self.leases:
            await self.by_lease(what, self.leases[-1 - n % len(self.leases)], length)
        state = await state_of(self.journal)
        if before in RUN_TERMINAL:
            assert state == before, "a terminal state was left"
        if state == "frozen" and not self.held:
            assert await self.journal.runnable() == [], "only what a driver died over is looked at"
        if state == "waiting":
            assert self.known_at_park is not None
            assert self.told <= self.known_at_park, "a decision was lost between fold and park"

    async def claim(self, n: int) -> None:
        runnable = await self.journal.runnable() == ["r1"]
        lease = await self.journal.claim("r1", f"w{n}", 10)
        if lease is None:
            assert not runnable or (self.held and self.newest is not None and self.newest.owner == f"w{n}")
            return
        assert runnable
        assert self.newest is None or lease.epoch == self.newest.epoch + 1
        self.leases.append(lease)
        self.newest = lease
        self.held = True
        self.folded[lease.epoch] = lease.seq

    async def by_lease(self, what: str, lease: Lease, length: int) -> None:
        allowed = self.held and lease is self.newest
        if what == "learn":
            self.folded[lease.epoch] = length
            return
        try:
            if what == "renew":
                await self.journal.renew(lease)
            elif what == "release":
                await self.journal.release(lease)
                self.held = self.held and not allowed
                return
            else:
                await self.write(what, lease)
        except Fenced:
            assert not allowed
            assert len(await self.journal.read("r1")) == length, "a fenced append wrote something"
        else:
            assert allowed, "a lease that is over wrote something"

    async def write(self, what: str, lease: Lease) -> None:
        if what == "open":
            await self.journal.append(lease, [opened(f"i{self.incidents}")])
            self.incidents += 1
        elif what == "park":
            await self.journal.append(lease, [warned(), ev.RunParked(reason="waiting")], seen=self.folded[lease.epoch])
            self.known_at_park = self.folded[lease.epoch]
        else:
            event = {"write": warned(), "start": ev.RunStarted(epoch=1), "finish": ev.RunFinished(state="failed")}[what]
            await self.journal.append(lease, [event])

    async def answer(self, n: int) -> None:
        result = await self.journal.answer(answer(f"i{n}"))
        if isinstance(result, AnswerAccepted):
            self.told, self.answers = result.answer.seq, self.answers + 1
            assert result.answer.seq == len(await self.journal.read("r1"))
        else:
            assert f"i{n}" not in {row.opened.incident_id for row in await self.journal.incidents()}

    async def abort(self, before: str) -> None:
        try:
            self.told = (await self.journal.post("r1", ev.AbortRequested())).seq
        except JournalError:
            assert before in RUN_TERMINAL


@given(DEEDS)
@settings(max_examples=200, deadline=None)
def test_a_run_in_any_hands(deeds: list[Deed]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(history(Path(directory), deeds))


def test_a_run_on_postgres_in_any_hands(postgres: PostgresServer, worker_id: str) -> None:
    numbers = itertools.count()

    @given(DEEDS)
    @settings(max_examples=40, deadline=None)
    def in_any_hands(deeds: list[Deed]) -> None:
        place = postgres.url(f"tests_{worker_id}", f"any{os.getpid()}-{next(numbers)}")
        asyncio.run(init_database(place))
        asyncio.run(history(place, deeds))

    in_any_hands()


async def history(place: Path | str, deeds: list[Deed]) -> None:
    clock = _clock()
    async with await open_journal(place, clock=clock) as journal:
        await journal.create(created(), summary())
        world = World(journal, clock)
        # Most interesting is what happens to a run that is driven and has asked something.
        for what, n in [("claim", 0), ("open", 0), *deeds]:
            await world.do(what, n)
        events = await journal.read("r1")
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        answered = [event.incident_id for event in events if isinstance(event, ev.IncidentAnswered)]
        assert len(answered) == len(set(answered)) == world.answers
        if await state_of(journal) in RUN_TERMINAL:
            assert await journal.incidents() == []
        assert await journal.check() == []


def _clock() -> Clock:
    from tests.runtime.record.conftest import Clock

    return Clock()
