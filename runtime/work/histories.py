"""What is folded over the whole journal: ledger, look-back, audit, digest. Reading only, but for an operator's look."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime

from runtime.judgement.audit import AuditEntry, entries
from runtime.judgement.digest import Digest, digest, last_look
from runtime.judgement.ledger import Ledger
from runtime.judgement.lookback import Lookback, look_back
from runtime.record import events as ev
from runtime.record.journal import Journal
from runtime.record.state import fold

_EVERY = 1_000_000


async def streams(journal: Journal, *, since: datetime | None = None) -> AsyncIterator[list[ev.Record]]:
    """The events of the workspace, then of each run, oldest run first; with `since`, of runs in which something
    happened after it.
    """
    yield await journal.read(ev.WORKSPACE)
    for summary in reversed(await journal.runs(_EVERY)):
        if since is None or summary.updated_at is None or summary.updated_at > since:
            yield await journal.read(summary.id)


async def ledger_of(journal: Journal) -> Ledger:
    """Every grant with its uses."""
    ledger = Ledger()
    async for stream in streams(journal):
        for event in stream:
            ledger.apply(event)
    return ledger


async def audit_of(
    journal: Journal, *, run_id: str = "", since: datetime | None = None, person: str = ""
) -> list[AuditEntry]:
    """Who decided what, oldest first; with `run_id`, in that run and about it."""
    found: list[AuditEntry] = []
    async for stream in streams(journal, since=since):
        found.extend(entries(stream))
    kept = [
        each
        for each in found
        if (not run_id or each.run_id == run_id or each.params.get("scope") == run_id)
        and (since is None or each.ts > since)
        and (not person or each.person == person)
    ]
    return sorted(kept, key=lambda each: each.ts)


async def digest_for(journal: Journal, who: str, *, since: datetime | None = None) -> Digest:
    """What came since this operator's last look, or since `since`."""
    since = since or last_look(await journal.read(ev.WORKSPACE), who)
    found = [stream async for stream in streams(journal)]
    return digest(found, since)


async def looked(journal: Journal, by: ev.Actor) -> None:
    """Note that an operator has seen what there is."""
    await journal.post(ev.WORKSPACE, ev.OperatorLooked(by=by))


async def lookback_of(journal: Journal, grant: ev.GrantAdded, *, root: str) -> Lookback:
    """The past and pending actions that a grant's words cover."""
    if grant.lifetime == "run":
        return look_back(grant, [fold(await journal.read(grant.scope))], root=root)
    wanted = [each for each in await journal.runs(_EVERY) if grant.lifetime == "always" or each.ref == grant.scope]
    return look_back(grant, [fold(await journal.read(each.id)) for each in reversed(wanted)], root=root)
