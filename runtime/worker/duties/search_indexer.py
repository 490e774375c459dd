"""Fills the search index of the workspace, in the background: first with what older programs left, then as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from runtime.execution.secret_vault import make_redactor
from runtime.record.journal import Journal
from runtime.record.rules.search_texts import SEARCHED_EVENTS

PAUSE_S: Final = 0.05
"""Between two pieces of what is to be taken in: the runs come first."""
SETTLE_S: Final = 0.5
"""How long, in seconds, what comes is collected before it is taken in."""


class SearchIndexer:
    """A duty: `serve` runs until it is cancelled.

    Args:
        journal: Whose runs are searched.
        patterns: The operator's own patterns of secrets: no secret comes into the index.
    """

    def __init__(self, journal: Journal, patterns: Sequence[str] = ()) -> None:
        self._journal = journal
        self._patterns = patterns

    async def serve(self) -> None:
        after = await self._journal.position()
        await self._take_in()
        async for _ in self._journal.tail(None, after, kinds=SEARCHED_EVENTS):
            await asyncio.sleep(SETTLE_S)
            await self._take_in()

    async def _take_in(self) -> None:
        more = True
        while more:
            more = await self._journal.index_texts(make_redactor(self._patterns).text)
            if more:
                await asyncio.sleep(PAUSE_S)
