"""Renews the leases of the runs that are driven here: those of one journal together, with one timer, in few
transactions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextvars import Context
from typing import Literal

from runtime.record.journal import Fenced, Journal, JournalError, Lease, Unwritable

log = logging.getLogger("runtime.drive")

OnLost = Callable[[Literal["fenced", "broken"]], object]
"""Gets why a lease cannot be renewed. It is told again with each renewal, as long as the lease is held."""
RENEWALS = 3
"""So many fit into the length of a lease."""
AT_ONCE = 128
"""Leases that are renewed in one transaction: a renewal under way takes 2 KB of memory, which is not given back."""

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
            leases = [*self.leases]
            for start in range(0, len(leases), AT_ONCE):
                held = [lease for lease in leases[start : start + AT_ONCE] if lease in self.leases]
                await asyncio.gather(*(self._renew(lease, self.leases[lease]) for lease in held))

    async def _renew(self, lease: Lease, on_lost: OnLost) -> None:
        try:
            await self._journal.renew(lease)
        except Fenced:
            on_lost("fenced")
        except Unwritable:
            return  # no process can take the run over where nothing can be written; what it writes is fenced
        except JournalError:
            on_lost("broken")
        except Exception:  # the other leases are renewed all the same; this one runs out if it goes on
            log.exception("run %s: its lease was not renewed", lease.run_id)
