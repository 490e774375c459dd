"""Live runs that wait for a person: what each keeps in memory, and what it does not."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter

from orbiter.ask import NeedsInput
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.incidents import IncidentDraft
from runtime.worker.drive import drive
from tests.runtime.bench import Bench


async def test_a_run_that_waits_keeps_two_tasks_and_nothing_of_the_failure(bench: Bench) -> None:
    config = ExecutionConfig(workspace=str(bench.root), grace_s=3_600.0)
    ids = [await bench.start("asker") for _ in range(5)]
    before = asyncio.all_tasks()
    drives = [asyncio.create_task(drive(bench.journal, run_id, "me", config)) for run_id in ids]
    for run_id in ids:
        await bench.incidents(run_id)
    await asyncio.sleep(0.1)  # what came last is written, and heard of
    own = Counter(task.get_name().partition(" ")[0] for task in asyncio.all_tasks() - before)
    assert own["run"] == len(ids)
    assert own.total() <= 2 * len(ids) + 1, "the drive, the run itself, and one renewal of leases for all"
    gc.collect()
    kept = [found for found in gc.get_objects() if type(found) in (IncidentDraft, NeedsInput)]
    assert kept == []
    for task in drives:
        task.cancel()
    await asyncio.gather(*drives, return_exceptions=True)
    assert asyncio.all_tasks() <= before | {asyncio.current_task()}
