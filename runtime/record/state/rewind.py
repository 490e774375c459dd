"""What a rewind drops, by path (DESIGN section 2, rule 11).

A node, its descendants, and everything later in its sequential ancestors. Siblings that ran side by side with it, or
with one of its ancestors, stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.record.state.nodes import Node
    from runtime.record.state.run_data import RunData

_ORDINAL_SUFFIX = re.compile(r"~(\d+)(?:\.(\d+))?$")


def place_of(node_id: str) -> tuple[int, int | None]:
    """`seq` and `par` of the last element of a path (see `orbiter.steps.Place`)."""
    match = _ORDINAL_SUFFIX.search(node_id)
    if match is None:
        return 0, None
    return int(match.group(1)), int(match.group(2)) if match.group(2) is not None else None


def is_later(node_id: str, than: str) -> bool:
    """Whether one of two siblings comes after the other. The calls of a turn come after the turn's own reply."""
    seq, par = place_of(node_id)
    other_seq, other_par = place_of(than)
    return seq > other_seq or (seq == other_seq and par is not None and other_par is None)


def nodes_dropped_by(state: RunData, node_id: str) -> set[str]:
    """Ids of the nodes that go when the run is turned back to `node_id`, it included."""
    lineage = state.lineage(node_id)
    # Inside a step that is one call of user code nothing can be kept: the call is made again as a whole.
    target = next((index for index, node in enumerate(lineage) if node.is_step), len(lineage) - 1)
    dropped: set[str] = set()
    for index, node in enumerate(lineage[: target + 1]):
        siblings = state.nodes[node.parent_id].children if node.parent_id in state.nodes else state.roots
        for sibling in siblings:
            if is_later(sibling, node.id) or (index == target and sibling == node.id):
                _with_descendants(state, sibling, dropped)
    return dropped


def _with_descendants(state: RunData, node_id: str, found: set[str]) -> None:
    stack = [node_id]
    while stack:
        current = stack.pop()
        found.add(current)
        stack.extend(state.nodes[current].children)


def repeated_effects(state: RunData, dropped: set[str]) -> list[Node]:
    """Tool calls among `dropped` that took effect, or may have, and must not be made again unasked; in the order in
    which they began.
    """
    nodes = (node for node_id, node in state.nodes.items() if node_id in dropped)
    return [
        node
        for node in nodes
        if node.kind == "tool" and node.is_step and not node.idempotent and node.attempts and node.by is None
    ]
