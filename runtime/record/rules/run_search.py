"""The search of runs: an index for what is in it, and the events themselves for what came later.

The index is a cache beside the journal, filled in the order of the journal's positions. A journal without one, or whose
index cannot be read, is searched event by event.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from runtime.record.found_run import FoundRun
from runtime.record.journal import Unrecordable
from runtime.record.rules.search_texts import Mask, SearchText, excerpt, has_word, search_texts
from runtime.record.rules.stored_reader import StoredEvent, StoredReader, decoded_event
from runtime.record.state import events as ev

SCAN_ROWS = 1_000
"""Events that are read at once."""


INDEX_ROWS = 100
"""Events that are taken into the index at once: masking their texts takes the interpreter from the runs."""


class IndexedTo(NamedTuple):
    """Up to where the index goes: a position, and which event stands there, by which another journal is noticed."""

    pos: int = 0
    run: str = ""
    seq: int = 0


class SearchIndex(ABC):
    """Texts by words. Its methods block."""

    @abstractmethod
    def reached(self) -> IndexedTo:
        """Up to where it goes; the beginning, where there is none or it cannot be read."""

    @abstractmethod
    def find(self, words: Sequence[str]) -> Mapping[str, Collection[str]] | None:
        """For each word the ids of the runs that have it in a text; None where the index cannot be read."""

    @abstractmethod
    def first_texts(self, run_ids: Sequence[str], words: Sequence[str]) -> Mapping[str, SearchText]:
        """For each of these runs a text in which one of the words stands."""

    @abstractmethod
    def add(self, texts: Sequence[SearchText], reached: IndexedTo) -> bool:
        """Take in texts; whether that was possible."""

    @abstractmethod
    def forget(self, keep: Collection[str]) -> None:
        """Forget every run but these."""

    @abstractmethod
    def clear(self) -> None:
        """Begin again."""


class RunSearch:
    """Searches the runs of one journal."""

    def __init__(self, reader: StoredReader, index: SearchIndex | None = None) -> None:
        self._reader = reader
        self._index = index
        self._checked = False

    async def find(self, words: Sequence[str], mask: Mask, limit: int) -> list[FoundRun]:
        """The runs that have all of the words, the newest first; each with a text that has one."""
        if not words:
            return []
        index = self._index
        after = 0
        hits: dict[str, set[str]] = {word: set() for word in words}
        if index is not None:
            reached = await asyncio.to_thread(index.reached)
            found = await asyncio.to_thread(index.find, words) if await self._is_ours(reached) else None
            for word, ids in (found or {}).items():
                hits[word].update(ids)
            after = reached.pos if found is not None else 0
        texts = await self._scan(words, mask, after, hits)
        common = set.intersection(*hits.values())
        newest = [run_id for run_id in reversed(await self._reader.run_ids()) if run_id in common][:limit]
        missing = [run_id for run_id in newest if run_id not in texts]
        if index is not None and missing:
            texts = {**await asyncio.to_thread(index.first_texts, missing, words), **texts}
        return [_found(run_id, texts.get(run_id), words) for run_id in newest]

    async def advance(self, mask: Mask) -> bool:
        """Take the next events into the index; whether there are more. False where there is no index to write."""
        index = self._index
        if index is None:
            return False
        reached = await asyncio.to_thread(index.reached)
        if not await self._is_ours(reached):
            await asyncio.to_thread(index.clear)
            reached = IndexedTo()
        if not self._checked:
            await self.forget_pruned()
            self._checked = True
        rows = await self._reader.searched_rows(reached.pos, INDEX_ROWS, "")
        if not rows:
            return False
        events = await self._decoded(rows)
        last = rows[-1]
        texts = await asyncio.to_thread(_texts_of, events, mask)
        added = await asyncio.to_thread(index.add, texts, IndexedTo(last.pos, last.run, last.seq))
        return added and len(rows) == INDEX_ROWS

    async def forget_pruned(self) -> None:
        """Let the index forget the runs that the journal has forgotten."""
        if self._index is not None:
            await asyncio.to_thread(self._index.forget, set(await self._reader.run_ids()))

    async def _is_ours(self, reached: IndexedTo) -> bool:
        """Whether the event up to which the index goes stands there. One that was pruned cannot say."""
        if not reached.pos:
            return True
        if reached.pos > await self._reader.position():
            return False
        found = await self._reader.event_rows(None, reached.pos - 1, 1)
        if not found or found[0].pos != reached.pos:
            return True
        return (found[0].run, found[0].seq) == (reached.run, reached.seq)

    async def _scan(
        self, words: Sequence[str], mask: Mask, after: int, hits: dict[str, set[str]]
    ) -> dict[str, SearchText]:
        """Look through the events that are not in the index; a text of each run in which a word stands."""
        texts: dict[str, SearchText] = {}
        for word in words:
            at = after
            while rows := await self._reader.searched_rows(at, SCAN_ROWS, word):
                at = rows[-1].pos
                for each in await asyncio.to_thread(_texts_of, await self._decoded(rows), mask):
                    if has_word(each.text, word):
                        hits[word].add(each.run_id)
                        texts.setdefault(each.run_id, each)
        return texts

    async def _decoded(self, rows: Sequence[StoredEvent]) -> list[ev.JournalEvent]:
        values = await self._reader.values_of(rows)
        found: list[ev.JournalEvent] = []
        for row in rows:
            try:
                found.append(decoded_event(row, values))
            except Unrecordable:  # `doctor` names it; the others are searched all the same
                continue
        return found


def _texts_of(events: Iterable[ev.JournalEvent], mask: Mask) -> list[SearchText]:
    return [text for event in events for text in search_texts(event, mask)]


def _found(run_id: str, text: SearchText | None, words: Sequence[str]) -> FoundRun:
    if text is None:
        return FoundRun(run_id)
    return FoundRun(run_id, text.kind, excerpt(text.text, words))
