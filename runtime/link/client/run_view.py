"""The view of a watched run: its state, built from the messages of the stream.

Loaded with the vocabulary of events when the first run is watched.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from msgspec import ValidationError

from runtime.link.client.streamed_text import StreamedText
from runtime.link.wire import limits
from runtime.link.wire import protocol as p
from runtime.link.wire.run_snapshot import InvalidState, StateAssembler, bad_node
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun

log = logging.getLogger(__name__)


@dataclass(slots=True)
class RunView:
    """A run that the console watches. `state` is None until it was told; `problem` says why it cannot be."""

    state: DurableRun | None = None
    problem: str = ""
    texts: dict[str, StreamedText] = field(default_factory=dict)
    coming: StateAssembler = field(default_factory=StateAssembler)
    size: int = 0
    """Bytes of the events since the last snapshot, or of the snapshot that is coming."""
    needs_snapshot: bool = False
    """Whether a snapshot was asked for: events change nothing until it is here."""

    @property
    def last_seq(self) -> int:
        """The last event that is known."""
        return self.state.last_seq if self.state is not None else 0

    def connection_cut(self) -> None:
        """The connection ended: half a snapshot is worth nothing."""
        self.coming, self.needs_snapshot, self.size = StateAssembler(), False, 0

    def apply_snapshot(self, message: p.RunSnapshot, size: int = 0) -> None:
        """Take a part of the run's state in."""
        self.size = size if message.head is not None else self.size + size
        try:
            if self.size > limits.MAX_RUN_BYTES:
                raise InvalidState(f"its state takes more than {limits.format_mebibytes(limits.MAX_RUN_BYTES)}")
            state = self.coming.add(message)
        except ValidationError as exc:
            log.exception("run %s", message.run_id)
            self._give_up(f"this program cannot read the run: {exc}")
            return
        except InvalidState as exc:
            self._give_up(f"the run cannot be shown: {exc}")
            return
        if state is not None:
            self.state, self.problem, self.coming = state, "", StateAssembler()
            self.size, self.needs_snapshot = 0, False
            self.texts.clear()

    def _give_up(self, problem: str) -> None:
        self.state, self.problem, self.coming, self.needs_snapshot = None, problem, StateAssembler(), False
        self.texts.clear()

    def apply_event(self, message: p.RunEvent, size: int = 0) -> bool:
        """Take an event in; False if a snapshot must be asked for: events before it are missing, or are too many."""
        if self.state is None or self.needs_snapshot or message.seq <= self.state.last_seq:
            return True
        self.size += size
        if message.seq != self.state.last_seq + 1 or self.size > limits.MAX_RUN_BYTES:
            self.needs_snapshot = True
            return False
        event = _parse_event(message)
        if event.__class__ is ev.NodeOpened and (why := bad_node(self.state, event)):
            self._give_up(f"the run cannot be shown: {why}")
            return True
        self.state.apply(event)
        if event.__class__ is ev.StepEnded:
            self.texts.pop(event.node_id, None)
        return True

    def apply_delta(self, message: p.Delta) -> None:
        """Take a piece of a streamed reply in."""
        node = self.state.nodes.get(message.node_id) if self.state is not None else None
        if node is not None and node.terminal:
            return
        found = self.texts.get(message.node_id)
        if found is None and len(self.texts) >= limits.MAX_TEXTS:
            return
        if found is None or found.attempt < message.attempt:
            found = self.texts[message.node_id] = StreamedText(message.attempt)
        have = getattr(found, message.kind)
        if found.attempt == message.attempt and message.offset <= len(have) < limits.MAX_TEXT_CHARS:
            setattr(found, message.kind, have[: message.offset] + message.text)


def _parse_event(message: p.RunEvent) -> ev.JournalEvent:
    """The event, or what is left of it if this program cannot read it: one odd event must not hide a run."""
    try:
        return ev.load_event(bytes(message.body))
    except ev.InvalidEvent:
        log.exception("event %d of run %s", message.seq, message.run_id)
        return ev.UnknownEvent(type=ev.type_in_line(bytes(message.body)) or "?", run_id=message.run_id, seq=message.seq)
