"""Leases of the runs that one process drives: renewed together, each one's loss told to its own drive."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from runtime.record.journal import Journal, Lease
from runtime.record.rules.stored_journal import StoredJournal
from runtime.worker.lease_renewal import keep_renewed, let_go
from tests.present import present
from tests.runtime.record.journal_samples import started

if TYPE_CHECKING:
    from tests.runtime.record.conftest import Clock

TTL_S = 0.3


def _tasks() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name() == "lease renewal"]


def _commits(journal: Journal) -> int:
    assert isinstance(journal, StoredJournal)
    return journal.commits


async def test_leases_are_kept_by_one_task_in_common_transactions(journal: Journal, clock: Clock) -> None:
    leases = [await started(journal, f"r{number}", ttl_s=TTL_S) for number in range(20)]
    for lease in leases:
        keep_renewed(journal, lease, lambda why: None)
    assert len(_tasks()) == 1
    before = _commits(journal)
    clock.jump(TTL_S / 2)
    while _commits(journal) == before:  # noqa: ASYNC110 - no event tells of it
        await asyncio.sleep(0.01)
    clock.jump(TTL_S * 0.9)
    assert [await journal.claim(lease.run_id, "other", TTL_S) for lease in leases] == [None] * 20
    for lease in leases:
        let_go(journal, lease)
    await asyncio.sleep(0)
    assert _tasks() == []
    renewals = _commits(journal) - before - len(leases)  # a claim is a transaction, too
    assert renewals < len(leases)


async def test_a_lease_that_another_took_is_told_to_its_drive_alone(journal: Journal, clock: Clock) -> None:
    stale, kept = [await started(journal, run_id, ttl_s=TTL_S) for run_id in ("stale", "kept")]
    clock.jump(10 * TTL_S)
    present(await journal.claim("stale", "other", 60.0))
    told: asyncio.Queue[tuple[Lease, str]] = asyncio.Queue()
    for lease in (stale, kept):
        keep_renewed(journal, lease, lambda why, lease=lease: told.put_nowait((lease, why)))  # type: ignore[misc]
    assert [await told.get(), await told.get()] == [(stale, "fenced")] * 2, "with each renewal, while it is held"
    let_go(journal, stale)
    let_go(journal, stale)  # quiet
    assert len(_tasks()) == 1
    let_go(journal, kept)
    await journal.renew(kept)


async def test_a_journal_that_is_closed_is_told_to_every_drive(journal: Journal) -> None:
    leases = [await started(journal, run_id, ttl_s=TTL_S) for run_id in ("one", "other")]
    told: asyncio.Queue[str] = asyncio.Queue()
    for lease in leases:
        keep_renewed(journal, lease, told.put_nowait)
    await journal.close()
    assert [await told.get(), await told.get()] == ["broken", "broken"]
    for lease in leases:
        let_go(journal, lease)
