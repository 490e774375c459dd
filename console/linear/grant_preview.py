"""The preview of a standing grant as lines of the linear mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.operations.decisions import Decisions, InvalidCommand
from runtime.operations.queries import read_grant_preview
from runtime.record.journal import Journal
from runtime.record.state.events import Actor, IncidentOpened
from screens.render.confusables import mark_confusables

_MAX_SHOWN = 5
"""Actions of either kind that are listed; the sentence counts them all."""


async def print_grant_preview(
    desk: Decisions, journal: Journal, opened: IncidentOpened, params: Mapping[str, Any], by: Actor
) -> list[str]:
    """Who may what for how long, and which past and pending actions these words cover.

    Raises:
        InvalidCommand: the incident asks for no permission, or the grant would be none.
    """
    if not opened.action.get("permission"):
        raise InvalidCommand(f"incident {opened.incident_id} asks for no permission")
    grant = await desk.proposed_grant(opened.run_id, opened, params, by=by)
    found = await read_grant_preview(journal, grant, root=str(desk.workspace), verbs=desk.verbs)
    until = f" until {grant.until:%Y-%m-%d %H:%M} UTC" if grant.until is not None else ""
    what = f"{grant.verb}:{grant.pattern}" if grant.pattern else grant.verb
    actions = [*found.past[-_MAX_SHOWN:], *found.pending[-_MAX_SHOWN:]]
    return [
        f"{mark_confusables(f'{grant.subject} may {what}')}, {grant.lifetime}{until}: {found.sentence()}",
        *(
            f"  {'pending' if each.pending else 'past'}: "
            f"{mark_confusables(f'{each.agent} {each.need}')} ({each.run_id})"
            for each in actions
        ),
    ]
