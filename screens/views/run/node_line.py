"""The line of a node in a run's tree: what it is made of, and its cells."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

from runtime.record.state.durable_run import DurableRun, Node
from screens.render.formatting import format_elapsed, format_tokens, whole_seconds
from screens.render.glyphs import state_ink
from screens.render.layout import Span, Spans, span
from screens.views.run.node_names import shown_name
from screens.views.run.node_state import KIND_WORDS, shown_state, shown_word
from screens.views.shared.render_context import RenderContext

UNFINISHED_BUSINESS: Final = frozenset({"failed", "timed_out", "degraded"})
"""Ends of a node that are not what was wanted: their lines stay bright, and what is below them unfolded."""
_MAX_VALUES: Final = 6
"""Arguments of a call that its line tells."""
_MAX_VALUE_CHARS: Final = 80
"""Characters of one of them: its beginning and its end."""
MAX_PROGRESS_CHARS: Final = 160
"""Characters of what a call says of its progress."""
_KINDS_TOLD: Final = frozenset({"llm", "group", "value", "swarm"})
"""Kinds that stand behind the name."""


class NodeFacts(NamedTuple):
    """All that the line of a node is made of, foreign text as it came: while it is equal, so is the line."""

    name: str
    kind: str
    state: str
    """The state that people are told."""
    word: str
    phase: str
    is_step: bool
    ended: bool
    framework: str
    """Of a guest."""
    warned: bool
    given: str
    """What a tool was called with."""
    progress: str
    """What it says of how far it has come."""
    tries: int
    time: str
    tokens: str


def node_facts(
    node: Node, state: DurableRun, context: RenderContext, holding: Mapping[str, int], progress: str = ""
) -> NodeFacts:
    """What the line of a node is made of now. Asked for each line in sight, ten times a second."""
    return NodeFacts(
        shown_name(node, state),
        node.kind,
        shown_state(node, holding),
        _state_words(node, state, context.now, holding),
        node.phase,
        node.is_step,
        node.terminal,
        str(node.info.get("framework", "")),
        bool(node.warnings),
        argument_digest(node),
        progress,
        node.tries_begun,
        format_elapsed(node.opened_at, node.closed_at, context.now),
        format_tokens(node.input_tokens, node.output_tokens),
    )


def node_cells(facts: NodeFacts, context: RenderContext) -> tuple[Spans, ...]:
    """The cells of `screens.views.run.tree.NODE_COLUMNS`."""
    progress = context.sanitize_line(facts.progress, MAX_PROGRESS_CHARS) if facts.progress else ""
    return (
        (*label_spans(facts, context), *span(f"  {progress}" if progress else "", "ink-accent")),
        state_spans(facts),
        span(f"{context.glyphs.times}{min(facts.tries, 999)}" if facts.tries > 1 else "", "state-retrying"),
        time_spans(facts),
        span(facts.tokens, "ink-muted"),
    )


def label_spans(facts: NodeFacts, context: RenderContext) -> Spans:
    """Sign and name of a node, its kind where the name does not tell, and what a tool was called with."""
    ink = "ink-muted" if facts.ended and facts.phase not in UNFINISHED_BUSINESS else "ink"
    name = context.name(facts.name, 120) or "?"
    found = [
        context.state_glyph(facts.state),
        Span(f" {name}", ink, bold=not facts.is_step and not facts.ended),
    ]
    kind = KIND_WORDS.get(facts.kind, facts.kind)
    if facts.kind in _KINDS_TOLD and name != kind:
        found.append(Span(f" {kind}", "ink-muted"))
    if framework := context.sanitize_line(facts.framework, 40):
        found.append(Span(f" {kind} ({framework})", "ink-muted"))
    if facts.warned:
        found.append(Span(f" {context.glyphs.warning}", "severity-warning"))
    if given := context.sanitize_line(facts.given, _MAX_VALUES * _MAX_VALUE_CHARS):
        found.append(Span(f" {given}", "ink-muted"))
    return tuple(found)


def state_spans(facts: NodeFacts) -> Spans:
    """The state of a node, with what it counts down to or how long it has been waiting."""
    return span(facts.word, state_ink(facts.state))


def time_spans(facts: NodeFacts) -> Spans:
    """How long it took, or takes by now."""
    return span(facts.time, "ink-muted" if facts.ended else "ink")


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


def _state_words(node: Node, state: DurableRun, now: datetime, holding: Mapping[str, int]) -> str:
    if node.phase == "retrying" and node.retry is not None:
        left = (node.retry.until - now).total_seconds()
        return f"retries in {whole_seconds(left + 1)}" if left > 0 else "retries now"
    if node.phase == "waiting" and (since := _waiting_since(node, state)):
        return f"needs you {format_elapsed(since, None, now)}"
    return shown_word(node, holding)


def _waiting_since(node: Node, state: DurableRun) -> datetime | None:
    found = [state.incidents[key] for key in node.incidents if key in state.incidents]
    return next((incident.opened.ts for incident in found if incident.open), None)
