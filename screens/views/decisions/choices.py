"""The choices of a question: one of them, or several."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from runtime.judgement.forms.schema_form import form_of
from runtime.judgement.forms.secret_schema import is_secret
from runtime.judgement.recovery.param_validation import schema_of
from runtime.record.state.events import IncidentOpened
from screens.render.layout import Span, Spans
from screens.views.decisions.prompt_choices import PromptChoice
from screens.views.run.json_lines import json_text
from screens.views.shared.render_context import RenderContext


class ChoiceOffer(Struct, frozen=True):
    """What there is to choose; `several`: any number of them."""

    values: tuple[Any, ...]
    several: bool
    titles: tuple[str, ...] = ()
    """What each is called; empty: as it is written."""
    boxes: bool = False
    """Also one of them is ticked, and not only marked: it may be left out."""
    typed: bool = False
    """Another than these may be typed; so is a name that a row only begins."""
    least: int = 0
    """So many of several must be ticked."""
    most: int = 0
    """So many of several may be; 0: all."""


def _schema_of(opened: IncidentOpened, choice: PromptChoice) -> Mapping[str, Any]:
    """The schema of what is typed for a choice; empty where any text will do."""
    return (schema_of(opened, choice.param) if choice.param is not None else None) or {}


def is_secret_choice(opened: IncidentOpened, choice: PromptChoice) -> bool:
    """Whether what is typed for a choice is not shown."""
    return is_secret(_schema_of(opened, choice))


def offer_of(opened: IncidentOpened, choice: PromptChoice) -> ChoiceOffer | None:
    """What may be chosen; None where the answer is typed."""
    if choice.param is not None and choice.param.choices:
        named = choice.param.choices
        titles = tuple(each.words for each in named) if choice.takes_model else ()
        values = tuple(each.value for each in named)
        return ChoiceOffer(values, several=False, titles=titles, typed=choice.takes_model)
    schema = _schema_of(opened, choice)
    field = form_of(schema).single if schema and not is_secret(schema) else None
    if field is None or not field.choices:
        return None
    values = tuple(each.value for each in field.choices)
    several = field.kind == "several"
    least, most = (_limit_of(schema, name) if several else 0 for name in ("minItems", "maxItems"))
    titles = tuple(each.title for each in field.choices)
    return ChoiceOffer(values, several=several, titles=titles, least=least, most=most)


def _limit_of(schema: Mapping[str, Any], name: str) -> int:
    """A limit of an array's length; 0 where the schema sets none."""
    found = schema.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and 0 < found < 1_000 else 0


def wants_file(opened: IncidentOpened, choice: PromptChoice) -> bool:
    """Whether the answer is a file's content, in base64."""
    return _schema_of(opened, choice).get("contentEncoding") == "base64"


def answer_of(offer: ChoiceOffer, ticked: Collection[int]) -> Any:
    """The answer that the ticked ones make, in the order in which they are offered."""
    chosen = [offer.values[index] for index in sorted(ticked)]
    return chosen if offer.several else chosen[0]


def choice_words(offer: ChoiceOffer, index: int) -> str:
    """How one of them is written: its title, with its value where that is another."""
    value = offer.values[index]
    word = value if isinstance(value, str) else json_text(value)
    title = offer.titles[index] if offer.titles else word
    return title if title.startswith(word) else f"{title}  {word}"


def pick_line(offer: ChoiceOffer, index: int, context: RenderContext, *, marked: bool, ticked: bool) -> Spans:
    """One of them, with the digit that chooses it, too."""
    sign = context.glyphs.cursor if marked else " "
    digit = f"{index + 1}" if index < 9 else " "
    box = f"[{'x' if ticked else ' '}] " if offer.several else f"({'x' if ticked else ' '}) " if offer.boxes else ""
    words = context.sanitize_line(choice_words(offer, index), 200)
    ink = "ink-strong" if marked or ticked else "ink"
    return (
        Span(sign, "line-focus"),
        Span(f"{digit:>3} ", "ink-key", bold=True),
        Span(box, "ink-accent" if ticked else "ink-muted"),
        Span(words, ink, bold=marked),
    )
