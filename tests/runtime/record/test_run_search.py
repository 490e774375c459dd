"""The search of runs: titles, inputs, outputs and errors, with an index and without, and never by a secret."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from orbiter.redaction import redact
from runtime.record.found_run import FoundRun
from runtime.record.journal_care import JournalCare
from runtime.record.places import open_journal
from runtime.record.rules.search_texts import split_words
from runtime.record.sqlite.search_index import INDEX_FILE
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events
from tests.runtime.record.conftest import Clock, Store

KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"


async def add_run(journal: JournalCare, run_id: str, task: str, *, output: str = "", error: str = "") -> None:
    """A run that has ended."""
    created = ev.RunCreated(run_id=run_id, ref="trip.py:flow", title=task.partition("\n")[0], input=task)
    assert await journal.create(created, fold_events([created]).summary())
    lease = await journal.claim(run_id, "w", 60.0)
    assert lease is not None
    ended = ev.RunFinished(run_id=run_id, state="failed" if error else "completed", output=output, error=error)
    await journal.append(lease, [ev.RunStarted(epoch=lease.epoch), ended])
    await journal.release(lease)


async def found(journal: JournalCare, text: str) -> list[str]:
    return [each.run_id for each in await journal.search(split_words(text), redact)]


async def index_all(journal: JournalCare) -> None:
    while await journal.index_texts(redact):
        pass


@pytest.mark.parametrize("indexed", [False, True])
async def test_runs_are_found_by_input_output_and_error(journal: JournalCare, indexed: bool) -> None:
    await add_run(journal, "r1", "Plan three days in Basel\nwith a visit", output="Day 1: the Münster, 100 % free")
    await add_run(journal, "r2", "Plan Bern", error='ConnectError: "refused" at C:\\tmp')
    await add_run(journal, "r3", "plan the digest", output="x" * 100_000 + " the end")
    if indexed:
        await index_all(journal)
    assert await found(journal, "plan") == ["r3", "r2", "r1"], "the newest first"
    assert await found(journal, "PLAN days basel") == ["r1"], "all words, in any texts of the run"
    assert await found(journal, "visit münster") == ["r1"]
    assert await found(journal, '"refused"') == ["r2"]
    assert await found(journal, "C:\\tmp") == ["r2"]
    assert await found(journal, "100 %") == ["r1"]
    assert await found(journal, "%") == ["r1"]
    assert await found(journal, "asel") == ["r1"], "within words, too"
    assert await found(journal, "xyzzy") == []
    assert await found(journal, "") == []
    assert await journal.search(("refused",), redact) == [
        FoundRun("r2", "error", 'ConnectError: "refused" at C:\\tmp'),
    ]
    await add_run(journal, "r4", "Plan a day in Basel")
    assert await found(journal, "basel") == ["r4", "r1"], "what the index does not have yet is looked through"
    assert [each.run_id for each in await journal.search(("plan",), redact, 2)] == ["r4", "r3"]


@pytest.mark.parametrize("indexed", [False, True])
async def test_no_secret_can_be_searched_for(journal: JournalCare, indexed: bool) -> None:
    await add_run(journal, "r1", f"Use {KEY} for Basel", output=f"used {KEY}")
    if indexed:
        await index_all(journal)
    assert await found(journal, "basel") == ["r1"]
    assert await found(journal, KEY) == []
    assert await found(journal, KEY[:16]) == []
    (one,) = await journal.search(("used",), redact)
    assert KEY not in one.excerpt


async def test_no_secret_is_in_the_file_of_the_index(tmp_path: Path) -> None:
    async with await open_journal(tmp_path) as journal:
        await add_run(journal, "r1", f"Use {KEY}")
        await index_all(journal)
    stored = (tmp_path / INDEX_FILE).read_bytes()
    assert b"Use" in stored
    assert KEY.encode() not in stored
    assert (tmp_path / INDEX_FILE).stat().st_mode & 0o077 == 0


async def test_what_is_pruned_is_forgotten_by_the_index(tmp_path: Path, clock: Clock) -> None:
    async with await open_journal(tmp_path, clock=clock) as journal:
        await add_run(journal, "r1", "a quetzal in the garden")
        await index_all(journal)
        clock.now = ev.utc_now() + timedelta(days=3)
        assert await journal.prune(older_than=timedelta(days=1)) == ["r1"]
        await add_run(journal, "r2", "a kestrel")
        assert await found(journal, "quetzal") == []
        assert await found(journal, "kestrel") == ["r2"]
        await index_all(journal)
    stored = (tmp_path / INDEX_FILE).read_bytes()
    assert b"quetzal" not in stored
    assert b"uet" not in stored, "the tree of trigrams is merged"


async def test_a_journal_that_cannot_be_written_is_searched(tmp_path: Path) -> None:
    async with await open_journal(tmp_path) as journal:
        await add_run(journal, "r1", "Plan Basel")
        await index_all(journal)
        await add_run(journal, "r2", "Plan Bern")
    for damage in ("", "no database", None):
        if damage is None:
            (tmp_path / INDEX_FILE).unlink()
        elif damage:
            (tmp_path / INDEX_FILE).write_text(damage * 1000)
        async with await open_journal(tmp_path, readonly=True) as reader:
            assert await found(reader, "plan") == ["r2", "r1"]


async def test_a_damaged_index_is_made_again(tmp_path: Path) -> None:
    async with await open_journal(tmp_path) as journal:
        await add_run(journal, "r1", "Plan Basel")
        (tmp_path / INDEX_FILE).write_text("no database" * 1000)
        await journal.index_texts(redact)
        await index_all(journal)
        assert await found(journal, "basel") == ["r1"]
    with closing(sqlite3.connect(tmp_path / INDEX_FILE)) as connection:
        assert connection.execute("SELECT count(*) FROM piece").fetchone()[0] > 0


async def test_an_index_of_another_journal_is_not_used(tmp_path: Path) -> None:
    for name, task in (("a", "Plan Basel"), ("b", "Plan Bern")):
        async with await open_journal(tmp_path / name) as journal:
            await add_run(journal, f"r-{name}", task)
            await index_all(journal)
    (tmp_path / "a" / INDEX_FILE).replace(tmp_path / "b" / INDEX_FILE)
    async with await open_journal(tmp_path / "b") as journal:
        assert await found(journal, "bern") == ["r-b"]
        assert await found(journal, "basel") == []
        await index_all(journal)
        assert await found(journal, "plan") == ["r-b"]


async def test_several_clients_of_one_store_find_the_same(store: Store) -> None:
    first, second = await store.open(), await store.open()
    try:
        await add_run(first, "r1", "Plan Basel")
        await index_all(second)
        await add_run(second, "r2", "Plan Basel again")
        assert await found(first, "basel") == await found(second, "basel") == ["r2", "r1"]
    finally:
        await first.close()
        await second.close()
