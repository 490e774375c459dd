"""A claim on work that belongs to no run, held while the work is done: of all workers one does it.

A claim runs out by itself. Its holder looks into the journal, after taking it, whether the work was done before: so
it is done again only where its worker died between doing it and writing that down.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from runtime.record.journal import Journal, JournalError

log = logging.getLogger(__name__)

CLAIM_RETRY_S = 1.0
"""How often, in seconds, a claim is asked for that another worker holds."""


@asynccontextmanager
async def claimed_in_turn(journal: Journal, name: str, owner: str, ttl_s: float) -> AsyncIterator[None]:
    """As `claimed`, once it is free."""
    while True:
        async with claimed(journal, name, owner, ttl_s) as held:
            if held:
                yield
                return
        await asyncio.sleep(CLAIM_RETRY_S)


@asynccontextmanager
async def claimed(
    journal: Journal, name: str, owner: str, ttl_s: float, *, prolong: bool = False
) -> AsyncIterator[bool]:
    """Have a claim, if no other worker has it; it is given back at the end.

    Args:
        journal: Where claims stand.
        name: What the work is called.
        owner: The worker's id.
        ttl_s: After how many seconds another worker may do the work.
        prolong: Take the claim again every `ttl_s / 3`, for work without a bound of its own. `ttl_s` is then how long
            others wait for a worker that died. Without it the work is done within `ttl_s`.

    Yields:
        Whether the claim was had.
    """
    held = await journal.take_claim(name, owner, ttl_s)
    prolonging = asyncio.create_task(_prolong(journal, name, owner, ttl_s)) if held and prolong else None
    try:
        yield held
    finally:
        if prolonging is not None:
            prolonging.cancel()
            await asyncio.gather(prolonging, return_exceptions=True)
        if held:
            try:
                await journal.drop_claim(name, owner)
            except JournalError as exc:
                log.warning("the claim %r could not be released, and expires in %g s: %s", name, ttl_s, exc)


async def _prolong(journal: Journal, name: str, owner: str, ttl_s: float) -> None:
    while True:
        await asyncio.sleep(ttl_s / 3)
        with suppress(JournalError):  # it runs out then, and another worker may do the work as well
            await journal.take_claim(name, owner, ttl_s)
