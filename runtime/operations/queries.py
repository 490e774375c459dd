"""Queries over the whole journal: ledger, audit, digest, past actions. Reading only, but for an operator's look."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from datetime import datetime

from runtime.judgement.permissions import grant_ledger
from runtime.judgement.permissions.grant_ledger import GrantLedger
from runtime.judgement.permissions.grant_preview import preview_grant
from runtime.judgement.permissions.patterns import STANDARD_VERBS, Verbs
from runtime.judgement.permissions.permitted_action import CoveredActions
from runtime.judgement.reports import audit
from runtime.judgement.reports.audit import audit_entries
from runtime.judgement.reports.digest import build_digest, last_look
from runtime.judgement.reports.report_types import AuditEntry, Digest
from runtime.record.journal import Journal, Unrecordable
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events
from runtime.record.state.nodes import with_proposal

log = logging.getLogger(__name__)

_ALL_MARKS = 1_000_000
_PROPOSAL_MARKS = (f'"type":"{ev.type_of(ev.AnswerProposed)}"',)
_WINDOW_EVENTS = 50_000
"""Positions that are sifted in one go: no other query reads meanwhile."""


async def events_with_marks(
    journal: Journal, marks: Sequence[str], *, after: int = 0, end: int | None = None
) -> AsyncIterator[ev.JournalEvent]:
    """The events of all streams that have one of `marks` in them, from position `after` up to `end` (else: now)."""
    end = await journal.position() if end is None else end
    while after < end:
        upto = min(after + _WINDOW_EVENTS, end)
        for placed in await journal.latest(after=after, before=upto + 1, limit=_WINDOW_EVENTS, marks=marks):
            yield placed.event
        after = upto


class LedgerReader:
    """The ledger of a journal, kept: each look reads only what was written since the last."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._ledger = GrantLedger()
        self._at = 0
        self._turn = asyncio.Lock()
        self.version = 0
        """Up to which position was read when something was last found: equal as long as the ledger is."""

    async def read(self) -> GrantLedger:
        """The ledger by now. Raises `JournalError`."""
        async with self._turn:
            end = await self._journal.position()
            found = [
                event
                async for event in events_with_marks(self._journal, grant_ledger.LEDGER_MARKS, after=self._at, end=end)
            ]
            for event in found:
                self._ledger.apply(event)
            self._at, self.version = end, end if found else self.version
            return self._ledger


async def read_audit(
    journal: Journal, *, run_id: str = "", since: datetime | None = None, person: str = ""
) -> list[AuditEntry]:
    """Who decided what, oldest first; with `run_id`, in that run and about it."""
    found = audit_entries([event async for event in events_with_marks(journal, audit.AUDIT_MARKS)])
    kept = [
        each
        for each in found
        if (not run_id or each.run_id == run_id or each.params.get("scope") == run_id)
        and (since is None or each.ts > since)
        and (not person or each.person == person)
    ]
    return sorted(kept, key=lambda each: each.ts)


async def read_proposals(journal: Journal, run_ids: Collection[str]) -> dict[str, list[ev.AnswerProposed]]:
    """What agents propose, by incident, as the fold of each run has it (`runtime.record.state.fold_steps`)."""
    found: dict[str, list[ev.AnswerProposed]] = {}
    for run_id in run_ids:
        for placed in await journal.latest(run_id, marks=_PROPOSAL_MARKS):
            event = placed.event
            if isinstance(event, ev.AnswerProposed):
                found[event.incident_id] = with_proposal(found.get(event.incident_id, []), event)
    return found


async def digest_for(journal: Journal, who: str, *, since: datetime | None = None) -> Digest:
    """What came since this operator's last look, or since `since`. Runs that did not change since are not read: what is
    open is known without them.
    """
    workspace = await journal.read(ev.WORKSPACE_RUN_ID)
    since = since or last_look(workspace, who)
    changed = [
        summary.id
        for summary in reversed(await journal.runs(_ALL_MARKS))
        if since is None or summary.updated_at is None or summary.updated_at > since
    ]
    found = [workspace, *await _read_all(journal, changed)]
    return build_digest(found, since, open_now=len(await journal.incidents()))


async def digest_since_last_look(journal: Journal, who: str) -> Digest:
    """What came since this operator's last look; an empty digest for one who never looked."""
    if last_look(await journal.read(ev.WORKSPACE_RUN_ID), who) is None:
        return Digest()
    return await digest_for(journal, who)


async def record_look(journal: Journal, by: ev.Actor) -> None:
    """Note that an operator has seen what there is."""
    await journal.post(ev.WORKSPACE_RUN_ID, ev.OperatorLooked(by=by))


async def read_grant_preview(
    journal: Journal, grant: ev.GrantAdded, *, root: str, verbs: Verbs = STANDARD_VERBS
) -> CoveredActions:
    """The past and pending actions that a grant's words cover."""
    if grant.lifetime == "run":
        return preview_grant(grant, [fold_events(await journal.read(grant.scope))], root=root, verbs=verbs)
    wanted = [each for each in await journal.runs(_ALL_MARKS) if grant.lifetime == "always" or each.ref == grant.scope]
    states = [fold_events(await journal.read(each.id)) for each in reversed(wanted)]
    return preview_grant(grant, states, root=root, verbs=verbs)


async def _read_all(journal: Journal, run_ids: Iterable[str]) -> list[list[ev.JournalEvent]]:
    """The events of runs. A run of which one cannot be read is left out, and named in the log: it hides no other."""
    found: list[list[ev.JournalEvent]] = []
    for run_id in run_ids:
        try:
            found.append(await journal.read(run_id))
        except Unrecordable as exc:
            log.warning("%s", exc)
    return found
