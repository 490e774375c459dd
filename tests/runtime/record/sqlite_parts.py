"""The parts of a SQLite journal, for tests that break the file, count its work, or look at what it keeps."""

from __future__ import annotations

from runtime.record.journal import Journal
from runtime.record.sqlite.journal import SqliteJournal
from runtime.record.sqlite.reader import Reader
from runtime.record.sqlite.writer import Writer


def reader_of(journal: Journal) -> Reader:
    assert isinstance(journal, SqliteJournal)
    return journal._reader


def writer_of(journal: Journal) -> Writer:
    assert isinstance(journal, SqliteJournal)
    return journal._write()
