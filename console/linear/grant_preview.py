"""The preview of a standing grant as lines of the linear mode."""

from __future__ import annotations

from functools import partial

from runtime.operations.requests.answers import GrantPreview
from screens.render.confusables import exact_line

_MAX_SHOWN = 5
"""Actions of either kind that are listed; the sentence counts them all."""


def grant_preview_lines(found: GrantPreview, *, ascii_only: bool) -> list[str]:
    """Who may what for how long, and which past and pending actions these words cover."""
    grant = found.grant
    until = f" until {grant.until:%Y-%m-%d %H:%M} UTC" if grant.until is not None else ""
    what = f"{grant.verb}:{grant.pattern}" if grant.pattern else grant.verb
    exact = partial(exact_line, limit=2_000, ascii_only=ascii_only)
    actions = [*found.past[-_MAX_SHOWN:], *found.pending[-_MAX_SHOWN:]]
    return [
        f"{exact(f'{grant.subject} may {what}')}, {grant.lifetime}{until}: {found.sentence}",
        *(
            f"  {'pending' if each.pending else 'past'}: {exact(f'{each.agent} {each.need}')} ({each.run_id})"
            for each in actions
        ),
    ]
