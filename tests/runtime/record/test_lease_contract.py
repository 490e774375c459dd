"""What the journal port promises of leases, of any journal: who may claim a run, and who writes no more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from runtime.record.journal import AnswerAccepted, Fenced, Journal, Lease, StaleSequence
from runtime.record.state import events as ev
from tests.runtime.record.journal_samples import (
    answer,
    created,
    opened,
    started,
    summary,
    texts,
    warned,
)

if TYPE_CHECKING:
    from tests.runtime.record.conftest import Clock


async def test_one_fenced_append_fails_alone(journal: Journal, clock: Clock) -> None:
    stale = await started(journal, "r1")
    clock.jump(60)
    taken = await journal.claim("r1", "other", 10)
    assert taken is not None
    assert taken.epoch == stale.epoch + 1
    healthy = [await started(journal, f"r{n}") for n in range(2, 6)]
    results = await asyncio.gather(
        *(journal.append(lease, [warned()]) for lease in healthy[:2]),
        journal.append(stale, [warned("from the grave")]),
        journal.append(taken, [warned("alive")]),
        *(journal.append(lease, [warned()]) for lease in healthy[2:]),
        return_exceptions=True,
    )
    assert [isinstance(result, Fenced) for result in results] == [False, False, True, False, False, False]
    assert texts(await journal.read("r1")) == ["alive"]
    with pytest.raises(Fenced, match="other holds epoch 2"):
        await journal.renew(stale)
    await journal.release(stale)  # quiet
    await journal.renew(taken)


async def test_a_lease_given_back_writes_no_more(journal: Journal) -> None:
    lease = await started(journal)
    await journal.release(lease)
    with pytest.raises(Fenced, match="given back"):
        await journal.append(lease, [warned()])


async def test_last_events_give_the_lease_back(journal: Journal) -> None:
    parked, finished = await started(journal), await started(journal, "r2")
    await journal.append(parked, [warned(), ev.RunParked(reason="stop")], release=True)
    await journal.append(finished, [ev.RunFinished(state="completed")], release=True)
    for lease in (parked, finished):
        with pytest.raises(Fenced, match="given back"):
            await journal.append(lease, [warned("later")])
    assert texts(await journal.read("r1")) == ["mind"]
    taken = await journal.claim("r1", "other", 10)
    assert taken is not None
    assert taken.epoch == parked.epoch + 1
    assert await journal.claim("r2", "other", 10) is None, "it has ended"


async def test_last_events_that_are_refused_leave_the_lease(journal: Journal) -> None:
    lease = await started(journal)
    before = (await journal.read("r1"))[-1].seq
    await journal.post("r1", ev.AbortRequested())
    with pytest.raises(StaleSequence):
        await journal.append(lease, [ev.RunFinished(state="completed")], seen=before, release=True)
    assert await journal.claim("r1", "other", 10) is None
    await journal.append(lease, [warned("heard")])
    assert texts(await journal.read("r1")) == ["heard"]


async def test_an_old_lease_of_the_same_owner_is_over_too(journal: Journal) -> None:
    old = await started(journal, owner="me")
    await journal.release(old)
    new = await journal.claim("r1", "me", 10)
    assert new is not None
    with pytest.raises(Fenced):
        await journal.append(old, [warned("old")])
    with pytest.raises(Fenced):
        await journal.renew(old)
    await journal.release(old)  # must not give back what is not its own
    await journal.append(new, [warned("new")])
    assert texts(await journal.read("r1")) == ["new"]


async def test_leases_of_the_dead_run_out_at_once_and_no_others(journal: Journal) -> None:
    dead = await started(journal, owner="here:1:a#1")
    alive = await started(journal, "r2", owner="here:2:b#1")
    given_back = await started(journal, "r3", owner="here:1:a#2")
    await journal.release(given_back)
    assert await journal.expire_leases(lambda owner: owner.startswith("here:1:")) == ["r1"]
    assert await journal.claim("r2", "other", 10) is None
    await journal.renew(dead)  # no other took it: the holder that was taken for dead goes on
    assert await journal.claim("r1", "other", 10) is None
    assert await journal.expire_leases(lambda owner: owner.startswith("here:1:")) == ["r1"]
    taken = await journal.claim("r1", "other", 10)
    assert taken is not None
    assert taken.epoch == dead.epoch + 1
    with pytest.raises(Fenced):
        await journal.append(dead, [warned("from the grave")])
    assert await journal.expire_leases(lambda owner: owner.startswith("here:1:")) == []
    await journal.append(alive, [warned()])
    await journal.append(taken, [warned()])


Situation = Callable[[Journal, Lease, "Clock"], Any]


async def _nothing(journal: Journal, lease: Lease, clock: Clock) -> None:
    pass


async def _expired(journal: Journal, lease: Lease, clock: Clock) -> None:
    clock.jump(11)


async def _nearly_expired(journal: Journal, lease: Lease, clock: Clock) -> None:
    clock.jump(9)


async def _renewed(journal: Journal, lease: Lease, clock: Clock) -> None:
    clock.jump(11)
    await journal.renew(lease)


async def _clock_set_back(journal: Journal, lease: Lease, clock: Clock) -> None:
    clock.jump(-86_400)


async def _clock_corrected(journal: Journal, lease: Lease, clock: Clock) -> None:
    clock.jump(-2)


async def _released(journal: Journal, lease: Lease, clock: Clock) -> None:
    await journal.release(lease)


async def _parked(journal: Journal, lease: Lease, clock: Clock) -> None:
    await journal.append(lease, [opened(), ev.RunParked(reason="waiting")])
    await journal.release(lease)


async def _parked_and_held(journal: Journal, lease: Lease, clock: Clock) -> None:
    await journal.append(lease, [ev.RunParked(reason="waiting")])


async def _parked_until(journal: Journal, lease: Lease, clock: Clock) -> None:
    until = clock.now + timedelta(seconds=30)
    await journal.append(lease, [ev.RunParked(reason="waiting", wake_at=until)])
    await journal.release(lease)


async def _overslept(journal: Journal, lease: Lease, clock: Clock) -> None:
    await _parked_until(journal, lease, clock)
    clock.jump(31)


async def _answered(journal: Journal, lease: Lease, clock: Clock) -> None:
    await _parked(journal, lease, clock)
    assert isinstance(await journal.answer(answer()), AnswerAccepted)


async def _abort_wanted(journal: Journal, lease: Lease, clock: Clock) -> None:
    await _parked(journal, lease, clock)
    await journal.post("r1", ev.AbortRequested())


async def _stopped(journal: Journal, lease: Lease, clock: Clock) -> None:
    await journal.append(lease, [ev.RunParked(reason="stop")])
    await journal.release(lease)


async def _finished(journal: Journal, lease: Lease, clock: Clock) -> None:
    await journal.append(lease, [ev.RunFinished(state="completed")])
    await journal.release(lease)


@pytest.mark.parametrize(
    ("situation", "free"),
    [
        (_nothing, False),
        (_nearly_expired, False),
        (_expired, True),
        (_renewed, False),
        (_clock_set_back, True),
        (_clock_corrected, False),
        (_released, True),
        (_parked, False),
        (_parked_and_held, False),
        (_parked_until, False),
        (_overslept, True),
        (_answered, True),
        (_abort_wanted, True),
        (_stopped, True),
        (_finished, False),
    ],
)
async def test_who_may_claim(journal: Journal, clock: Clock, situation: Situation, free: bool) -> None:
    lease = await started(journal)
    await situation(journal, lease, clock)
    assert await journal.runnable() == (["r1"] if free else [])
    claimed = await journal.claim("r1", "other", 10)
    assert (claimed is not None) == free
    if claimed is not None:
        assert claimed.epoch == lease.epoch + 1
        assert await journal.claim("r1", "third", 10) is None
        assert claimed.seq == len(await journal.read("r1"))


async def test_a_process_does_not_reclaim_what_it_drives_itself(journal: Journal, clock: Clock) -> None:
    lease = await started(journal, owner="me")
    clock.jump(3600)  # a suspended laptop
    assert await journal.runnable() == ["r1"]
    assert await journal.claim("r1", "me", 10) is None
    await journal.renew(lease)
    await journal.append(lease, [warned()])
    assert await journal.claim("r1", "other", 10) is None


async def test_of_many_claims_one_is_given(journal: Journal) -> None:
    await journal.create(created(), summary())
    leases = await asyncio.gather(*(journal.claim("r1", f"w{n}", 10) for n in range(20)))
    assert sum(lease is not None for lease in leases) == 1
    assert await journal.claim("nobody", "me", 10) is None
    assert await journal.claim(ev.WORKSPACE_RUN_ID, "me", 10) is None


async def test_runnable_is_limited(journal: Journal, clock: Clock) -> None:
    for number in range(5):
        await journal.create(created(f"r{number}"), summary(f"r{number}"))
    assert len(await journal.runnable(3)) == 3


async def test_the_next_instant_that_a_run_waits_for(journal: Journal) -> None:
    assert await journal.next_wake() is None
    wakes = [ev.utc_now() + timedelta(seconds=seconds) for seconds in (300, 60, 600)]
    for number, wake_at in enumerate((*wakes, None)):
        lease = await started(journal, f"r{number}")
        await journal.append(lease, [ev.RunParked(reason="waiting", wake_at=wake_at)])
        await journal.release(lease)
    found = await journal.next_wake()
    assert found is not None
    assert abs(found - wakes[1]) < timedelta(milliseconds=1)
    assert await journal.claim("r1", "me", 10.0) is None  # it is not due, and stands


async def test_the_next_instant_at_which_a_run_may_be_taken_over(journal: Journal, clock: Clock) -> None:
    await started(journal, "r1", ttl_s=30.0)
    await started(journal, "r2", ttl_s=20.0)
    ends = clock() + timedelta(seconds=20)
    assert await journal.next_wake() == ends
    clock.jump(20.5)
    assert await journal.next_wake() == ends, "a look just before it would have missed it"
    clock.jump(2)
    assert await journal.next_wake() == ends + timedelta(seconds=10)
