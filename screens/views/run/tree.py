"""The tree of a run's nodes: which are shown, which fold, and the text of each line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from runtime.judgement.reports.waiting_nodes import holding_nodes
from runtime.link.client.streamed_text import StreamedText
from runtime.record.state.durable_run import DurableRun, Node
from screens.render.formatting import format_elapsed, format_tokens, whole_seconds
from screens.render.glyphs import state_ink
from screens.render.layout import (
    Column,
    Row,
    Span,
    Spans,
    span,
)
from screens.views.run.node import KIND_WORDS
from screens.views.run.node_names import shown_name
from screens.views.run.node_state import node_word, shown_state, shown_word
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

_UNFINISHED_BUSINESS: Final = frozenset({"failed", "timed_out", "degraded"})


FRESH_SPAN: Final = timedelta(seconds=10)
"""How long a node that came is marked as new."""
_MAX_VALUES: Final = 6
"""Arguments of a call that its line tells."""
_MAX_VALUE_CHARS: Final = 80
"""Characters of one of them: its beginning and its end."""
_MAX_PROGRESS_CHARS: Final = 160
"""Characters of what a call says of its progress."""
_FAULT_STATES: Final = frozenset({"waiting", "retrying", "failed", "timed_out", "degraded"})
_FOLDED_STATES: Final = ("succeeded", "degraded", "failed", "timed_out", "skipped", "cancelled")


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "holding", holding_nodes(self.state))

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
        done = node.terminal and bool(node.parent_id) and node.phase not in _UNFINISHED_BUSINESS
        return done and self.only is None

    def shape(self) -> tuple[tuple[object, ...], int]:
        state = self.state
        counts = tuple(state.counts.get(phase, 0) for phase in _FOLDED_STATES)
        others = (state.id, state.lives, len(state.rewound), len(state.incidents), counts, self.only)
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

    def row(self, key: str) -> Row:
        """Empty for a node that a rewind dropped since the last look: the state does not wait for one."""
        node = self.state.nodes.get(key)
        if node is None:
            return Row(key, ((),) * len(NODE_COLUMNS))
        return Row(
            key,
            (
                (
                    *node_label(node, self.context, self.holding, shown_name(node, self.state)),
                    *self._progress(node),
                ),
                state_words(node, self.state, self.context, self.holding),
                _attempt_spans(node, self.context),
                _time(node, self.context),
                _tokens(node),
            ),
        )

    def _progress(self, node: Node) -> Spans:
        """What a tool that works says of how far it has come: the last line of it."""
        if self.texts is None or node.kind != "tool" or node.phase != "running":
            return ()
        said = self.texts(node.id)
        last = said.text[-_MAX_PROGRESS_CHARS:].rstrip().rpartition("\n")[2] if said is not None else ""
        return span(f"  {self.context.sanitize_line(last, _MAX_PROGRESS_CHARS)}", "ink-accent") if last else ()

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
    kind = KIND_WORDS.get(node.kind, node.kind)
    states = f"{node.phase.replace('_', ' ')} {node_word(node.phase)}"
    return f"{node.name} {kind} {states} {node.agent} {argument_digest(node)}"


def argument_digest(node: Node) -> str:
    """What a tool was called with, in a few words as they came: it tells calls of one name apart. A long text beside
    short ones does not. Empty for others.
    """
    if node.kind != "tool":
        return ""
    arguments = node.effective.get("arguments", node.requested.get("arguments"))
    if not isinstance(arguments, dict):
        return ""
    texts = [str(value) for value in islice(arguments.values(), _MAX_VALUES)]
    short = [text for text in texts if len(text) <= _MAX_VALUE_CHARS and "\n" not in text]
    return ", ".join(short or map(_ends, texts))


def _ends(text: str) -> str:
    return (
        text if len(text) <= _MAX_VALUE_CHARS else f"{text[: _MAX_VALUE_CHARS // 2]}...{text[-_MAX_VALUE_CHARS // 2 :]}"
    )


def node_label(node: Node, context: RenderContext, holding: Mapping[str, int], name: str) -> Spans:
    """Sign and name of a node, its kind where the name does not tell, and what a tool was called with."""
    ink = "ink-muted" if node.terminal and node.phase not in _UNFINISHED_BUSINESS else "ink"
    name = context.sanitize_line(name, 120) or "?"
    found = [
        context.state_glyph(shown_state(node, holding)),
        Span(f" {name}", ink, bold=not node.is_step and not node.terminal),
    ]
    kind = KIND_WORDS.get(node.kind, node.kind)
    if node.kind in ("llm", "group", "value", "swarm") and name != kind:
        found.append(Span(f" {kind}", "ink-muted"))
    if framework := context.sanitize_line(str(node.info.get("framework", "")), 40):  # a guest's
        found.append(Span(f" {kind} ({framework})", "ink-muted"))
    if node.warnings:
        found.append(Span(f" {context.glyphs.warning}", "severity-warning"))
    if given := context.sanitize_line(argument_digest(node), _MAX_VALUES * _MAX_VALUE_CHARS):
        found.append(Span(f" {given}", "ink-muted"))
    return tuple(found)


def state_words(node: Node, state: DurableRun, context: RenderContext, holding: Mapping[str, int]) -> Spans:
    """The state of a node, with what it counts down to or how long it has been waiting."""
    word = shown_word(node, holding)
    if node.phase == "retrying" and node.retry is not None:
        left = (node.retry.until - context.now).total_seconds()
        word = f"retries in {whole_seconds(left + 1)}" if left > 0 else "retries now"
    elif node.phase == "waiting" and (since := _waiting_since(node, state)):
        word = f"needs you {format_elapsed(since, None, context.now)}"
    return span(word, state_ink(shown_state(node, holding)))


def _waiting_since(node: Node, state: DurableRun) -> datetime | None:
    found = [state.incidents[key] for key in node.incidents if key in state.incidents]
    return next((incident.opened.ts for incident in found if incident.open), None)


def _attempt_spans(node: Node, context: RenderContext) -> Spans:
    if node.tries_begun < 2:
        return ()
    return span(f"{context.glyphs.times}{min(node.tries_begun, 999)}", "state-retrying")


def _time(node: Node, context: RenderContext) -> Spans:
    until = node.closed_at
    ink = "ink-muted" if node.terminal else "ink"
    return span(format_elapsed(node.opened_at, until, context.now), ink)


def _tokens(node: Node) -> Spans:
    return span(format_tokens(node.input_tokens, node.output_tokens), "ink-muted")
