"""The page of one node: what it is, its input, output, attempts and events."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from runtime.judgement.reports.transcript import TranscriptMessage, build_transcript
from runtime.judgement.reports.waiting_nodes import holding_nodes
from runtime.link.client.streamed_text import StreamedText
from runtime.record.state.durable_run import DurableRun, FailedAttempt, Node
from screens.render.formatting import (
    format_cost,
    format_duration,
    format_elapsed,
    pluralize,
)
from screens.render.layout import Span, Spans, span
from screens.render.sanitize import sanitize_text
from screens.views.run.json_lines import json_text
from screens.views.run.node_names import shown_name
from screens.views.run.node_state import kind_words, shown_state, shown_word
from screens.views.run.report import decision_lines
from screens.views.shared.render_context import RenderContext

MAX_STREAMED_CHARS: Final = 2900
"""Characters of a reply in the making that are shown at least: its end. At most twice as many, less than
`MAX_VALUE_CHARS`.
"""
MAX_STREAMED_LINES: Final = 190
"""The same in lines: a page has no more than `screens.render.sanitize.MAX_LINES` of one text."""
MAX_VALUE_CHARS: Final = 6000
"""Characters of one value that are shown; an export of the run has all of them."""
MAX_FACT_LINES: Final = 3
"""Lines of a fact that is a text, such as a task."""
MAX_MESSAGES: Final = 40
"""Messages that are shown: the first ones, which say what is wanted, and the latest."""
_FIRST_MESSAGES: Final = 2


def node_lines(
    state: DurableRun, node_id: str, context: RenderContext, *, streamed: StreamedText | None = None
) -> list[Spans]:
    """The sections in their order; those without anything to say are left out.

    `streamed` is the part of a reply that has come so far; its end is what is shown if it is long.
    """
    node = state.nodes.get(node_id)
    if node is None:
        return [span("No node is selected.", "ink-muted")]
    holding = holding_nodes(state)
    above = (shown_name(found, state) for found in state.lineage(node_id))
    path = context.glyphs.crumb.join(context.sanitize_line(name, 60) for name in above)
    lines: list[Spans] = [
        span(context.sanitize_line(shown_name(node, state), 120), "ink-strong", bold=True),
        span(path, "ink-muted"),
        (
            *context.state_spans(shown_state(node, holding), shown_word(node, holding)),
            Span(f"{context.glyphs.dot}{kind_words(node)}", "ink-muted"),
        ),
        *_facts(node, context),
    ]
    for title, body in _sections(state, node, context, streamed):
        if body:
            lines += [(), span(title, "severity-warning" if title == "Warnings" else "ink-accent", bold=True), *body]
    return lines


def _sections(
    state: DurableRun, node: Node, context: RenderContext, streamed: StreamedText | None
) -> Iterator[tuple[str, list[Spans]]]:
    if node.fault is not None or not node.is_step:  # of an attempt before the one that succeeded, `Attempts` tells
        yield "Error", _value(node.error, context)
    yield "Output", _value(node.output, context)
    yield "Messages", _messages(state, node, context)
    whole = isinstance(node.requested.get("messages"), list)
    yield "Asked for", _value({k: v for k, v in node.requested.items() if k != "messages" or not whole}, context)
    yield "Carried out instead", _value({k: v for k, v in node.effective.items() if k != "messages"}, context)
    yield "Changed by a hook", _value({k: v for k, v in (node.edits or {}).items() if k != "messages"}, context)
    yield "Result", _value(node.result, context)
    yield "Attempts", [line for each in node.tries for line in _attempt(each, context)]
    yield "Other models", [_fell_back(each.from_model, each.to_model, each.reason, context) for each in node.fell_back]
    yield "Permissions used", _granted(state, node, context)
    yield "Decisions", _decisions(state, node, context)
    yield "Warnings", [span(context.sanitize_line(text)) for text in node.warnings]
    if streamed is not None and not node.terminal:  # last: who reads on at the end of the page sees it come
        yield "Thinking", _value(_text_tail(streamed.reasoning), context)
        yield "So far", _value(_text_tail(streamed.text), context)


def _facts(node: Node, context: RenderContext) -> list[Spans]:
    facts = [
        ("agent", context.sanitize_line(node.agent, 120)),
        ("attempts", pluralize(node.tries_begun, "attempt") if node.attempts else ""),
        ("time", format_elapsed(node.opened_at, node.closed_at, context.now)),
        (
            "tokens",
            f"{node.input_tokens} in, {node.output_tokens} out" if node.input_tokens or node.output_tokens else "",
        ),
        ("cost", format_cost(node.cost_usd)),
        ("needs", context.sanitize_line(", ".join(node.permissions))),
        ("given by", context.sanitize_line(node.by.name or node.by.channel, 60) if node.by is not None else ""),
        *(
            (context.sanitize_line(str(key), 20), _info_words(value))
            for key, value in node.info.items()
            if value not in ("", None)
        ),
    ]
    return [line for name, value in facts if value for line in _fact_lines(name, value, context)]


def _info_words(value: Any) -> str:
    """What a node says of itself, foreign: a list of names without the signs of a list."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _fact_lines(name: str, value: str, context: RenderContext) -> list[Spans]:
    """A fact behind its name; the lines of a text one below the other, a few of them."""
    lines = value.split("\n")
    shown = [context.sanitize_line(line) for line in lines[:MAX_FACT_LINES]]
    if len(lines) > len(shown):
        shown = [*shown[:-1], f"{shown[-1]} {context.glyphs.ellipsis}"]
    labels = [name, *[""] * (len(shown) - 1)]
    return [(Span(f"{label:<8}  ", "ink-muted"), Span(line)) for label, line in zip(labels, shown, strict=True)]


def _text_tail(text: str) -> str:
    """The end of a text that grows. Its beginning goes in steps, or it would slide away under a reader's eyes."""
    start = _round_to_step(len(text), MAX_STREAMED_CHARS)
    rows = text[start:].split("\n")
    skipped = _round_to_step(len(rows), MAX_STREAMED_LINES)
    start += sum(len(row) + 1 for row in rows[:skipped])
    return "\n".join((f"... {start} characters before", *rows[skipped:])) if start else text


def _round_to_step(length: int, step: int) -> int:
    return max(0, (length - 1) // step - 1) * step


def _value(value: Any, context: RenderContext) -> list[Spans]:
    """Text as it is, everything else as JSON; what is too long is cut, and how much is said."""
    if value in (None, {}, ""):
        return []
    text = value if isinstance(value, str) else json_text(value)
    return [span(line) for line in _block(text, MAX_VALUE_CHARS, context.ascii_only)]


@lru_cache(maxsize=512)
def _block(text: str, size: int, ascii_only: bool) -> tuple[str, ...]:
    """Foreign text through the gate. A page is looked at ten times a second, and its texts stay."""
    return tuple(sanitize_text(text, size=size, ascii_only=ascii_only).split("\n"))


def _messages(state: DurableRun, node: Node, context: RenderContext) -> list[Spans]:
    """What the model was sent: who says what. The middle of a long conversation is left out, and said to be."""
    messages, number = build_transcript(state, node.id)
    if not messages:
        return []
    lines: list[Spans] = []
    if node.compactions:
        lines.append(span(f"made smaller {pluralize(node.compactions, 'time')} before it was sent", "severity-warning"))
    if number != len(messages):
        said = f"{number} were sent; {len(messages)} of them are in the journal"
        lines.append(span(said, "ink-muted"))
    left_out = len(messages) - MAX_MESSAGES
    for index, message in enumerate(messages):
        if left_out > 0 and _FIRST_MESSAGES <= index < _FIRST_MESSAGES + left_out:
            if index == _FIRST_MESSAGES:
                lines.append(span(f"{context.glyphs.ellipsis} {left_out} more messages between these", "ink-muted"))
            continue
        lines += _message(message, context)
    return lines


def _message(message: TranscriptMessage, context: RenderContext) -> list[Spans]:
    who = " ".join(part for part in (message.role, message.name) if part)
    head = Span(f"{context.sanitize_line(who, 60)}  ", "ink-muted", bold=True)
    texts = _block(message.text, MAX_VALUE_CHARS, context.ascii_only) if message.text else ()
    lines: list[Spans] = [(head, Span(texts[0]))] if texts else [(head,)]
    lines += [span(f"  {text}") if text else () for text in texts[1:]]
    for name, arguments in message.calls:
        called = (Span("  calls ", "ink-muted"), Span(context.sanitize_line(name, 120), "ink-strong"))
        lines.append((*called, Span(f" {context.sanitize_line(arguments, 500)}")))
    return lines


def _attempt(each: FailedAttempt, context: RenderContext) -> list[Spans]:
    cause = each.cause.replace("_", " ")
    line: list[Span] = [
        Span(f"{each.attempt:>2}  ", "ink-muted"),
        Span(f"{context.glyphs.state['failed']} {context.sanitize_line(cause, 60)}", "state-failed"),
        Span(f" after {format_duration(each.seconds)} at {each.ended_at:%H:%M:%S}", "ink-muted"),
    ]
    if each.wait_s is not None:
        line.append(
            Span(
                f", then a pause of {format_duration(each.wait_s)} ({context.sanitize_line(each.wait_source, 60)})",
                "ink-muted",
            )
        )
    said = context.sanitize_line(each.message)
    return [tuple(line), *([span(f"    {said}")] if said else [])]


def _fell_back(before: str, after: str, reason: str, context: RenderContext) -> Spans:
    why = f": {context.sanitize_line(reason)}" if reason else ""
    return (
        Span(f"{context.sanitize_line(after, 120)}", "ink-strong"),
        Span(f" in place of {context.sanitize_line(before, 120)}{why}"),
    )


def _granted(state: DurableRun, node: Node, context: RenderContext) -> list[Spans]:
    """Each use of a standing grant, and what was granted for this very call."""
    return [
        (
            Span(context.sanitize_line(use.need), "ink-strong"),
            Span(f" by grant {context.sanitize_line(use.grant_id, 60)} at {use.ts:%H:%M:%S}", "ink-muted"),
        )
        for use in state.granted.get(node.id, ())
    ]


def _decisions(state: DurableRun, node: Node, context: RenderContext) -> list[Spans]:
    found = [state.incidents[key] for key in node.incidents if key in state.incidents]
    return [line for incident in found for line in decision_lines(incident, context)]
