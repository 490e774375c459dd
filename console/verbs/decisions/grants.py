"""`grants`, `revoke`: the ledger of permissions, and taking one back."""

from __future__ import annotations

from typing import Any

import click

from console.output import print_json, print_note, print_table
from console.verbs.base import (
    cli_actor,
    open_for_reading,
    open_for_writing,
    verb,
)
from console.workspace import workspace
from runtime.config.loader import load_configuration
from runtime.judgement.permissions.changed_patterns import READING_VERSION, reread_grant
from runtime.judgement.permissions.grant_ledger import GrantEntry
from runtime.judgement.permissions.patterns import STANDARD_VERBS
from runtime.operations.decisions import Decisions
from runtime.operations.queries import read_grant_ledger
from runtime.record.state.events import GrantAdded, utc_now
from screens.render.formatting import format_age


@verb()
@click.option("--all", "every", is_flag=True, help="Those that were taken back or have ended, too.")
@click.option("--subject", default="", help="Only this agent's.")
@click.option("--verb", "verb_", default="", help="Only of this verb, such as fs.write.")
async def grants(*, every: bool, subject: str, verb_: str, as_json: bool) -> int:
    """List permissions that were granted: for whom, what, how long, by whom, and how often each was used."""
    now = utc_now()
    async with open_for_reading() as journal:
        found = (await read_grant_ledger(journal)).entries(now, every=every) if journal is not None else []
    chosen = [
        held
        for held in found
        if (not subject or held.grant.subject == subject) and (not verb_ or held.grant.verb == verb_)
    ]
    if as_json:
        for held in chosen:
            print_json(_object(held))
    elif chosen:
        print_table(
            ("grant", "state", "for", "what", "lasts", "uses", "last", "by"),
            [
                (
                    held.grant.grant_id,
                    held.state(now),
                    held.grant.subject,
                    f"{held.grant.verb}:{held.grant.pattern}" if held.grant.pattern else held.grant.verb,
                    _lifetime_text(held),
                    str(held.uses),
                    format_age(held.last_used, now) if held.last_used is not None else "",
                    held.grant.by.name,
                )
                for held in chosen
            ],
        )
        for line in _reread([held.grant for held in chosen if held.grant.reading < READING_VERSION]):
            print_note(line)
    else:
        print_note("no permission is granted")
    return 0


def _reread(given: list[GrantAdded]) -> list[str]:
    """Grants of an earlier version whose patterns mean something else now."""
    verbs = load_configuration(workspace().root).permissions.verbs if given else STANDARD_VERBS
    found = [reread_grant(grant, verbs) for grant in given]
    return [f"{each.what} became stricter. Before: {each.before}. Now: {each.now}" for each in found if each]


def _lifetime_text(held: GrantEntry) -> str:
    scope = f" {held.grant.scope.rpartition('/')[2]}" if held.grant.scope else ""
    until = f" until {held.grant.until:%Y-%m-%d %H:%M}" if held.grant.until is not None else ""
    return f"{held.grant.lifetime}{scope}{until}"


def _object(held: GrantEntry) -> dict[str, Any]:
    grant = held.grant
    body = grant.model_dump(
        mode="json", include={"subject", "verb", "pattern", "lifetime", "scope", "until", "incident_id", "by"}
    )
    return {
        "id": grant.grant_id,
        "state": held.state(utc_now()),
        **body,
        "granted_at": grant.ts.isoformat(),
        "uses": held.uses,
        "last_used": held.last_used.isoformat() if held.last_used is not None else None,
        "revoked_by": held.revoked.by.name if held.revoked is not None else None,
    }


@verb()
@click.argument("grant", nargs=-1, required=True)
async def revoke(grant: tuple[str, ...], *, as_json: bool) -> int:
    """Take permissions back. The very next attempt that needs one is asked about again."""
    place = workspace()
    async with open_for_writing() as journal:
        desk = Decisions(journal, place.root)
        for grant_id in grant:
            await desk.revoke(grant_id, by=cli_actor())
            if as_json:
                print_json({"id": grant_id, "state": "revoked"})
            print_note(f"grant {grant_id}: taken back")
    return 0
