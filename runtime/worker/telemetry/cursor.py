"""Up to which position of the journal its spans were accepted by the receiver. It stands in the workspace's stream."""

from __future__ import annotations

from runtime.record.journal import Journal
from runtime.record.state import events as ev

_SENT = ('"type":"traces.sent"',)
_HELD = ('"type":"traces.held_back"', *_SENT)
_MARKS_READ = 4
"""Of several workers one may write an older position after a newer: the highest of the last few counts."""


async def read_cursor(journal: Journal) -> int | None:
    """The position; None in a workspace that has sent nothing yet."""
    found = [placed.event for placed in await journal.latest(ev.WORKSPACE_RUN_ID, limit=_MARKS_READ, marks=_SENT)]
    return max((event.position for event in found if isinstance(event, ev.TracesSent)), default=None)


async def advance_cursor(journal: Journal, position: int, spans: int) -> None:
    """Note that everything up to `position` was accepted, in so many spans."""
    await journal.post(ev.WORKSPACE_RUN_ID, ev.TracesSent(position=position, spans=spans))


async def last_word(journal: Journal) -> ev.TracesSent | ev.TracesHeldBack | None:
    """What was last noted of traces: that some were sent, or why they are held back."""
    for placed in reversed(await journal.latest(ev.WORKSPACE_RUN_ID, limit=1, marks=_HELD)):
        if isinstance(placed.event, ev.TracesSent | ev.TracesHeldBack):
            return placed.event
    return None
