"""The event writer where the journal fails in a way that no journal should."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

from runtime.execution.event_writer import EventWriter
from runtime.record.journal import JournalError, Unrecordable
from runtime.record.sqlite.journal import SqliteJournal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.summary import Summary
from tests.runtime.record.journal_samples import started


def refuse(exc: JournalError) -> NoReturn:
    raise exc


async def test_an_append_that_cannot_begin_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Awaitable[Sequence[ev.JournalEvent]]:
        raise MemoryError

    async with await SqliteJournal.open(tmp_path / "journal.db") as journal:
        writer = EventWriter(journal, await started(journal), DurableRun("r1"), refuse)
        with monkeypatch.context() as patch:
            patch.setattr(journal, "append", broken)
            with pytest.raises(MemoryError):
                await writer.record(ev.Warned(text="mind"))
        await writer.wait_for_writes()


async def test_a_summary_that_json_cannot_say_is_refused_as_an_event_is(tmp_path: Path) -> None:
    async with await SqliteJournal.open(tmp_path / "journal.db") as journal:
        lease, told = await started(journal), list[object]()
        wrong = Summary(id="r1", title=object())  # type: ignore[arg-type]
        with pytest.raises(Unrecordable, match="the summary of run r1 cannot be written as JSON"):
            await journal.append(lease, [ev.Warned(text="mind")], summary=wrong, ended=told.append)
        assert [type(each) for each in told] == [Unrecordable]
