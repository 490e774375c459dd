"""Notes once in each workspace which patterns of permissions changed their meaning with the program.

Which these are: `runtime.judgement.permissions.changed_patterns`.
"""

from __future__ import annotations

from runtime.judgement.permissions.changed_patterns import changed_readings
from runtime.judgement.permissions.policy import PermissionPolicy
from runtime.record.journal import Journal
from runtime.record.state import events as ev

_MARK = '"type":"permission.pattern_reread"'


async def note_rereadings(journal: Journal, policy: PermissionPolicy) -> None:
    """Write an event for each pattern that is read in another way, unless that was done, or the workspace is new."""
    if not await journal.runs(1) or await journal.latest(ev.WORKSPACE_RUN_ID, limit=1, marks=(_MARK,)):
        return
    for found in changed_readings(await journal.grants(), policy):
        await journal.post(ev.WORKSPACE_RUN_ID, found)
