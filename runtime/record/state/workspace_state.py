"""The state of a workspace: grants and freezes in force. A fold of the workspace's stream."""

from __future__ import annotations

from runtime.record.state import events as ev


class WorkspaceState:
    """Grants by id and freezes by the swarm they name (empty: every run), as of `seq`."""

    __slots__ = ("freezes", "grants", "seq")

    def __init__(self) -> None:
        self.seq = 0
        self.grants: dict[str, ev.GrantAdded] = {}
        self.freezes: dict[str, ev.FreezeSet] = {}

    def apply(self, event: ev.JournalEvent) -> None:
        """Take in the stream's next event; one that was taken in already changes nothing."""
        if event.seq <= self.seq:
            return
        self.seq = event.seq
        if isinstance(event, ev.GrantAdded):
            self.grants[event.grant_id] = event
        elif isinstance(event, ev.GrantRevoked):
            self.grants.pop(event.grant_id, None)
        elif isinstance(event, ev.FreezeSet):
            self.freezes[event.ref] = event
        elif isinstance(event, ev.FreezeLifted) and event.ref:
            self.freezes.pop(event.ref, None)
        elif isinstance(event, ev.FreezeLifted):
            self.freezes.clear()
