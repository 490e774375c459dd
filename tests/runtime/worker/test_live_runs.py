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


def failures_kept() -> int:
    """How many drafts of incidents, and exceptions that ask a person, are in memory."""
    gc.collect()
    return sum(type(found) in (IncidentDraft, NeedsInput) for found in gc.get_objects())


async def test_a_run_that_waits_keeps_two_tasks_and_nothing_of_the_failure(bench: Bench) -> None:
    config = ExecutionConfig(workspace=str(bench.root), grace_s=3_600.0)
    ids = [await bench.start("asker") for _ in range(5)]
    before, kept_before = asyncio.all_tasks(), failures_kept()
    drives = [asyncio.create_task(drive(bench.journal, run_id, "me", config)) for run_id in ids]
    for run_id in ids:
        await bench.incidents(run_id)
    await asyncio.sleep(0.1)  # what came last is written, and heard of
    own = Counter(task.get_name().partition(" ")[0] for task in asyncio.all_tasks() - before)
    assert own["run"] == len(ids)
    assert own.total() <= 2 * len(ids) + 1, "the drive, the run itself, and one renewal of leases for all"
    assert failures_kept() == kept_before
    for task in drives:
        task.cancel()
    await asyncio.gather(*drives, return_exceptions=True)
    assert asyncio.all_tasks() <= before | {asyncio.current_task()}
