"""The view of a workspace in a console: summaries, inbox, grants and watched runs, built from messages.

Fed by the client, read by screens. Every message is taken in once: what comes twice (after a cut, or because a snapshot
overtook it) changes nothing, and what leaves a gap is noticed and requested again.

The first picture is shown as it comes, and says how much of it is there. One that comes later takes the place of the
one before when it is whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from runtime.link.wire import limits
from runtime.link.wire.link_status import PictureProgress
from runtime.link.wire.protocol import AHEAD

if TYPE_CHECKING:
    from runtime.link.client.run_view import RunView
    from runtime.link.wire import protocol as p
    from runtime.link.wire.protocol import (
        PictureSize,
        SnapshotReason,
        WorkspaceChange,
        WorkspaceSnapshot,
    )
    from runtime.record.inbox_row import InboxRow
    from runtime.record.state.summary import Summary
    from runtime.record.state.workspace_events import GrantAdded


class MissingChange(Exception):
    """A change of the picture is missing: it has to be told as a whole."""


class WorkspaceView:
    """See the module. `epoch` and `position` are where it stands."""

    def __init__(self) -> None:
        self.epoch = ""
        self.position = 0
        self.summaries: dict[str, Summary] = {}
        self.incidents: dict[str, InboxRow] = {}
        self.grants: dict[str, GrantAdded] = {}
        self.runs: dict[str, RunView] = {}
        self.snapshots: list[SnapshotReason] = []
        """Why each snapshot of the picture was sent, as a measure of how good the link is; the last 100."""
        self.held_up = ""
        """Runs that cannot be carried on now, in words, by the last pong."""
        self.slow = ""
        """What only takes long there, by the same."""
        self.whole = False
        """Whether a picture was told to its end. From then on one is shown, whatever comes."""
        self._size: PictureSize | None = None
        """How big the first picture is, while parts of it are missing."""
        self._gone: set[str] = set()
        """Incidents that left while a picture which still has them is on its way."""
        self._parts: list[WorkspaceSnapshot] = []
        self._parts_bytes = self._changes_bytes = 0

    @property
    def progress(self) -> PictureProgress | None:
        """How much of the first picture is shown; None if it is whole, or nothing of it is there."""
        if self._size is None:
            return None
        return PictureProgress(len(self.summaries), self._size.runs, len(self.incidents), self._size.incidents)

    def connection_cut(self) -> None:
        """The connection ended: halves of snapshots are worth nothing. What is shown of a first picture stays until
        another one begins.
        """
        self.held_up = self.slow = ""
        self._parts.clear()
        self._gone.clear()
        self._parts_bytes = 0
        for run in self.runs.values():
            run.connection_cut()

    def last_seq(self, run_id: str) -> int:
        """The last event that is known of a watched run."""
        run = self.runs.get(run_id)
        return run.last_seq if run is not None else 0

    def apply_snapshot(self, message: WorkspaceSnapshot, epoch: str, size: int = 0) -> None:
        """Take a part of the picture in, of `size` bytes; the last one makes it whole. Raises `LimitExceeded`."""
        self._parts_bytes += size
        if self._parts_bytes > limits.MAX_WORKSPACE_BYTES:
            most = limits.format_mebibytes(limits.MAX_WORKSPACE_BYTES)
            raise limits.LimitExceeded(f"the lists of runs and incidents take more than {most}")
        if not self.whole:
            self._show_part(message)
        if message.whole is None:
            self._parts.append(message)
        if message.more:
            return
        parts, self._parts = self._parts, []
        self._parts_bytes = self._changes_bytes = 0
        self.epoch, self.position = epoch, message.position
        self.summaries = {row.id: row for part in parts for row in part.summaries}
        self.incidents = {id_: row for part in parts for id_, row in self._open_rows(part)}
        self.grants = {row.grant_id: row for part in parts for row in part.grants}
        self.snapshots = [*self.snapshots[-99:], message.why]
        self.whole, self._size = True, None
        self._gone.clear()  # the changes behind the picture say it again; another picture is made without them

    def _show_part(self, message: WorkspaceSnapshot) -> None:
        """Show a part of the first picture, if its runtime said how big that is."""
        if message.whole is not None:
            self._size = message.whole
            self.summaries, self.incidents, self.grants = {}, {}, {}
        if self._size is not None:
            self.summaries.update((row.id, row) for row in message.summaries)
            self.incidents.update(self._open_rows(message))
            self.grants.update((row.grant_id, row) for row in message.grants)

    def _open_rows(self, part: WorkspaceSnapshot) -> Iterator[tuple[str, InboxRow]]:
        """The incidents of a part, by id, that have not left since it was made."""
        rows = ((row.opened.incident_id, row) for row in part.incidents)
        return (each for each in rows if each[0] not in self._gone)

    def apply_change(self, message: WorkspaceChange, size: int = 0) -> None:
        """Take a change of the picture in, of `size` bytes. Raises `MissingChange`."""
        ahead = message.position == AHEAD
        if message.position <= self.position and not ahead:
            return
        if message.position != self.position + 1 and not ahead:
            raise MissingChange(f"change {message.position} came after {self.position}")
        self._changes_bytes += size
        if self._changes_bytes > limits.MAX_WORKSPACE_BYTES:
            # What a runtime forgets (old runs that ended) it does not take back: a snapshot has no more of it.
            size_text = limits.format_mebibytes(limits.MAX_WORKSPACE_BYTES)
            raise MissingChange(f"the changes since the last snapshot take more than {size_text}")
        if ahead:
            self._gone.add(message.closed)
            self.incidents.pop(message.closed, None)
            return
        self.position = message.position
        if message.summary is not None:
            self.summaries[message.summary.id] = message.summary
        if message.incident is not None:
            self.incidents[message.incident.opened.incident_id] = message.incident
        if message.closed:
            self.incidents.pop(message.closed, None)
        if message.grants is not None:
            self.grants = {row.grant_id: row for row in message.grants}

    def apply_run_snapshot(self, message: p.RunSnapshot, size: int = 0) -> None:
        """Take a part of a run's state in."""
        if (run := self.runs.get(message.run_id)) is not None:
            run.apply_snapshot(message, size)

    def apply_event(self, message: p.RunEvent, size: int = 0) -> bool:
        """Take an event of a run in; False if the run must be requested again."""
        run = self.runs.get(message.run_id)
        return run is None or run.apply_event(message, size)

    def apply_delta(self, message: p.Delta) -> None:
        """Take a piece of a streamed reply in."""
        if (run := self.runs.get(message.run_id)) is not None:
            run.apply_delta(message)
