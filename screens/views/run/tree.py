"""The tree of a run's nodes: which are shown, and which fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from runtime.judgement.reports.waiting_nodes import holding_nodes
from runtime.link.client.streamed_text import StreamedText
from runtime.record.state.durable_run import DurableRun, Node
from screens.render.layout import Column, Row
from screens.views.run.node_line import (
    MAX_PROGRESS_CHARS,
    UNFINISHED_BUSINESS,
    NodeFacts,
    argument_digest,
    node_cells,
    node_facts,
)
from screens.views.run.node_state import kind_words, node_word
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_filter import RowFilter

NODE_COLUMNS: Final = (
    Column("node", width=24, grow=1, both_ends=True),
    Column("state", width=17),
    Column("tries", width=4, right=True, drop=1),
    Column("time", width=6, right=True),
    Column("tokens", width=6, right=True, drop=2),
)
"""Wide enough for "retries in 1m05s" and "waiting 59m"."""
_NAMES_FIRST: Final = tuple(
    each._replace(width=30) if each.name == "node" else each._replace(drop=3) if each.name == "tries" else each
    for each in NODE_COLUMNS
)
"""The same where no step was tried again: there names have room before attempts and tokens do."""

_MOST_LOOKED_AT: Final = 200
"""Of a run with more nodes the column of attempts is there in any case."""

FRESH_SPAN: Final = timedelta(seconds=10)
"""How long a node that came is marked as new."""
CLOCK_SPAN: Final = timedelta(seconds=0.9)
"""After so long a line of which no event told may show another time."""
_FAULT_STATES: Final = frozenset({"waiting", "retrying", "failed", "timed_out", "degraded"})


@dataclass(frozen=True, slots=True)
class RunTree:
    """A run as `screens.render.tree_outline.OutlineSource`. Rows are made only for lines in sight.

    With `only` set, what it holds is all there is (see `narrowed`). Nodes that came after `since` are marked as new for
    a while. `texts` gives what a node has said so far.
    """

    state: DurableRun
    context: RenderContext
    only: frozenset[str] | None = None
    since: datetime | None = None
    texts: Callable[[str], StreamedText | None] | None = None
    holding: Mapping[str, int] = field(init=False)
    """Nodes below which nothing moves (`holding_nodes`)."""
    seen: tuple[int, int] = field(init=False)
    """The last event of the state, and the last that may have changed more than one node: it goes on from there."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "holding", holding_nodes(self.state))
        object.__setattr__(self, "seen", (self.state.last_seq, self.state.changed_seq))

    def roots(self) -> Sequence[str]:
        return [key for key in self.state.roots if self._shown(self.state.nodes[key])]

    def children(self, key: str) -> Sequence[str]:
        node = self.state.nodes.get(key)
        if node is None or not node.children:
            return ()
        nodes = self.state.nodes
        return [child for child in node.children if self._shown(nodes[child])]

    def parent(self, key: str) -> str:
        node = self.state.nodes.get(key)
        return node.parent_id if node is not None and node.parent_id in self.state.nodes else ""

    def folded_at_first(self, key: str) -> bool:
        """Finished parts fold, but not the run itself, and not what ended otherwise than it should. What is left of a
        narrowed tree is what was asked for: none of it folds.
        """
        node = self.state.nodes[key]
        done = node.terminal and bool(node.parent_id) and node.phase not in UNFINISHED_BUSINESS
        return done and self.only is None

    def shape(self) -> tuple[tuple[object, ...], int]:
        state = self.state
        others = (state.id, state.lives, len(state.rewound), len(state.incidents), state.scope_turns, self.only)
        return (others, len(state.nodes))

    def added_since(self, shape: object) -> Sequence[str] | None:
        others, count = self.shape()
        if not isinstance(shape, tuple) or shape[0] != others or self.only is not None or count < shape[1]:
            return None
        nodes = self.state.nodes
        came = list(islice(reversed(nodes), count - shape[1]))[::-1]
        places = {key: place for place, key in enumerate(came)}
        if any(places.get(nodes[key].parent_id, -1) > place for key, place in places.items()):
            return None  # a child that came before its parent is a root
        return [key for key in came if self._shown(nodes[key])]

    def changed_since(self, before: object) -> Callable[[str], bool] | None:
        if not isinstance(before, RunTree) or before.state is not self.state or before.holding != self.holding:
            return None
        if before.seen[1] != self.seen[1] or not timedelta() <= self.context.now - before.context.now < CLOCK_SPAN:
            return None
        nodes, last = self.state.nodes, before.seen[0]

        def changed(key: str) -> bool:
            node = nodes.get(key)
            return node is None or node.changed_seq > last or bool(self._progress(node))

        return changed

    def sibling_before(self, key: str) -> str:
        nodes = self.state.nodes
        parent = nodes.get(nodes[key].parent_id)
        siblings = reversed(parent.children if parent is not None else self.state.roots)
        for each in siblings:
            if each == key:
                break
        return next((each for each in siblings if self._shown(nodes[each])), "")

    def fresh(self, key: str) -> bool:
        node = self.state.nodes.get(key)
        opened = node.opened_at if node is not None else None
        return self.since is not None and opened is not None and opened > max(self.since, self.context.now - FRESH_SPAN)

    def facts(self, key: str) -> object:
        node = self.state.nodes.get(key)
        if node is None:
            return None
        return node_facts(node, self.state, self.context, self.holding, self._progress(node))

    def row(self, key: str, facts: object = None) -> Row:
        """Empty for a node that a rewind dropped since the last look: the state does not wait for one."""
        facts = facts or self.facts(key)
        cells = node_cells(facts, self.context) if isinstance(facts, NodeFacts) else ((),) * len(NODE_COLUMNS)
        return Row(key, cells)

    def _progress(self, node: Node) -> str:
        """What a tool that works says of how far it has come: the last line of it."""
        if self.texts is None or node.kind != "tool" or node.phase != "running":
            return ""
        said = self.texts(node.id)
        return said.text[-MAX_PROGRESS_CHARS:].rstrip().rpartition("\n")[2] if said is not None else ""

    def _shown(self, node: Node) -> bool:
        """Recorded values are the engine's own bookkeeping, unless a person is asked for one."""
        return (self.only is None or node.id in self.only) and (node.kind != "value" or bool(node.incidents))


def node_columns(state: DurableRun) -> tuple[Column, ...]:
    """The columns of a run's tree: where no step was tried again, names have the room of the attempts."""
    nodes = state.nodes
    tried_again = len(nodes) > _MOST_LOOKED_AT or any(node.tries_begun > 1 for node in nodes.values())
    return NODE_COLUMNS if tried_again else _NAMES_FIRST


def filter_nodes(state: DurableRun, pattern: RowFilter, *, faults_only: bool) -> frozenset[str] | None:
    """The nodes that a filter means, those with faults, or both; and all above them. None: nothing is left out."""
    if not pattern.active and not faults_only:
        return None
    found: set[str] = set()
    for node in state.nodes.values():
        if faults_only and not is_fault(node):
            continue
        if pattern.active and not pattern.matches(_searchable_text(node)):
            continue
        above = node
        while above.id not in found:
            found.add(above.id)
            if above.parent_id not in state.nodes:
                break
            above = state.nodes[above.parent_id]
    return frozenset(found)


def is_fault(node: Node) -> bool:
    """Whether the filter for trouble shows it: it waits, failed, is tried again, or warned."""
    return node.phase in _FAULT_STATES or bool(node.warnings) or (node.fault is not None and not node.terminal)


def _searchable_text(node: Node) -> str:
    """What a filter looks at."""
    states = f"{node.phase.replace('_', ' ')} {node_word(node.phase)}"
    return f"{node.name} {kind_words(node)} {states} {node.agent} {argument_digest(node)}"
