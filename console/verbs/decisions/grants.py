"""`grants`, `revoke`: the ledger of permissions, and taking one back."""

from __future__ import annotations

import click

from console.output import print_json, print_note, print_table
from console.verbs.base import cli_origin, open_for_reading, open_for_writing, operations_on, verb
from console.verbs.run_operation import refuse_without_journal
from runtime.operations.requests.permissions import Grant, ListGrants, RevokeGrant
from runtime.record.state.events import utc_now
from screens.render.formatting import format_age


@verb(reads=True)
@click.option("--all", "every", is_flag=True, help="Also grants that were revoked or have expired.")
@click.option("--subject", default="", help="Only grants of this agent.")
@click.option("--verb", "verb_", default="", help="Only grants of this verb, such as fs.write.")
async def grants(*, every: bool, subject: str, verb_: str, as_json: bool) -> int:
    """List permissions that were granted: for whom, what, how long, by whom, and how often each was used."""
    now = utc_now()
    async with open_for_reading() as journal:
        found = await operations_on(journal).run(ListGrants(every=every), cli_origin()) if journal is not None else ()
    chosen = [held for held in found if (not subject or held.subject == subject) and (not verb_ or held.verb == verb_)]
    if as_json:
        for held in chosen:
            print_json(held)
    elif chosen:
        print_table(
            ("grant", "state", "for", "what", "lasts", "uses", "last", "by"),
            [
                (
                    held.id,
                    held.state,
                    held.subject,
                    f"{held.verb}:{held.pattern}" if held.pattern else held.verb,
                    _lifetime_text(held),
                    str(held.uses),
                    format_age(held.last_used, now) if held.last_used is not None else "",
                    held.by.name,
                )
                for held in chosen
            ],
        )
        for held in chosen:
            if held.reread:
                print_note(held.reread)
    else:
        print_note("no permission is granted")
    return 0


def _lifetime_text(held: Grant) -> str:
    scope = f" {held.scope.rpartition('/')[2]}" if held.scope else ""
    until = f" until {held.until:%Y-%m-%d %H:%M}" if held.until is not None else ""
    return f"{held.lifetime}{scope}{until}"


@verb()
@click.argument("grant", nargs=-1, required=True)
async def revoke(grant: tuple[str, ...], *, as_json: bool) -> int:
    """Revoke permissions. The next call that needs one asks again."""
    refuse_without_journal("")
    async with open_for_writing() as journal:
        operations = operations_on(journal)
        for grant_id in grant:
            revoked = await operations.run(RevokeGrant(grant_id=grant_id), cli_origin())
            if as_json:
                print_json(revoked)
            print_note(f"grant {grant_id}: taken back")
    return 0
