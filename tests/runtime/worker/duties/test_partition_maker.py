"""The duty that makes partitions: ahead of the runs, and on when it failed once."""

from __future__ import annotations

import asyncio
import logging

import pytest

from runtime.record.journal import Unwritable
from runtime.record.places import init_database, open_journal
from runtime.worker.duties import partition_maker
from runtime.worker.duties.partition_maker import PartitionMaker
from tests.patience import PATIENCE_S
from tests.runtime.record.journal_samples import created, summary


async def test_partitions_are_made_while_it_serves(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(partition_maker, "CHECK_S", 0.01)
    caplog.set_level(logging.INFO, "runtime.partitions")
    await init_database(postgres_url, partition_runs=1)
    async with await open_journal(postgres_url) as journal:
        make = journal.make_partitions
        made: asyncio.Queue[int] = asyncio.Queue()
        failed = False

        async def once_refused() -> int:
            nonlocal failed
            if not failed:
                failed = True
                raise Unwritable("somebody reads all events")
            count = await make()
            if count:
                made.put_nowait(count)
            return count

        monkeypatch.setattr(journal, "make_partitions", once_refused)
        serving = asyncio.create_task(PartitionMaker(journal).serve())
        try:
            async with asyncio.timeout(PATIENCE_S):
                for number in range(3):
                    await journal.create(created(f"r{number}"), summary(f"r{number}"))
                    assert await made.get() == 1
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
        assert await journal.check() == []
    assert "no partition can be made for the runs to come, again in 0.01 s: somebody reads all events" in caplog.text
    assert caplog.text.count("partitions made for the runs to come: 1") == 3
