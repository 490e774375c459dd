"""The state of a run as `RunSnapshot` messages, and back: taken apart by the server, put together by a console."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any, Final, TypeVar

import msgspec

from runtime.link.wire import limits
from runtime.link.wire.protocol import RunSnapshot, SnapshotReason
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.struct_json import struct_to_builtins

R = TypeVar("R")

NODES_PER_PART = 250


def snapshot_parts(run_id: str, state: DurableRun, why: SnapshotReason) -> Iterator[RunSnapshot]:
    """The messages, in the order in which they are sent."""
    head = _told(state)
    head.pop("nodes", None)
    ids = list(state.nodes)
    yield RunSnapshot(run_id=run_id, seq=state.last_seq, why=why, head=struct_to_builtins(head), more=bool(ids))
    for start in range(0, len(ids), NODES_PER_PART):
        told = {node_id: _told(state.nodes[node_id]) for node_id in ids[start : start + NODES_PER_PART]}
        part: dict[str, Any] = struct_to_builtins(told)
        more = start + NODES_PER_PART < len(ids)
        yield RunSnapshot(run_id=run_id, seq=state.last_seq, why=why, nodes=part, more=more)


def _told(found: DurableRun | Node) -> dict[str, Any]:
    """The fields that are not at their defaults, less those that are no part of what is compared."""
    return {
        name: value
        for name, default in _DEFAULTS[type(found)].items()
        if (value := getattr(found, name)) is not default and value != default
    }


_DEFAULTS: Final[Mapping[type, Mapping[str, Any]]] = {
    kind: {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(kind)
        if field.compare
    }
    for kind in (DurableRun, Node)
}


def _read(told: dict[str, Any], kind: type[R]) -> R:
    return msgspec.convert(told, kind, str_keys=True, dec_hook=lambda _counter, value: Counter(value))


class InvalidState(ValueError):
    """A state that a console does not take from a runtime."""


class StateAssembler:
    """Puts a state together from the messages of one snapshot, a part at a time: a big run takes a screen's loop for
    a few milliseconds, again and again, and not for a good part of a second.

    Raises (from `add`):
        msgspec.ValidationError: a part holds no state that this program can read.
        InvalidState: it has too many nodes, or they are not a tree.
    """

    def __init__(self) -> None:
        self._state: DurableRun | None = None
        self._nodes: dict[str, Node] = {}

    def add(self, part: RunSnapshot) -> DurableRun | None:
        """The state, once its last part is there."""
        if part.head is not None:
            self._state, self._nodes = _read(part.head, DurableRun), {}
        if self._state is None:  # the rest of a snapshot whose head could not be read
            return None
        self._nodes.update(_read(part.nodes, dict[str, Node]))
        if len(self._nodes) > limits.MAX_NODES:
            raise InvalidState(f"it has more than {limits.MAX_NODES} nodes")
        if part.more:
            return None
        self._state.nodes = self._nodes
        _check_tree(self._state)
        return self._state


def bad_node(state: DurableRun, opened: ev.NodeOpened) -> str:
    """Why a node cannot be opened in a tree, in words; empty if it can."""
    if len(state.nodes) >= limits.MAX_NODES:
        return f"it has more than {limits.MAX_NODES} nodes"
    above = [opened.parent_id, *(node.parent_id for node in state.lineage(opened.parent_id))]
    return f"the node {opened.node_id!r:.80} would be above itself" if opened.node_id in above else ""


def _check_tree(state: DurableRun) -> None:
    """Raises `InvalidState` unless each node is reached from the roots once: what walks the tree ends, also upwards.

    Who is reached from a parent names it; so only from a root it may go on upwards to where it was.
    """
    nodes = state.nodes
    seen: set[str] = set()
    below = list(state.roots)
    while below:
        node_id = below.pop()
        node = nodes.get(node_id)
        if node is None or node.id != node_id or node_id in seen:
            raise InvalidState("its nodes are not a tree")
        seen.add(node_id)
        if node.children:
            if any(child in nodes and nodes[child].parent_id != node_id for child in node.children):
                raise InvalidState("its nodes are not a tree")
            below.extend(node.children)
    if len(seen) != len(nodes):
        raise InvalidState("its nodes are not a tree")
    ended: set[str] = set()
    for node_id in (root for root in state.roots if nodes[root].parent_id in nodes):
        above: set[str] = set()
        while node_id in nodes and node_id not in ended:
            if node_id in above:
                raise InvalidState("its nodes are not a tree")
            above.add(node_id)
            node_id = nodes[node_id].parent_id  # noqa: PLW2901 - up to a root
        ended |= above
