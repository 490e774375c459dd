"""The ledger of permissions: every grant that was ever given, by whom, how often it was used, and whether it holds.

A fold: grants and revocations stand in the workspace's stream, uses in the runs'.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from runtime.record import events as ev


@dataclass(slots=True)
class Held:
    """A grant and what became of it."""

    grant: ev.GrantAdded
    uses: int = 0
    last_used: datetime | None = None
    revoked: ev.GrantRevoked | None = None

    def state(self, now: datetime) -> Literal["in force", "revoked", "expired"]:
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.grant.until is not None and self.grant.until <= now else "in force"


class Ledger:
    """Feed it the workspace's events, then the runs', in any order of runs."""

    def __init__(self) -> None:
        self.held: dict[str, Held] = {}

    def apply(self, event: ev.Record) -> None:
        """Take one event into account; a use or revocation of an unknown grant changes nothing."""
        if isinstance(event, ev.GrantAdded):
            self.held.setdefault(event.grant_id, Held(event))
        elif isinstance(event, ev.GrantRevoked):
            held = self.held.get(event.grant_id)
            if held is not None and held.revoked is None:
                held.revoked = event
        elif isinstance(event, ev.GrantUsed):
            held = self.held.get(event.grant_id)
            if held is not None:
                held.uses += 1
                held.last_used = max(held.last_used or event.ts, event.ts)

    def listed(self, now: datetime, *, every: bool = False) -> list[Held]:
        """Grants in force, oldest first; `every`: those that no longer are, too."""
        found = sorted(self.held.values(), key=lambda held: held.grant.ts)
        return found if every else [held for held in found if held.state(now) == "in force"]
