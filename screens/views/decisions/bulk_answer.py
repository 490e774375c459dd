"""The text of bulk answers: which options all of them take, and the results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from runtime.judgement.recovery.options import needs_look, wording_of
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
from screens.views.decisions.prompt import LATER_OPTION, PromptChoice, prompt_choices
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
    return json_text(opened.action["arguments"]) if opened.action.get("arguments") else ""


def items_of(alike: Sequence[OpenDecision], looks: RenderContext) -> list[BatchItem]:
    """One for each: its run, what exactly it is about, and who was asked to do what there."""
    return [
        BatchItem(
            found.opened.incident_id,
            looks.glyphs.dot.join(
                part
                for part in (
                    looks.line(found.title, 60),
                    looks.line(found.run_id, 40),
                    looks.line(" ".join(subject_words(found.opened).split()), MAX_VALUE_CHARS),
                    looks.glyphs.crumb.join(looks.line(name, 40) for name in found.opened.lineage),
                    looks.line(found.opened.task, 100),
                )
                if part
            ),
        )
        for found in alike
    ]


def common_choices(
    alike: Sequence[OpenDecision], looks: RenderContext, letters: Mapping[str, str]
) -> list[PromptChoice]:
    """What may be said to all of them: once, and nothing that every one of them would have to be read for."""
    return [
        _for_all(choice, alike)
        for choice in prompt_choices(alike[0].opened, looks, letters)
        if choice.option != LATER_OPTION
    ]


def _for_all(choice: PromptChoice, alike: Sequence[OpenDecision]) -> PromptChoice:
    refused = choice.refused
    if choice.standing:
        refused = "to several at once only what is for once is said"
    elif choice.option == "grant" and any(len(subject_words(found.opened)) >= MAX_VALUE_CHARS for found in alike):
        refused = "one of the actions is too long to be shown here: answer it by itself"
    elif choice.option == "edit" and len({subject_words(found.opened) for found in alike}) > 1:
        refused = "their arguments differ"
    elif alike[0].opened.secret_key:
        refused = "a secret is given at each by itself"
    return replace(choice, refused=refused)


def before_words(precedent: Mapping[str, Any], looks: RenderContext) -> Spans:
    """What somebody answered one of them, and what came of it; nothing where nobody did."""
    if not precedent:
        return span("None of them was answered yet: the oldest goes first.", "ink-muted")
    state = str(precedent.get("state", ""))
    said = f"{looks.line(str(precedent.get('by', '')), 40)} answered one of them {looks.line(precedent['option'], 40)}"
    return (
        Span(f"{said}: "),
        *looks.state(_STATE_BY_OUTCOME.get(state, "pending"), looks.line(state, 40)),
        *span(f"{looks.glyphs.dot}{looks.line(str(precedent.get('detail', '')), 200)}", "ink-muted"),
    )


def same_words(precedent: Mapping[str, Any], alike: Sequence[OpenDecision]) -> str:
    """The option that the rest may be answered, as one was; empty where that has not proved right, or says nothing of
    the others.
    """
    if precedent.get("state") != "went on":
        return ""
    option = str(precedent["option"])
    return "" if any(needs_look(found.opened, option) for found in alike) else option


def choice_lines(
    offer: Sequence[PromptChoice], precedent: Mapping[str, Any], alike: Sequence[OpenDecision], looks: RenderContext
) -> list[Spans]:
    """The keys."""
    lines: list[Spans] = []
    if same := same_words(precedent, alike):
        words = f"Answer {'it' if len(alike) == 1 else f'all {len(alike)}'} the same: {looks.line(same, 40)}"
        lines.append((Span("B      ", "ink-key", bold=True), Span(words, "ink-strong")))
    for choice in offer:
        ink = "ink-muted" if choice.refused else "ink"
        hint = span(choice.refused or choice.hint, "ink-muted")
        lines.append((Span(f"{choice.key:<6} ", "ink-key", bold=True), *join_spans((span(choice.label, ink), hint))))
    return lines


def to_look_at(alike: Sequence[OpenDecision], option: str) -> list[OpenDecision]:
    """Those of which somebody must say that they did not happen, before they are repeated."""
    return [found for found in alike if needs_look(found.opened, option)]


def look_words(item: BatchItem, number: int, count: int) -> list[Spans]:
    """One of them, and what is asked about it."""
    return [
        span(f"{number} of {count}: did you look, and did it not happen?", "severity-warning", bold=True),
        span(item.title, "ink-strong"),
        (),
        (Span("y      ", "ink-key", bold=True), Span("It did not happen: repeat it")),
        (Span("n      ", "ink-key", bold=True), Span("It may have happened: leave it open")),
    ]


def incidents_reached(alike: Sequence[OpenDecision], option: str) -> list[OpenDecision]:
    """Those that an answer to the first is an answer to: a permission is for its very words, and so is an input for its
    question; the runtime leaves the others alone.
    """
    words = wording_of(alike[0].opened, option)
    return [found for found in alike if wording_of(found.opened, option) == words]


def plan_words(
    label: str, alike: Sequence[OpenDecision], looks: RenderContext, *, proven: bool, option: str = ""
) -> str:
    """What `y` will do, with the number in it."""
    others = len(alike)
    alike = incidents_reached(alike, option)
    others -= len(alike)
    rest = len(alike) - 1
    if proven:
        return f"Answer {pluralize(len(alike), 'decision')} with {label}, once each, as the one that proved right?"
    title = looks.line(alike[0].title or alike[0].run_id, 60)
    then = f" When that proved right, the other {rest} too, once each." if rest else ""
    then += f" {others} ask for something else and are left alone." if others else ""
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


def outcomes(told: Iterable[Mapping[str, Any]]) -> dict[str, BatchOutcome]:
    """What the runtime says came of each."""
    return {
        str(each["id"]): BatchOutcome(
            _STATE_BY_OUTCOME.get(str(each["state"]), "pending"), str(each["state"]), str(each.get("detail", ""))
        )
        for each in told
    }


def head_lines(alike: Sequence[OpenDecision], what: Spans, looks: RenderContext) -> list[Spans]:
    """How many there are, what went wrong, since when."""
    count = Span(f"{len(alike)} like this", "ink-strong", bold=True)
    since = span(f"the oldest waits {format_age(alike[0].opened.ts, looks.now)}", "ink-muted")
    lines: list[Spans] = [join_spans(((count,), since), looks.glyphs.dot), what]
    if any(needs_look(found.opened, "retry") for found in alike):
        lines.append(span("They may have happened: before a retry you are asked about each.", "severity-warning"))
    return lines
