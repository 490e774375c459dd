"""What a console knows: the picture and the runs it watches, put together from the messages of the stream.

Fed by the client, read by screens. Every message is taken in once: what comes twice (after a cut, or because a snapshot
overtook it) changes nothing, and what leaves a gap is noticed and asked for anew.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from pydantic import ValidationError

from runtime.link import protocol as p
from runtime.link.watched import Restoring
from runtime.record import events as ev
from runtime.record.state import RunState, Summary

log = logging.getLogger(__name__)


class Gap(Exception):
    """A change of the picture is missing: it has to be told as a whole."""


@dataclass(slots=True)
class StreamedText:
    """A reply while it streams."""

    attempt: int
    text: str = ""
    reasoning: str = ""


@dataclass(slots=True)
class WatchedView:
    """A run that the console watches. `state` is None until it was told; `problem` says why it cannot be."""

    state: RunState | None = None
    problem: str = ""
    texts: dict[str, StreamedText] = field(default_factory=dict)
    coming: Restoring = field(default_factory=Restoring)


class View:
    """See the module. `epoch` and `position` are where it stands."""

    def __init__(self) -> None:
        self.epoch = ""
        self.position = 0
        self.summaries: dict[str, Summary] = {}
        self.incidents: dict[str, p.Inboxed] = {}
        self.grants: dict[str, ev.GrantAdded] = {}
        self.runs: dict[str, WatchedView] = {}
        self.snapshots: list[p.Why] = []
        """Why each snapshot of the picture was sent, for whoever wants to know how good the link is; the last 100."""
        self._parts: list[p.Snapshot] = []

    def cut(self) -> None:
        """The connection ended: halves of snapshots are worth nothing."""
        self._parts.clear()
        for run in self.runs.values():
            run.coming = Restoring()

    def last_seq(self, run_id: str) -> int:
        """The last event that is known of a watched run."""
        run = self.runs.get(run_id)
        return run.state.last_seq if run is not None and run.state is not None else 0

    def snapshot(self, message: p.Snapshot, epoch: str) -> None:
        """Take a part of the picture in; the last one makes it valid."""
        self._parts.append(message)
        if message.more:
            return
        parts, self._parts = self._parts, []
        self.epoch, self.position = epoch, message.position
        self.summaries = {row.id: row for part in parts for row in part.summaries}
        self.incidents = {row.opened.incident_id: row for part in parts for row in part.incidents}
        self.grants = {row.grant_id: row for part in parts for row in part.grants}
        self.snapshots = [*self.snapshots[-99:], message.why]

    def changed(self, message: p.Changed) -> None:
        """Take a change of the picture in. Raises `Gap`."""
        if message.position <= self.position:
            return
        if message.position != self.position + 1:
            raise Gap(f"change {message.position} came after {self.position}")
        self.position = message.position
        if message.summary is not None:
            self.summaries[message.summary.id] = message.summary
        if message.incident is not None:
            self.incidents[message.incident.opened.incident_id] = message.incident
        if message.closed:
            self.incidents.pop(message.closed, None)
        if message.grants is not None:
            self.grants = {row.grant_id: row for row in message.grants}

    def run_snapshot(self, message: p.RunSnapshot) -> None:
        """Take a part of a run's state in."""
        run = self.runs.get(message.run_id)
        if run is None:
            return
        try:
            state = run.coming.add(message)
        except ValidationError as exc:
            log.exception("run %s", message.run_id)
            run.problem = f"this program cannot read the run: {exc.errors(include_url=False)[0]['msg']}"
            run.coming = Restoring()
            return
        if state is not None:
            run.state, run.problem, run.coming = state, "", Restoring()
            run.texts.clear()

    def event(self, message: p.RunEvent) -> bool:
        """Take an event of a run in; False if events before it are missing."""
        run = self.runs.get(message.run_id)
        if run is None or run.state is None or message.seq <= run.state.last_seq:
            return True
        if message.seq != run.state.last_seq + 1:
            return False
        event = _event(message)
        run.state.apply(event)
        if isinstance(event, ev.StepEnded):
            run.texts.pop(event.node_id, None)
        return True

    def delta(self, message: p.Delta) -> None:
        """Take a piece of a streamed reply in."""
        run = self.runs.get(message.run_id)
        if run is None:
            return
        node = run.state.nodes.get(message.node_id) if run.state is not None else None
        if node is not None and node.terminal:
            return
        found = run.texts.get(message.node_id)
        if found is None or found.attempt < message.attempt:
            found = run.texts[message.node_id] = StreamedText(message.attempt)
        have = getattr(found, message.kind)
        if found.attempt == message.attempt and message.offset <= len(have):
            setattr(found, message.kind, have[: message.offset] + message.text)


def _event(message: p.RunEvent) -> ev.Record:
    """The event, or what is left of it if this program cannot read it: one odd event must not hide a run."""
    try:
        return ev.load_value(message.body)
    except ValidationError:
        log.exception("event %d of run %s", message.seq, message.run_id)
        return ev.UnknownEvent(type=str(message.body.get("type", "?")), run_id=message.run_id, seq=message.seq)
