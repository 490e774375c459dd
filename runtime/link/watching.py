"""What a console knows of a run that it watches: its state, put together from the messages of the stream. Loaded with
the vocabulary of events when the first run is watched.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from pydantic import ValidationError

from runtime.link import protocol as p
from runtime.link.view import StreamedText
from runtime.link.watched import Restoring
from runtime.record import events as ev
from runtime.record.state import RunState

log = logging.getLogger(__name__)


@dataclass(slots=True)
class WatchedView:
    """A run that the console watches. `state` is None until it was told; `problem` says why it cannot be."""

    state: RunState | None = None
    problem: str = ""
    texts: dict[str, StreamedText] = field(default_factory=dict)
    coming: Restoring = field(default_factory=Restoring)

    @property
    def last_seq(self) -> int:
        """The last event that is known."""
        return self.state.last_seq if self.state is not None else 0

    def cut(self) -> None:
        """The connection ended: half a snapshot is worth nothing."""
        self.coming = Restoring()

    def snapshot(self, message: p.RunSnapshot) -> None:
        """Take a part of the run's state in."""
        try:
            state = self.coming.add(message)
        except ValidationError as exc:
            log.exception("run %s", message.run_id)
            self.problem = f"this program cannot read the run: {exc.errors(include_url=False)[0]['msg']}"
            self.coming = Restoring()
            return
        if state is not None:
            self.state, self.problem, self.coming = state, "", Restoring()
            self.texts.clear()

    def event(self, message: p.RunEvent) -> bool:
        """Take an event in; False if events before it are missing."""
        if self.state is None or message.seq <= self.state.last_seq:
            return True
        if message.seq != self.state.last_seq + 1:
            return False
        event = _event(message)
        self.state.apply(event)
        if isinstance(event, ev.StepEnded):
            self.texts.pop(event.node_id, None)
        return True

    def delta(self, message: p.Delta) -> None:
        """Take a piece of a streamed reply in."""
        node = self.state.nodes.get(message.node_id) if self.state is not None else None
        if node is not None and node.terminal:
            return
        found = self.texts.get(message.node_id)
        if found is None or found.attempt < message.attempt:
            found = self.texts[message.node_id] = StreamedText(message.attempt)
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
