"""What a prompt shows beside its lines (`prompt_lines`): its title, its deadline, and what a grant would say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from runtime.judgement.recovery.budget_extension import quantity_words
from runtime.judgement.recovery.option_table import LIFETIMES
from runtime.judgement.reports.explanation.budget_facts import LIMIT_WORDS
from runtime.judgement.reports.explanation.incident_kind import incident_kind
from runtime.record.state.events import IncidentOpened
from screens.render.formatting import format_elapsed, whole_seconds
from screens.render.layout import (
    Span,
    Spans,
    join_spans,
    span,
)
from screens.render.sanitize import MAX_CHARS, MAX_LINES
from screens.views.run.json_lines import json_text
from screens.views.shared.render_context import RenderContext


def action_text(opened: IncidentOpened) -> str:
    """The exact action in its canonical form; empty if the incident is about none."""
    return json_text(opened.action) if opened.action else ""


def is_whole(opened: IncidentOpened) -> bool:
    """Whether the gate lets the whole action through, so that an operator can read all of it."""
    text = action_text(opened)
    return len(text) < MAX_CHARS // 2 and text.count("\n") < MAX_LINES - 1


def title_line(opened: IncidentOpened, context: RenderContext, held: Sequence[str] = (), place: str = "") -> Spans:
    """What it is, for how long it has been waiting, what waits on it (`held`: the names of nodes, the nearest first),
    and which of the run's open decisions it is (`place`).
    """
    return join_spans(
        (
            (context.state_glyph("waiting"), Span(" "), Span(title_words(opened, context), "state-waiting")),
            span(f"waits {format_elapsed(opened.ts, None, context.now)}", "ink-muted"),
            span(_held_words(held, context), "ink-muted"),
            span(place, "ink-muted"),
        ),
    )


_NAMED_HELD: Final = 2
"""So many of those that wait are named."""


def _held_words(held: Sequence[str], context: RenderContext) -> str:
    """``holds up librarian, flow``."""
    if not held:
        return ""
    names = ", ".join(context.name(name, 20) for name in held[:_NAMED_HELD])
    more = f" and {len(held) - _NAMED_HELD} more" if len(held) > _NAMED_HELD else ""
    return f"holds up {names}{more}"


def title_words(opened: IncidentOpened, context: RenderContext) -> str:
    """What an incident is, in a few words that name its step: only a failure is said to have failed."""
    names = [context.name(name) for name in opened.lineage]
    name = names[-1] if names else "the run"
    who = context.name(str(opened.action.get("agent") or "")) or (names[-2] if len(names) > 1 else name)
    about = opened.action.get("budget")
    kind = incident_kind(opened)
    if kind == "failure" and isinstance(about, Mapping):
        limit = str(about.get("limit"))
        used = f"{quantity_words(limit, about.get('used'))} of {quantity_words(limit, about.get('allowed'))}"
        whose = f"{names[-2]}{context.glyphs.dot}" if len(names) > 1 else ""
        return f"{whose}{context.sanitize_line(f'{LIMIT_WORDS.get(limit, limit)} used up: {used}', 80)}"
    words = {
        "permission": f"{who} asks for permission",
        "question": f"{names[-2] if len(names) > 1 else name} asks",
        "breakpoint": f"breakpoint before {name}",
        "no progress": "no progress",
        "in doubt": f"Did the call of {name} happen?" if opened.in_doubt else f"{name} failed",
    }
    at_model = "model" in opened.action and len(names) > 1
    return words.get(kind, f"{names[-2]}{context.glyphs.dot}{name} failed" if at_model else f"{name} failed")


_OVERDUE_S = 3.0
"""A deadline that is past by more was not kept: no process was there to take an answer."""


def deadline_line(opened: IncidentOpened, context: RenderContext) -> Spans:
    """What happens by itself, and in how long; nothing where nothing does."""
    if opened.deadline is None:
        return ()
    left = (opened.deadline - context.now).total_seconds()
    safe = next((found.label for found in opened.options if found.id == opened.safe), opened.safe)
    when = f"in {whole_seconds(left + 1)}" if left > 0 else "now"
    if left < -_OVERDUE_S:
        # Nothing ran when it was due, or the run was frozen: then its time begins again.
        when = f"within another {whole_seconds((opened.deadline - opened.ts).total_seconds())}"
    return span(f"{when}, without an answer: {context.sanitize_line(safe, 60)}", "severity-warning")


def grant_words(opened: IncidentOpened, lifetime: str) -> str:
    """What a grant would say: who, what, for how long. The object is the incident's own, nothing wider."""
    agent = opened.lineage[-2] if len(opened.lineage) > 1 else ""
    need = str(opened.action.get("permission", ""))
    how_long = next((each.words for each in LIFETIMES if each.value == lifetime), lifetime)
    return f"{agent or 'this agent'} may {need or 'do this'}, {how_long}"
