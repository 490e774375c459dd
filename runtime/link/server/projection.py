"""The projection of a workspace for consoles: summaries of runs, inbox, grants, and their changes.

Each change has a position. The latest changes are kept as sent, so that a console that comes back gets only what it
missed. Nothing here waits for anything: a console that joins between two changes has seen all before and will see all
after.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime

from msgspec.structs import replace

from runtime.link.server.picture_parts import picture_parts
from runtime.link.wire.protocol import SnapshotReason, WorkspaceChange
from runtime.record.inbox_row import InboxRow
from runtime.record.state.durable_run import RUN_TERMINAL, Summary
from runtime.record.state.events import AnswerProposed, GrantAdded

RECENT_CHANGES = 5000
"""Changes kept as sent."""
MAX_FINISHED_RUNS = 1000
"""Summaries of finished runs that are kept; the oldest go first. Unfinished runs are all kept."""


class WorkspaceProjection:
    """The picture and its latest changes. `epoch` names this object's life: positions of another mean nothing here."""

    def __init__(self) -> None:
        self.epoch = secrets.token_hex(8)
        self.position = 0
        self.summaries: dict[str, Summary] = {}
        self.incidents: dict[str, InboxRow] = {}
        self.grants: tuple[GrantAdded, ...] = ()
        self._recent: deque[tuple[int, bytes]] = deque(maxlen=RECENT_CHANGES)
        self._snapshots: dict[SnapshotReason, list[bytes]] = {}
        """Those of this position: consoles that come at the same time share them."""

    def load(self, summaries: Iterable[Summary], incidents: Iterable[InboxRow], grants: Iterable[GrantAdded]) -> None:
        """Take a whole new state, `summaries` newest first. Earlier changes are forgotten: who comes back gets a
        snapshot.
        """
        self.summaries = {found.id: found for found in reversed(list(summaries))}
        self.incidents = {found.opened.incident_id: found for found in incidents}
        self.grants = tuple(grants)
        self._recent.clear()
        self._snapshots.clear()
        self.position += 1

    def forget(self) -> None:
        """Be empty, as another object would be: positions of before mean nothing any more."""
        self.epoch = secrets.token_hex(8)
        self.load((), (), ())

    def set_summary(self, summary: Summary) -> bytes | None:
        """A run's summary is this by now; the line that tells of it, None if nothing changed."""
        if self.summaries.get(summary.id) == summary:
            return None
        self.summaries[summary.id] = summary
        if summary.state in RUN_TERMINAL:
            self._forget()
        return self._changed(WorkspaceChange(position=self.position + 1, summary=summary))

    def open(self, incident: InboxRow) -> bytes | None:
        """An incident came, or came again with a new revision."""
        if self.incidents.get(incident.opened.incident_id) == incident:
            return None
        self.incidents[incident.opened.incident_id] = incident
        return self._changed(WorkspaceChange(position=self.position + 1, incident=incident))

    def propose(self, proposal: AnswerProposed) -> bytes | None:
        """An agent proposes an answer to an incident of the inbox, as that is now."""
        row = self.incidents.get(proposal.incident_id)
        if row is None or row.opened.revision != proposal.revision:
            return None
        return self.open(replace(row, proposed=proposal.option, proposed_by=proposal.by.name))

    def close(self, incident_id: str) -> bytes | None:
        """An incident left the inbox."""
        if self.incidents.pop(incident_id, None) is None:
            return None
        return self._changed(WorkspaceChange(position=self.position + 1, closed=incident_id))

    def set_grants(self, grants: Iterable[GrantAdded]) -> bytes | None:
        """These grants are in force by now."""
        now = tuple(grants)
        if now == self.grants:
            return None
        self.grants = now
        return self._changed(WorkspaceChange(position=self.position + 1, grants=now))

    def touch(self) -> bytes:
        """Something of the workspace changed that the picture does not show: a console that shows it may ask again."""
        return self._changed(WorkspaceChange(position=self.position + 1))

    def changes_since(self, epoch: str, position: int) -> list[bytes] | SnapshotReason:
        """Lines of the changes after `position`, or the reason why a snapshot is needed instead."""
        if not epoch:
            return "first"
        if epoch != self.epoch or position > self.position:
            return "epoch"
        if position == self.position:
            return []
        if not self._recent or self._recent[0][0] > position + 1:
            return "gap"
        return [line for at, line in self._recent if at > position]

    def snapshot(self, why: SnapshotReason) -> list[bytes]:
        """The picture in `WorkspaceSnapshot` messages."""
        if why not in self._snapshots:
            parts = picture_parts(
                self.position,
                why,
                summaries=self.summaries,
                incidents=self.incidents,
                grants=self.grants,
                now=datetime.now(UTC),
            )
            self._snapshots[why] = [part.line() for part in parts]
        return list(self._snapshots[why])

    def _changed(self, message: WorkspaceChange) -> bytes:
        self.position = message.position
        self._snapshots.clear()
        line = message.line()
        self._recent.append((message.position, line))
        return line

    def _forget(self) -> None:
        if len(self.summaries) <= 2 * MAX_FINISHED_RUNS:
            return
        finished = [run_id for run_id, found in self.summaries.items() if found.state in RUN_TERMINAL]
        for run_id in finished[:-MAX_FINISHED_RUNS]:
            del self.summaries[run_id]
