"""Makes the partition for the runs to come, before it is needed."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from runtime.record.journal import Journal, JournalError

log = logging.getLogger("runtime.partitions")

CHECK_S: Final = 60.0
"""How often, in seconds, it is looked whether one is needed. Where this is late, events go to a partition for all."""


class PartitionMaker:
    """A duty: `serve` runs until it is cancelled. All workers look; the store makes each partition once.

    Args:
        journal: Whose events are kept in partitions, or are not: then there is nothing to do.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    async def serve(self) -> None:
        while True:
            try:
                if made := await self._journal.make_partitions():
                    log.info("partitions made for the runs to come: %d", made)
            except JournalError as exc:
                log.warning("no partition can be made for the runs to come, again in %g s: %s", CHECK_S, exc)
            await asyncio.sleep(CHECK_S)
