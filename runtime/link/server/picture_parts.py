"""The picture as messages: before a big one goes what an operator needs first.

That is a screenful of decisions, those that are to be taken first, with their runs; and the newest runs. It is bounded
in bytes as well: on a line of 16 KiB a second it is there after a few seconds, whatever an incident holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import TypeVar

import msgspec

from runtime.judgement.reports.priority import by_priority, foremost
from runtime.link.wire.protocol import PictureSize, SnapshotReason, WorkspaceSnapshot
from runtime.record.inbox_row import InboxRow
from runtime.record.state.struct_json import encode_struct
from runtime.record.state.summary import Summary
from runtime.record.state.workspace_events import GrantAdded

ROWS_PER_PART = 100
"""Runs, and as many incidents, in one message."""
SCREENFUL = 40
"""Decisions that go first, and as many runs."""
OF_EACH = 2
"""Decisions that go first of those that are the same: two show that there are several."""
MAX_FIRST_BYTES = 48 * 1024
"""What goes first of either, unless one row alone has more."""

R = TypeVar("R", bound=msgspec.Struct)


def picture_parts(
    position: int,
    why: SnapshotReason,
    *,
    summaries: Mapping[str, Summary],
    incidents: Mapping[str, InboxRow],
    grants: tuple[GrantAdded, ...],
    now: datetime,
) -> Iterator[WorkspaceSnapshot]:
    """The messages; both kinds of rows by id, the oldest first. Only a console that has no picture needs some first."""
    left = max(len(summaries), len(incidents), 1)
    if why == "first" and left > ROWS_PER_PART:
        yield _first_part(position, summaries, incidents, now)
    runs, waiting = iter(summaries.values()), iter(incidents.values())
    while left > 0:
        left -= ROWS_PER_PART
        yield WorkspaceSnapshot(
            position=position,
            why=why,
            summaries=tuple(islice(runs, ROWS_PER_PART)),
            incidents=tuple(islice(waiting, ROWS_PER_PART)),
            grants=grants,
            more=left > 0,
        )
        grants = ()


def _first_part(
    position: int, summaries: Mapping[str, Summary], incidents: Mapping[str, InboxRow], now: datetime
) -> WorkspaceSnapshot:
    ranked = by_priority(incidents.values(), summaries, now)
    waiting = tuple(_bounded(islice(foremost(ranked, OF_EACH), SCREENFUL)))
    newest = {found.id: found for found in _bounded(islice(reversed([*summaries.values()]), SCREENFUL))}
    theirs = {row.run_id: summaries[row.run_id] for row in waiting if row.run_id in summaries}
    return WorkspaceSnapshot(
        position=position,
        why="first",
        summaries=tuple((newest | theirs).values()),
        incidents=waiting,
        more=True,
        whole=PictureSize(runs=len(summaries), incidents=len(incidents)),
    )


def _bounded(rows: Iterable[R]) -> Iterator[R]:
    """The first row, and those after it that have room."""
    size = 0
    for number, row in enumerate(rows):
        size += len(encode_struct(row))
        if number and size > MAX_FIRST_BYTES:
            return
        yield row
