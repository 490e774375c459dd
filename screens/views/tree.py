"""A run's tree of nodes: which nodes stand in it, what folds by itself, and what a line says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from runtime.record.state import Node, RunState
from screens.glyphs import state_ink, state_word
from screens.layout import Column, Row, Span, Spans, span
from screens.views.looks import Looks
from screens.views.values import json_lines
from screens.words import elapsed, plural, tokens, whole_seconds

COLUMNS: Final = (
    Column("node", width=24, grow=1),
    Column("state", width=16),
    Column("tries", width=4, right=True, drop=1),
    Column("time", width=6, right=True),
    Column("tokens", width=6, right=True, drop=2),
)
"""Wide enough for "retries in 1m05s" and "waiting 59m"."""

_KIND: Final = {"llm": "model", "value": "question"}
"""Kinds of nodes that have another word for an operator than for the code."""
STREAMED: Final = 4000
"""Characters of a reply in the making that are shown."""
_UNFINISHED_BUSINESS: Final = frozenset({"failed", "timed_out", "degraded"})


@dataclass(frozen=True, slots=True)
class RunTree:
    """A run as `screens.outline.Outlined`. Rows are made only for lines in sight."""

    state: RunState
    looks: Looks

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
        """Finished parts fold, but not the run itself, and not what ended otherwise than it should."""
        node = self.state.nodes[key]
        return node.terminal and bool(node.parent_id) and node.phase not in _UNFINISHED_BUSINESS

    def shape(self) -> object:
        state = self.state
        return (state.id, len(state.nodes), len(state.incidents), *(state.counts.get(phase, 0) for phase in _FOLDING))

    def row(self, key: str) -> Row:
        node = self.state.nodes[key]
        return Row(
            key,
            (
                _label(node, self.looks),
                _state(node, self),
                _tries(node, self.looks),
                _time(node, self.looks),
                _tokens(node),
            ),
        )

    def _shown(self, node: Node) -> bool:
        """Recorded values are the engine's own bookkeeping, unless a person is asked for one."""
        return node.kind != "value" or bool(node.incidents)


_FOLDING: Final = ("succeeded", "degraded", "failed", "timed_out", "skipped", "cancelled")


def _label(node: Node, looks: Looks) -> Spans:
    ink = "ink-muted" if node.terminal and node.phase not in _UNFINISHED_BUSINESS else "ink"
    name = looks.line(node.name, 120) or "?"
    found = [looks.sign(node.phase), Span(f" {name}", ink, bold=not node.is_step and not node.terminal)]
    if node.kind in ("llm", "group", "value", "swarm"):
        found.append(Span(f" {_KIND.get(node.kind, node.kind)}", "ink-muted"))
    if node.warnings:
        found.append(Span(f" {looks.glyphs.warning}", "severity-warning"))
    return tuple(found)


def _state(node: Node, tree: RunTree) -> Spans:
    looks = tree.looks
    word = state_word(node.phase)
    if node.phase == "retrying" and node.retry is not None:
        left = (node.retry.until - looks.now).total_seconds()
        word = f"retries in {whole_seconds(left + 1)}" if left > 0 else "retries now"
    elif node.phase == "waiting" and (since := _waiting_since(node, tree.state)):
        word = f"waits {elapsed(since, None, looks.now)}"
    return span(word, state_ink(node.phase))


def _waiting_since(node: Node, state: RunState) -> datetime | None:
    found = [state.incidents[key] for key in node.incidents if key in state.incidents]
    return next((incident.opened.ts for incident in found if incident.open), None)


def _tries(node: Node, looks: Looks) -> Spans:
    if node.attempts < 2:
        return ()
    return span(f"{looks.glyphs.times}{min(node.attempts, 999)}", "state-retrying")


def _time(node: Node, looks: Looks) -> Spans:
    until = node.closed_at
    ink = "ink-muted" if node.terminal else "ink"
    return span(elapsed(node.opened_at, until, looks.now), ink)


def _tokens(node: Node) -> Spans:
    return span(tokens(node.input_tokens, node.output_tokens), "ink-muted")


def detail_lines(state: RunState, node_id: str, looks: Looks, *, streamed: str = "") -> list[Spans]:
    """All that is known of one node, as lines: facts first, then what went in and what came out.

    `streamed` is the part of a reply that has come so far; its end is what is shown if it is long.
    """
    node = state.nodes.get(node_id)
    if node is None:
        return [span("No node is selected.", "ink-muted")]
    path = looks.glyphs.crumb.join(looks.line(found.name, 60) for found in state.lineage(node_id))
    lines: list[Spans] = [
        span(looks.line(node.name, 120), "ink-strong", bold=True),
        span(path, "ink-muted"),
        (*looks.state(node.phase), Span(f"{looks.glyphs.dot}{_KIND.get(node.kind, node.kind)}", "ink-muted")),
    ]
    lines += _facts(node, looks)
    if streamed and not node.terminal:
        lines += [
            (),
            span("So far", "ink-accent", bold=True),
            *(span(text) for text in looks.block(streamed[-STREAMED:])),
        ]
    for title, value in (("Error", node.error), ("Output", node.output)):
        if value:
            lines += [(), span(title, "ink-accent", bold=True), *(span(text) for text in looks.block(value))]
    for title, data in (
        ("Asked for", node.requested),
        ("Carried out instead", node.effective),
        ("Result", node.result),
    ):
        if data not in (None, {}, ""):
            lines += [(), span(title, "ink-accent", bold=True), *json_lines(data, looks)]
    if node.warnings:
        lines += [
            (),
            span("Warnings", "severity-warning", bold=True),
            *(span(looks.line(text)) for text in node.warnings),
        ]
    return lines


def _facts(node: Node, looks: Looks) -> list[Spans]:
    facts = [
        ("agent", looks.line(node.agent, 120)),
        ("attempts", plural(node.attempts, "attempt") if node.attempts else ""),
        ("time", elapsed(node.opened_at, node.closed_at, looks.now)),
        (
            "tokens",
            f"{node.input_tokens} in, {node.output_tokens} out" if node.input_tokens or node.output_tokens else "",
        ),
        ("needs", looks.line(", ".join(node.permissions))),
        *(
            (looks.line(str(key), 20), looks.line(str(value)))
            for key, value in node.info.items()
            if value not in ("", None)
        ),
    ]
    return [(Span(f"{name:<8}  ", "ink-muted"), Span(value)) for name, value in facts if value]
