"""The text of one action on several things: the question before, and each result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from runtime.operations.requests.runs import AbortRun, FreezeRuns, ThawRuns
from runtime.operations.requests.struct import Request
from screens.render.layout import (
    Span,
    Spans,
    join_spans,
    plain_text,
    span,
)
from screens.views.shared.render_context import RenderContext

_WORD_WIDTH = 13

CONSEQUENCES: Final = {
    "freeze": "No new step begins until it is thawed. Nothing is lost.",
    "thaw": "New steps begin again, where they stopped.",
    "abort": "It ends now, for good: steps under way are cancelled. What is done stays on record.",
}
"""What an order to a run does, by its verb."""
ORDERS: Final[Mapping[str, Callable[..., Request[Any]]]] = {"freeze": FreezeRuns, "thaw": ThawRuns, "abort": AbortRun}
"""The request of an order, by its verb; it takes a `run_id`."""


def order_question(verb: str, what: str) -> str:
    """What is asked before an order is given: ``Freeze 3 runs? …``. `what` names the runs, clean."""
    return f"{verb.capitalize()} {what}? {CONSEQUENCES[verb]}"


class BatchItem(Struct, frozen=True):
    """One of them; `title` is clean."""

    key: str
    title: str


class BatchOutcome(Struct, frozen=True):
    """What it came to: a state of the theme (for sign and colour), the word for it, and more about it, foreign."""

    state: str
    word: str
    detail: str = ""


NOT_YET = BatchOutcome("pending", "not yet")
ORDER_OUTCOMES: Final = {
    "freeze": BatchOutcome("frozen", "frozen"),
    "thaw": BatchOutcome("running", "thawed"),
    "abort": BatchOutcome("aborted", "aborting"),
}
"""What an order comes to for a run that took it, by its verb."""


def item_lines(items: Sequence[BatchItem], came: Mapping[str, BatchOutcome], context: RenderContext) -> list[Spans]:
    """A line for each: sign and word, what it is, what is known of it."""
    return [_line(item, came.get(item.key, NOT_YET), context) for item in items]


def _line(item: BatchItem, came: BatchOutcome, context: RenderContext) -> Spans:
    state = context.state_spans(came.state, came.word)
    word = plain_text(state)
    label = Span(word + " " * max(2, _WORD_WIDTH + 2 - len(word)), state[-1].ink)  # one piece: what wraps stands behind
    return (
        label,
        *join_spans((span(item.title), span(context.sanitize_line(came.detail, 300), "ink-muted")), context.glyphs.dot),
    )


def outcome_summary(items: Sequence[BatchItem], came: Mapping[str, BatchOutcome]) -> str:
    """`2 frozen, 1 refused, 3 not yet`."""
    counts: dict[str, int] = {}
    for item in items:
        word = came.get(item.key, NOT_YET).word
        counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{count} {word}" for word, count in counts.items())
