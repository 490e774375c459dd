"""Searching the texts of 10,000 runs: with the index, without it, and how long the index takes to catch up."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import Ratio
from orbiter.redaction import redact
from runtime.record.journal_care import JournalCare
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events

RUNS = 10_000
TEXT = "Compare the rail fares of four cities, with a table of what each costs on a working day. " * 8
SEARCHES = 10


def run() -> list[Ratio]:
    """A search of one word that 100 runs have."""
    return asyncio.run(_run())


async def _run() -> list[Ratio]:
    with tempfile.TemporaryDirectory() as directory:
        async with await open_journal(Path(directory)) as journal:
            await asyncio.gather(*(_create(journal, number) for number in range(RUNS)))
            scanned = await _seconds(journal, ("marker-7",), searches=1)
            began = time.perf_counter()
            while await journal.index_texts(redact):
                pass
            filled = time.perf_counter() - began
            rare = await _seconds(journal, ("marker-7",))
            common = await _seconds(journal, ("rail", "fares"))
    note = f"{rare * 1000:.0f} ms of {scanned * 1000:.0f}"
    return [
        Ratio(f"a search of {RUNS:,} runs: with the index / without", rare / scanned, 0.2, note),
        Ratio("a search for what all of them have / for what 100 have", common / rare, None, f"{common * 1000:.0f} ms"),
        Ratio("filling the index / a search without it", filled / scanned, None, f"{filled:.1f} s"),
    ]


async def _create(journal: JournalCare, number: int) -> None:
    created = ev.RunCreated(
        run_id=f"run-{number:05}", ref="trip.py:flow", title=f"Trip {number}", input=f"{TEXT} marker-{number % 100}."
    )
    await journal.create(created, fold_events([created]).summary())


async def _seconds(journal: JournalCare, words: Sequence[str], searches: int = SEARCHES) -> float:
    began = time.perf_counter()
    for _ in range(searches):
        await journal.search(words, redact)
    return (time.perf_counter() - began) / searches
