"""A run that consoles watch: its state, folded from the journal once for all of them, and its latest events as sent.

A console that has the run up to some event gets what came since, if that is still at hand, else the state: as long as
the run has nodes, however many events made them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from runtime.link.wire import limits
from runtime.link.wire.protocol import RunSnapshot, Why
from runtime.record.journal import Journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Node, RunState

RECENT = 2000
"""Events kept as sent, for consoles that come back after a cut."""
NODES_A_PART = 250
IDLE = 8
"""Runs kept though nobody watches them any more."""
CHUNK = 1000
"""Events folded in one go: the other consoles must not wait for a big run."""


@cache
def _state() -> TypeAdapter[RunState]:
    """Worked out for the first run that is watched, not when a console opens."""
    return TypeAdapter(RunState)


@cache
def _nodes() -> TypeAdapter[dict[str, Node]]:
    return TypeAdapter(dict[str, Node])


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
    whole: dict[str, Any] = _state().dump_python(state, mode="json", by_alias=True, exclude_defaults=True)
    nodes: dict[str, Any] = whole.pop("nodes", {})
    ids = list(nodes)
    yield RunSnapshot(run_id=run_id, seq=state.last_seq, why=why, head=whole, more=bool(ids))
    for start in range(0, len(ids), NODES_A_PART):
        part = {node_id: nodes[node_id] for node_id in ids[start : start + NODES_A_PART]}
        more = start + NODES_A_PART < len(ids)
        yield RunSnapshot(run_id=run_id, seq=state.last_seq, why=why, nodes=part, more=more)


class WatchedRuns:
    """The runs that are watched, and the few that were watched last: consoles come back."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._runs: dict[str, WatchedRun] = {}
        self._loading: dict[str, list[ev.Record]] = {}

    def get(self, run_id: str) -> WatchedRun | None:
        return self._runs.get(run_id)

    def clear(self) -> None:
        self._runs.clear()

    def feed(self, event: ev.Record) -> bytes | None:
        """Take the journal's next event in; the line that tells of it, None if nobody needs to be told.

        Raises:
            LookupError: the run has a gap; it is forgotten and has to be loaded again.
        """
        if (waiting := self._loading.get(event.run_id)) is not None:
            waiting.append(event)
        run = self._runs.get(event.run_id)
        if run is None:
            return None
        try:
            return run.feed(event)
        except LookupError:
            del self._runs[event.run_id]
            raise

    async def load(self, run_id: str) -> WatchedRun | None:
        """Fold a run from the journal; None if there is no such run. What the tail brings meanwhile is kept and taken
        in at the end, so that whoever joins then has all before and will see all after. Raises `JournalError`.
        """
        run = WatchedRun(run_id)
        waiting = self._loading.setdefault(run_id, [])
        try:
            while events := await self._journal.read(run_id, run.seq, CHUNK):
                for event in events:
                    run.feed(event)
        finally:
            self._loading.pop(run_id, None)
        if run_id in self._runs:
            return self._runs[run_id]
        for event in waiting:
            run.feed(event)
        if not run.seq:
            return None
        self._runs[run_id] = run
        return run

    def trim(self, watched: Collection[str]) -> None:
        """Forget runs that nobody watches, but for the latest few."""
        idle = [run_id for run_id in self._runs if run_id not in watched]
        for run_id in idle[: max(0, len(idle) - IDLE)]:
            del self._runs[run_id]


class BadState(ValueError):
    """A state that a console does not take from a runtime."""


class Restoring:
    """Puts a state together from the messages of one snapshot, a part at a time: a big run takes a screen's loop for
    a few milliseconds, again and again, and not for a good part of a second.

    Raises (from `add`):
        pydantic.ValidationError: a part holds no state that this program can read.
        BadState: it has too many nodes, or they are no tree.
    """

    def __init__(self) -> None:
        self._state: RunState | None = None
        self._nodes: dict[str, Node] = {}

    def add(self, part: RunSnapshot) -> RunState | None:
        """The state, once its last part is there."""
        if part.head is not None:
            self._state, self._nodes = _state().validate_python(part.head), {}
        if self._state is None:  # the rest of a snapshot whose head could not be read
            return None
        self._nodes.update(_nodes().validate_python(part.nodes))
        if len(self._nodes) > limits.NODES:
            raise BadState(f"it has more than {limits.NODES} nodes")
        if part.more:
            return None
        self._state.nodes = self._nodes
        _check_tree(self._state)
        return self._state


def bad_node(state: RunState, opened: ev.NodeOpened) -> str:
    """Why a node cannot be opened in a tree, in words; empty if it can."""
    if len(state.nodes) >= limits.NODES:
        return f"it has more than {limits.NODES} nodes"
    above = [opened.parent_id, *(node.parent_id for node in state.lineage(opened.parent_id))]
    return f"the node {opened.node_id!r:.80} would be above itself" if opened.node_id in above else ""


def _check_tree(state: RunState) -> None:
    """Raises `BadState` unless each node is reached from the roots once: what walks the tree ends."""
    seen: set[str] = set()
    below = list(state.roots)
    while below:
        node = state.nodes.get(below.pop())
        if node is None or node.id in seen:
            raise BadState("its nodes are not a tree")
        seen.add(node.id)
        if any(child in state.nodes and state.nodes[child].parent_id != node.id for child in node.children):
            raise BadState("its nodes are not a tree")
        below.extend(node.children)
    if len(seen) != len(state.nodes):
        raise BadState("its nodes are not a tree")
    ended: set[str] = set()
    for node_id in state.nodes:
        above: set[str] = set()
        while node_id in state.nodes and node_id not in ended:
            if node_id in above:
                raise BadState("its nodes are not a tree")
            above.add(node_id)
            node_id = state.nodes[node_id].parent_id  # noqa: PLW2901 - up to a root
        ended |= above
