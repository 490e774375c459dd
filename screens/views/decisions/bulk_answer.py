"""The text of bulk answers: which options all of them take, and the results."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from runtime.judgement.recovery.answer_wording import wording_of
from runtime.judgement.recovery.option_table import effect_of
from runtime.judgement.recovery.options import needs_look
from runtime.operations.requests.answers import BulkOutcome, Precedent
from runtime.record.state.events import IncidentOpened
from screens.render.formatting import format_age, pluralize
from screens.render.layout import (
    Span,
    Spans,
    join_spans,
    span,
)
from screens.views.decisions.batch_action import BatchItem, BatchOutcome
from screens.views.decisions.incident_groups import OpenDecision
from screens.views.decisions.prompt_choices import LATER_OPTION, PromptChoice, prompt_choices, with_models
from screens.views.run.json_lines import json_text
from screens.views.shared.render_context import RenderContext

MAX_VALUE_CHARS: Final = 600
"""Characters of an action that are shown of each."""

_STATE_BY_OUTCOME: Final = {
    "went on": "succeeded",
    "failed again": "failed",
    "refused": "failed",
    "not proven": "waiting",
    "held": "pending",
}


def subject_words(opened: IncidentOpened) -> str:
    """What this one is about, where the others may be about something else: its permission, or its tool's arguments."""
    if opened.action.get("permission"):
        return wording_of(opened, "grant")
    given = opened.action.get("arguments")
    if not given:
        return ""
    inside = ", ".join(f"{name}={json_text(value)}" for name, value in given.items())
    return f"{opened.action.get('tool', '')}({inside})"


def items_of(alike: Sequence[OpenDecision], context: RenderContext) -> list[BatchItem]:
    """One for each: its run and what exactly it is about; the id of its run, where it runs and its task only where
    these tell it from the others.
    """
    parts = [_item_parts(found, context) for found in alike]
    several = len({found.run_id for found in alike}) > 1
    titles = {part.title for part in parts}
    told = [
        [
            part.title if several or not part.subject else "",
            part.run_id if several and len(titles) < len(alike) else "",
            part.subject,
        ]
        for part in parts
    ]
    for name in ("place", "task"):
        if len({tuple(words) for words in told}) < len(alike):
            told = [[*words, getattr(part, name)] for words, part in zip(told, parts, strict=True)]
    return [
        BatchItem(found.opened.incident_id, context.glyphs.dot.join(filter(None, words)))
        for found, words in zip(alike, told, strict=True)
    ]


class _ItemParts(NamedTuple):
    """What can be said of one of them, clean."""

    title: str
    run_id: str
    subject: str
    place: str
    task: str


def _item_parts(found: OpenDecision, context: RenderContext) -> _ItemParts:
    opened = found.opened
    return _ItemParts(
        context.sanitize_line(found.title, 60),
        context.sanitize_line(found.run_id, 40),
        context.exact_line(" ".join(subject_words(opened).split()), MAX_VALUE_CHARS),
        context.glyphs.crumb.join(context.name(name, 40) for name in opened.lineage[1:]),
        context.sanitize_line(" ".join(opened.task.split()), 100),
    )


def common_choices(
    alike: Sequence[OpenDecision], context: RenderContext, letters: Mapping[str, str], keys: Collection[str] = ()
) -> list[PromptChoice]:
    """What may be said to all of them: once, and nothing that every one of them would have to be read for. `keys`: the
    names of the providers' keys that the runtime has.
    """
    return [
        _for_all(with_models(choice, (), keys, context), alike)
        for choice in prompt_choices(alike[0].opened, context, letters)
        if choice.option != LATER_OPTION
    ]


def _for_all(choice: PromptChoice, alike: Sequence[OpenDecision]) -> PromptChoice:
    refused, effect = choice.refused, effect_of(choice.option)
    if choice.standing:
        refused = "what holds for longer is answered one by one"
    elif effect == "grant" and any(len(subject_words(found.opened)) >= MAX_VALUE_CHARS for found in alike):
        refused = "one of the actions is too long to be shown here: answer it by itself"
    elif effect == "edit" and len({subject_words(found.opened) for found in alike}) > 1:
        refused = "their arguments differ"
    elif alike[0].opened.secret_key:
        refused = "a secret is typed at each decision"
    return replace(choice, refused=refused)


def before_words(precedent: Precedent | None, context: RenderContext) -> Spans:
    """What one of them was answered, and what came of it; nothing where none was."""
    if precedent is None:
        return span("None of them was answered yet: the oldest goes first.", "ink-muted")
    state = precedent.state
    actor, option = context.sanitize_line(precedent.by, 40), context.sanitize_line(precedent.option, 40)
    said = f"{actor} answered one of them {option}"
    return (
        Span(f"{said}: "),
        *context.state_spans(_STATE_BY_OUTCOME.get(state, "pending"), context.sanitize_line(state, 40)),
        *span(f"{context.glyphs.dot}{context.sanitize_line(precedent.detail, 200)}", "ink-muted"),
    )


def same_words(precedent: Precedent | None, alike: Sequence[OpenDecision]) -> str:
    """The option that the rest may be answered, as one was; empty where that has not proved right, or says nothing of
    the others.
    """
    if precedent is None or precedent.state != "went on":
        return ""
    option = precedent.option
    return "" if any(needs_look(found.opened, option) for found in alike) else option


def choice_lines(
    offer: Sequence[PromptChoice], precedent: Precedent | None, alike: Sequence[OpenDecision], context: RenderContext
) -> list[Spans]:
    """The keys."""
    lines: list[Spans] = []
    if same := same_words(precedent, alike):
        words = f"Answer {'it' if len(alike) == 1 else f'all {len(alike)}'} the same: {context.sanitize_line(same, 40)}"
        lines.append((Span("B      ", "ink-key", bold=True), Span(words, "ink-strong")))
    for choice in offer:
        ink = "ink-muted" if choice.refused else "ink"
        hint = span(choice.refused or choice.hint, "ink-muted")
        lines.append((Span(f"{choice.key:<6} ", "ink-key", bold=True), *join_spans((span(choice.label, ink), hint))))
    return lines


def to_look_at(alike: Sequence[OpenDecision], option: str) -> list[OpenDecision]:
    """Those of which an operator must say that they did not happen, before they are repeated."""
    return [found for found in alike if needs_look(found.opened, option)]


def look_words(item: BatchItem, number: int, count: int) -> list[Spans]:
    """One of them, and what is asked about it."""
    return [
        span(f"{number} of {count}: Did it happen? Look first.", "severity-warning", bold=True),
        span(item.title, "ink-strong"),
        (),
        (Span("y      ", "ink-key", bold=True), Span("It did not happen: repeat it")),
        (Span("n      ", "ink-key", bold=True), Span("It may have happened: leave it open")),
    ]


def answer_words(choice: PromptChoice, params: Mapping[str, Any], context: RenderContext) -> str:
    """An answer in words: its label, and what was typed or ticked for it as it was offered."""
    given = ", ".join(context.sanitize_line(_value_words(value), 80) for name, value in params.items() if name != "for")
    return f"{choice.label}: {given}" if given else choice.label


def _value_words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value_words, value)) or "none of them"
    return value if isinstance(value, str) else json_text(value)


def incidents_reached(alike: Sequence[OpenDecision], option: str) -> list[OpenDecision]:
    """Those that an answer to the first is an answer to: a permission is for its very words, and so is an input for its
    question; the runtime leaves the others alone.
    """
    words = wording_of(alike[0].opened, option)
    return [found for found in alike if wording_of(found.opened, option) == words]


def plan_words(
    label: str, alike: Sequence[OpenDecision], context: RenderContext, *, proven: bool, option: str = ""
) -> str:
    """What `y` will do, with the number in it."""
    others = len(alike)
    alike = incidents_reached(alike, option)
    others -= len(alike)
    rest = len(alike) - 1
    if proven:
        return f"Answer {pluralize(len(alike), 'decision')} with {label}, once each, as it worked for one?"
    title = context.sanitize_line(alike[0].title or alike[0].run_id, 60)
    then = (
        f" If it works, the other {rest} too, once each."
        if rest > 1
        else " If it works, the other too."
        if rest
        else ""
    )
    then += f" {others} {'asks' if others == 1 else 'ask'} for something else: left alone." if others else ""
    return f"Answer the oldest ({title}) with {label}?{then}"


def outcomes_so_far(asked: Sequence[OpenDecision], open_now: Mapping[str, OpenDecision]) -> dict[str, BatchOutcome]:
    """What shows of the answers before the runtime tells what came of each: which were taken, which came again."""
    found: dict[str, BatchOutcome] = {}
    for each in asked:
        opened = each.opened
        if opened.incident_id in open_now:
            continue
        again = _reopened_incident(each, open_now.values())
        found[opened.incident_id] = (
            BatchOutcome("failed", "failed again", again) if again else BatchOutcome("running", "answered")
        )
    return found


def _reopened_incident(one: OpenDecision, open_now: Iterable[OpenDecision]) -> str:
    """The incident that came in its place; empty if none did."""
    for other in open_now:
        same = other.run_id == one.run_id and other.opened.fingerprint == one.opened.fingerprint
        if same and other.opened.ts > one.opened.ts:
            return other.opened.incident_id
    return ""


def outcomes(told: Iterable[BulkOutcome]) -> dict[str, BatchOutcome]:
    """What the runtime says came of each."""
    return {
        each.id: BatchOutcome(_STATE_BY_OUTCOME.get(each.state, "pending"), each.state, each.detail) for each in told
    }


def head_lines(alike: Sequence[OpenDecision], what: Spans, context: RenderContext) -> list[Spans]:
    """What went wrong, since when. How many there are is the dialog's title."""
    since = span(f"the oldest waits {format_age(alike[0].opened.ts, context.now)}", "ink-muted")
    lines: list[Spans] = [join_spans((what, since), context.glyphs.dot)]
    if any(needs_look(found.opened, "retry") for found in alike):
        lines.append(span("Each may have happened: you are asked one by one.", "severity-warning"))
    return lines
