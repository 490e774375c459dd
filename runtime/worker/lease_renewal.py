"""Renews the leases of the runs that are driven here: those of one journal together, with one timer, in one
transaction.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Literal

from runtime.record.journal import Fenced, Journal, JournalError, Lease, Unwritable

log = logging.getLogger("runtime.drive")

OnLost = Callable[[Literal["fenced", "broken"]], object]
"""Gets why a lease cannot be renewed. It is told again with each renewal, as long as the lease is held."""
RENEWALS = 3
"""So many fit into the length of a lease."""

_held: dict[tuple[Journal, float], LeaseRenewal] = {}
"""By journal, and by the length of the leases."""


def keep_renewed(journal: Journal, lease: Lease, on_lost: OnLost) -> None:
    """Renew a lease from now on."""
    key = (journal, lease.ttl_s)
    if (renewal := _held.get(key)) is None:
        renewal = _held[key] = LeaseRenewal(*key)
    renewal.leases[lease] = on_lost


def let_go(journal: Journal, lease: Lease) -> None:
    """Renew a lease no more. Does nothing for one that is not renewed."""
    key = (journal, lease.ttl_s)
    renewal = _held.get(key)
    if renewal is None or lease not in renewal.leases:
        return
    del renewal.leases[lease]
    if not renewal.leases:
        renewal.task.cancel()
        del _held[key]


class LeaseRenewal:
    """Renews the leases of one length, until its task is cancelled."""

    def __init__(self, journal: Journal, ttl_s: float) -> None:
        self.leases: dict[Lease, OnLost] = {}
        self._journal = journal
        self._ttl_s = ttl_s
        # In an empty context: with that of the first run it would keep that run in memory.
        self.task = asyncio.get_running_loop().create_task(self._serve(), name="lease renewal", context=Context())

    async def _serve(self) -> None:
        while True:
            await asyncio.sleep(self._ttl_s / RENEWALS)
            held = [*self.leases.items()]
            # Without a task for each: a thousand of them take megabytes that are not given back.
            ends = await asyncio.gather(*(self._renew(lease) for lease, _ in held), return_exceptions=True)
            for (lease, on_lost), end in zip(held, ends, strict=True):
                if end is not None and lease in self.leases:
                    _tell(lease, on_lost, end)

    def _renew(self, lease: Lease) -> Awaitable[None]:
        try:
            return self._journal.renew(lease)
        except JournalError as exc:  # the journal was closed
            failed = asyncio.get_running_loop().create_future()
            failed.set_exception(exc)
            return failed


def _tell(lease: Lease, on_lost: OnLost, error: BaseException) -> None:
    match error:
        case Fenced():
            on_lost("fenced")
        case Unwritable():
            return  # no process can take the run over where nothing can be written; what it writes is fenced
        case JournalError():
            on_lost("broken")
        case _:  # the lease runs out if this goes on
            log.error("run %s: its lease was not renewed", lease.run_id, exc_info=error)
