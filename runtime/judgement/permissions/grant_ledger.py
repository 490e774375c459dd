"""The ledger of permissions: grants with their uses, and what recently passed or was refused.

A fold: grants and revocations stand in the workspace's stream, uses, denials and answers in the runs'.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from runtime.judgement.recovery.option_table import effect_of
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Cause

MAX_USES: Final = 200
"""Uses of a grant that are remembered one by one, the latest; `GrantEntry.uses` counts all."""
MAX_RECENT: Final = 500
"""Uses and denials of all grants that are remembered, the latest."""
LEDGER_MARKS: Final = (
    '"type":"grant.',
    '"cause":"policy_denied"',
    '"type":"incident.',
)
"""What the stored events that count here have in them (`runtime.record.journal.Journal.latest`)."""


@dataclass(slots=True, frozen=True)
class GrantUse:
    """Something needed a permission. `how`: a grant covered it, a person allowed it once or denied it, or the
    configuration denied it.
    """

    how: Literal["grant", "once", "denied", "policy"]
    need: str
    """The canonical action, as ``verb:object``."""
    ts: datetime
    run_id: str
    node_id: str
    grant_id: str = ""
    by: str = ""


@dataclass(slots=True)
class GrantEntry:
    """A grant and what became of it."""

    grant: ev.GrantAdded
    uses: int = 0
    last_used: datetime | None = None
    revoked: ev.GrantRevoked | None = None
    recent: deque[GrantUse] = field(default_factory=lambda: deque(maxlen=MAX_USES))

    def state(self, now: datetime) -> Literal["in force", "revoked", "expired"]:
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.grant.until is not None and self.grant.until <= now else "in force"


class GrantLedger:
    """Feed it the workspace's events and the runs', each stream in its order."""

    def __init__(self) -> None:
        self.held: dict[str, GrantEntry] = {}
        self.recent: deque[GrantUse] = deque(maxlen=MAX_RECENT)
        self._asked: dict[str, str] = {}
        """What open incidents ask for, by incident."""

    def apply(self, event: ev.JournalEvent) -> None:
        """Take one event into account; a revocation of an unknown grant changes nothing."""
        match event:
            case ev.GrantAdded():
                self.held.setdefault(event.grant_id, GrantEntry(event))
            case ev.GrantRevoked():
                held = self.held.get(event.grant_id)
                if held is not None and held.revoked is None:
                    held.revoked = event
            case ev.GrantUsed():
                self._record_use(event)
            case ev.IncidentOpened() if event.action.get("permission"):
                self._asked[event.incident_id] = str(event.action["permission"])
            case ev.IncidentAnswered():
                self._record_answer(event)
            case ev.IncidentClosed():
                self._asked.pop(event.incident_id, None)
            case ev.StepEnded() if event.fault is not None and event.fault.cause is Cause.POLICY_DENIED:
                if need := event.fault.metadata.get("permission"):
                    self.recent.append(GrantUse("policy", str(need), event.ts, event.run_id, event.node_id))

    def entries(self, now: datetime, *, every: bool = False) -> list[GrantEntry]:
        """Grants in force, oldest first; `every`: those that no longer are, too."""
        found = sorted(self.held.values(), key=lambda held: held.grant.ts)
        return found if every else [held for held in found if held.state(now) == "in force"]

    def _record_use(self, event: ev.GrantUsed) -> None:
        use = GrantUse("grant", event.need, event.ts, event.run_id, event.node_id, event.grant_id)
        self.recent.append(use)
        held = self.held.get(event.grant_id)
        if held is not None:
            held.uses += 1
            held.last_used = max(held.last_used or event.ts, event.ts)
            held.recent.append(use)

    def _record_answer(self, event: ev.IncidentAnswered) -> None:
        need = self._asked.pop(event.incident_id, "")
        if not need:
            return
        by = event.by.name
        if effect_of(event.option) == "deny":
            self.recent.append(GrantUse("denied", need, event.ts, event.run_id, event.node_id, by=by))
        elif effect_of(event.option) == "grant" and event.params.get("for", "once") == "once":
            self.recent.append(GrantUse("once", need, event.ts, event.run_id, event.node_id, by=by))
