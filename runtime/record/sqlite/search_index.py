"""The search index of a SQLite journal: a file of its own beside it, with SQLite's full-text search (FTS5).

A file of its own, since it is a cache: it can be taken away at any time, a program without FTS5 still opens the
journal, and a journal that cannot be written stays as it is. Texts come without secrets
(`runtime.record.rules.run_search`). Words are found within others, as a filter of the console does: the tokens are
trigrams.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

from runtime.record.rules.run_search import IndexedTo, SearchIndex
from runtime.record.rules.search_texts import SearchText, like_pattern

log = logging.getLogger(__name__)

INDEX_FILE: Final = "search.db"
_VERSION: Final = 1
_BUSY_S: Final = 5.0
_TRIGRAM: Final = 3
"""Shorter words are looked for in every text."""
_TABLES: Final = """
    CREATE TABLE reached (pos INTEGER NOT NULL, run TEXT NOT NULL, seq INTEGER NOT NULL);
    INSERT INTO reached VALUES (0, '', 0);
    CREATE TABLE piece (id INTEGER PRIMARY KEY, run TEXT NOT NULL, kind TEXT NOT NULL);
    CREATE INDEX piece_by_run ON piece (run);
    CREATE VIRTUAL TABLE search USING fts5 (text, tokenize = 'trigram');
"""
_MATCHING: Final = "SELECT DISTINCT piece.run FROM search JOIN piece ON piece.id = search.rowid WHERE search MATCH ?"
_CONTAINING: Final = (
    "SELECT DISTINCT piece.run FROM search JOIN piece ON piece.id = search.rowid WHERE search.text LIKE ? ESCAPE '\\'"
)
_TEXTS: Final = "SELECT piece.kind, search.text FROM piece JOIN search ON search.rowid = piece.id WHERE piece.run = ?"


class FtsIndex(SearchIndex):
    """The index in a file. Each call opens it and closes it again: processes come and go."""

    def __init__(self, journal: Path) -> None:
        self._path = journal.with_name(INDEX_FILE)
        self._told = False

    def reached(self) -> IndexedTo:
        try:
            with self._open() as connection:
                return IndexedTo(*connection.execute("SELECT pos, run, seq FROM reached").fetchone())
        except (sqlite3.Error, OSError, TypeError):  # none yet, damaged, or not readable: as if it were empty
            return IndexedTo()

    def find(self, words: Sequence[str]) -> Mapping[str, Collection[str]] | None:
        try:
            with self._open() as connection:
                return {word: {row[0] for row in connection.execute(*_query(word))} for word in words}
        except (sqlite3.Error, OSError):
            return None

    def first_texts(self, run_ids: Sequence[str], words: Sequence[str]) -> Mapping[str, SearchText]:
        found: dict[str, SearchText] = {}
        with suppress(sqlite3.Error, OSError), self._open() as connection:
            for run_id in run_ids:
                for kind, text in connection.execute(_TEXTS, (run_id,)):
                    folded = text.lower()
                    if any(word in folded for word in words):
                        found[run_id] = SearchText(run_id, kind, text)
                        break
        return found

    def add(self, texts: Sequence[SearchText], reached: IndexedTo) -> bool:
        try:
            with self._writing() as connection:
                for each in texts:
                    row = connection.execute("INSERT INTO piece (run, kind) VALUES (?, ?)", (each.run_id, each.kind))
                    text = each.text.encode("utf-8", "replace").decode()
                    connection.execute("INSERT INTO search (rowid, text) VALUES (?, ?)", (row.lastrowid, text))
                connection.execute("UPDATE reached SET pos = ?, run = ?, seq = ?", reached)
        except (sqlite3.Error, OSError) as exc:
            self._tell(exc)
            if isinstance(exc, sqlite3.DatabaseError) and not isinstance(exc, sqlite3.OperationalError):
                self.clear()  # damaged: it is made again
            return False
        return True

    def forget(self, keep: Collection[str]) -> None:
        if not self._path.exists():
            return
        try:
            with self._writing() as connection:
                known = {row[0] for row in connection.execute("SELECT DISTINCT run FROM piece")}
                gone = [(run_id,) for run_id in known.difference(keep)]
                if not gone:
                    return
                forget = "DELETE FROM search WHERE rowid IN (SELECT id FROM piece WHERE run = ?)"
                connection.executemany(forget, gone)
                connection.executemany("DELETE FROM piece WHERE run = ?", gone)
                # Words of deleted texts stay in the tree of the index until it is merged.
                connection.execute("INSERT INTO search (search) VALUES ('optimize')")
        except (sqlite3.Error, OSError) as exc:
            self._tell(exc)
            self.clear()  # rather none than one that remembers

    def clear(self) -> None:
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    @contextmanager
    def _open(self, mode: str = "ro") -> Iterator[sqlite3.Connection]:
        uri = f"{self._path.as_uri()}?mode={mode}"
        with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_S, isolation_level=None)) as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction. The file is made for its owner's eyes only; one of another version is made again."""
        with suppress(FileExistsError):
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        with self._open("rw") as connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("BEGIN IMMEDIATE")
            if (version := connection.execute("PRAGMA user_version").fetchone()[0]) != _VERSION:
                if version:
                    raise sqlite3.DatabaseError(f"{self._path} is of version {version}")
                for statement in filter(str.strip, _TABLES.split(";")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {_VERSION}")
            yield connection
            connection.execute("COMMIT")

    def _tell(self, exc: Exception) -> None:
        if not self._told:
            log.warning("runs are searched without an index, which is slower: %s: %s", self._path, exc)
        self._told = True


def _query(word: str) -> tuple[str, tuple[str]]:
    if len(word) >= _TRIGRAM:
        return _MATCHING, ('"' + word.replace('"', '""') + '"',)
    return _CONTAINING, (like_pattern(word),)
