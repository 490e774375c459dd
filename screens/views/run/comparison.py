"""The comparison of two runs as lines: which they are, where they part, and what differs after that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from runtime.judgement.comparison.comparison_types import FieldDifference, NodeDifference, RunComparison
from screens.render.formatting import pluralize
from screens.render.layout import LINK_INK, Span, Spans, span
from screens.views.run.node_names import path_words
from screens.views.shared.render_context import RenderContext

_ONLY_ON: Final = {"only_left": "only on the left", "only_right": "only on the right"}
_ABSENT: Final = "(empty)"


def comparison_lines(
    found: RunComparison,
    context: RenderContext,
    *,
    titles: Mapping[str, str],
    most: int | None = None,
    rest: str = "--all shows them",
    linked: bool = False,
) -> list[Spans]:
    """The first divergence, then the others in the order of the tree, then what differs of the runs as a whole.

    Args:
        found: The comparison.
        context: The context of the view.
        titles: What people call the runs, by id; foreign text.
        most: Differences of nodes that are shown; all of them where it is None.
        rest: What shows those that are left out; ours, not foreign text.
        linked: Whether the ids of the runs are references, as a page of the console follows them.
    """
    lines = [
        _side("left", found.left, found, context, titles, linked=linked),
        _side("right", found.right, found, context, titles, linked=linked),
        span(f"{pluralize(found.same, 'step')} equal, {pluralize(len(found.nodes), 'node')} different", "ink-muted"),
    ]
    if found.first is None:
        lines += [(), span("The runs are the same: every node of one is in the other, and equal.", "ink-accent")]
    shown = found.nodes[:most]
    for number, node in enumerate(shown):
        lines += [(), _head(node, context, first=not number), *_fields(node.fields, context)]
    if left_out := len(found.nodes) - len(shown):
        lines += [(), span(f"{pluralize(left_out, 'more difference')}: {rest}", "ink-muted")]
    if found.run:
        lines += [(), span("the runs as a whole", "ink-accent", bold=True), *_fields(found.run, context)]
    return lines


def _side(
    side: str, run_id: str, found: RunComparison, context: RenderContext, titles: Mapping[str, str], *, linked: bool
) -> Spans:
    name = context.sanitize_line(run_id, 100)
    known = Span(f"[{name}]", LINK_INK) if linked else Span(name, "ink-strong", bold=True)
    line = [Span(f"{side:<7}", "ink-muted"), known]
    if found.origin and run_id != found.origin:
        line.append(Span(f", a fork of {context.sanitize_line(found.origin, 100)}"))
        if found.forked_at:
            line.append(Span(f" from {path_words(found.forked_at, context)}"))
    if title := context.sanitize_line(titles.get(run_id, ""), 120):
        line.append(Span(f"  {title}", "ink-muted"))
    return tuple(line)


def _head(node: NodeDifference, context: RenderContext, *, first: bool) -> Spans:
    word = Span("they part at ", "ink-accent", bold=True) if first else Span("then ", "ink-muted")
    only = _ONLY_ON.get(node.how, "")
    return (
        word,
        Span(path_words(node.node_id, context), "ink-strong", bold=first),
        Span(f" ({node.kind}){f': {only}' if only else ''}  {context.sanitize_line(node.node_id)}", "ink-muted"),
    )


def _fields(fields: tuple[FieldDifference, ...], context: RenderContext) -> list[Spans]:
    lines: list[Spans] = []
    for field in fields:
        left, right = context.sanitize_line(field.left, 600), context.sanitize_line(field.right, 600)
        lines += [
            (Span("  "), Span(context.sanitize_line(field.field, 80), "ink-strong")),
            (Span(f"    {'left':<7}", "ink-muted"), *_marked(left, right)),
            (Span(f"    {'right':<7}", "ink-muted"), *_marked(right, left)),
        ]
    return lines


def _marked(text: str, other: str) -> Spans:
    """A text with what differs from the other in bold: whole words, between their equal beginnings and ends."""
    if not text:
        return span(_ABSENT, "ink-muted")
    begin = _equal_length(text, other)
    end = len(text) - min(min(len(text), len(other)) - begin, _equal_length(text[::-1], other[::-1]))
    while begin and _in_word(text[begin - 1]):
        begin -= 1
    while end < len(text) and _in_word(text[end]):
        end += 1
    return (*span(text[:begin]), *span(text[begin:end], "ink-strong", bold=True), *span(text[end:]))


def _in_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _equal_length(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
