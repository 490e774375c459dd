"""A run that consoles watch: its state, folded from the journal once for all of them, and its latest events as sent.

A console that has the run up to some event gets what came since, if that is still at hand, else the state: as long as
the run has nodes, however many events made them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter

from runtime.link.protocol import RunSnapshot, Why
from runtime.record import events as ev
from runtime.record.state import RunState

RECENT = 2000
"""Events kept as sent, for consoles that come back after a cut."""
NODES_A_PART = 250

_state: TypeAdapter[RunState] = TypeAdapter(RunState)


def event_line(event: ev.Record) -> bytes:
    """`event` as a `RunEvent` message; written by hand, since the body is JSON already."""
    head = f'{{"t":"event","run_id":{_quoted(event.run_id)},"seq":{event.seq},"body":'
    return head.encode() + ev.dump(event).encode() + b"}"


def _quoted(text: str) -> str:
    return _strings.dump_json(text).decode()


_strings: TypeAdapter[str] = TypeAdapter(str)


class WatchedRun:
    """The fold of one run, fed with its events in order."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.state = RunState()
        self._recent: deque[tuple[int, bytes]] = deque(maxlen=RECENT)

    @property
    def seq(self) -> int:
        return self.state.last_seq

    def feed(self, event: ev.Record) -> bytes | None:
        """Take the next event in; the line that tells consoles of it, None if it is known already.

        Raises:
            LookupError: events between the last one and this are missing.
        """
        if event.seq <= self.seq:
            return None
        if event.seq != self.seq + 1:
            raise LookupError(f"run {self.run_id}: event {event.seq} came after {self.seq}")
        self.state.apply(event)
        line = event_line(event)
        self._recent.append((event.seq, line))
        return line

    def since(self, after: int) -> list[bytes] | None:
        """Lines of the events after `after`; None if they are not all at hand, or if `after` is none of this run's."""
        if after <= 0 or after > self.seq:
            return None
        if after == self.seq:
            return []
        if not self._recent or self._recent[0][0] > after + 1:
            return None
        return [line for seq, line in self._recent if seq > after]

    def snapshot(self, why: Why) -> list[bytes]:
        """The state in `RunSnapshot` messages."""
        return [message.line() for message in _snapshot(self.run_id, self.state, why)]


def _snapshot(run_id: str, state: RunState, why: Why) -> Iterator[RunSnapshot]:
    whole: dict[str, Any] = _state.dump_python(state, mode="json", by_alias=True, exclude_defaults=True)
    nodes: dict[str, Any] = whole.pop("nodes", {})
    ids = list(nodes)
    yield RunSnapshot(run_id=run_id, seq=state.last_seq, why=why, head=whole, more=bool(ids))
    for start in range(0, len(ids), NODES_A_PART):
        part = {node_id: nodes[node_id] for node_id in ids[start : start + NODES_A_PART]}
        more = start + NODES_A_PART < len(ids)
        yield RunSnapshot(run_id=run_id, seq=state.last_seq, why=why, nodes=part, more=more)


def restore(parts: list[RunSnapshot]) -> RunState:
    """The state that the messages of one snapshot hold.

    Raises:
        pydantic.ValidationError: they hold no state that this program can read.
    """
    whole: dict[str, Any] = {}
    nodes: dict[str, Any] = {}
    for part in parts:
        whole.update(part.head or {})
        nodes.update(part.nodes)
    return _state.validate_python({**whole, "nodes": nodes})
