"""The choices of a question: one of them, or several."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.judgement.recovery.input_validation import is_secret
from runtime.record.state.events import IncidentOpened
from screens.render.layout import Span, Spans
from screens.views.decisions.prompt import PromptChoice
from screens.views.run.json_lines import json_text
from screens.views.shared.render_context import RenderContext


@dataclass(frozen=True, slots=True)
class ChoiceOffer:
    """What there is to choose; `several`: any number of them."""

    values: tuple[Any, ...]
    several: bool


def schema_of(opened: IncidentOpened, choice: PromptChoice) -> Mapping[str, Any]:
    """The schema of what is typed for a choice; empty where any text will do."""
    schema = {"input": opened.answer_schema, "result": opened.result_schema}.get(choice.option)
    return schema or {}


def offer_of(opened: IncidentOpened, choice: PromptChoice) -> ChoiceOffer | None:
    """What may be chosen; None where the answer is typed."""
    schema = schema_of(opened, choice)
    if is_secret(schema):
        return None
    if isinstance(values := schema.get("enum"), list) and values:
        return ChoiceOffer(tuple(values), several=False)
    items = schema.get("items")
    if isinstance(items, Mapping) and isinstance(values := items.get("enum"), list) and values:
        return ChoiceOffer(tuple(values), several=True)
    return None


def wants_file(opened: IncidentOpened, choice: PromptChoice) -> bool:
    """Whether the answer is a file's content, in base64."""
    return schema_of(opened, choice).get("contentEncoding") == "base64"


def answer_of(offer: ChoiceOffer, ticked: Collection[int]) -> Any:
    """The answer that the ticked ones make, in the order in which they are offered."""
    chosen = [offer.values[index] for index in sorted(ticked)]
    return chosen if offer.several else chosen[0]


def pick_line(offer: ChoiceOffer, index: int, looks: RenderContext, *, marked: bool, ticked: bool) -> Spans:
    """One of them, with the digit that chooses it, too."""
    value = offer.values[index]
    sign = looks.glyphs.cursor if marked else " "
    digit = f"{index + 1}" if index < 9 else " "
    box = f"[{'x' if ticked else ' '}] " if offer.several else ""
    words = looks.line(value if isinstance(value, str) else json_text(value), 200)
    ink = "ink-strong" if marked or ticked else "ink"
    return (
        Span(sign, "line-focus"),
        Span(f"{digit:>3} ", "ink-key", bold=True),
        Span(box, "ink-accent" if ticked else "ink-muted"),
        Span(words, ink, bold=marked),
    )
