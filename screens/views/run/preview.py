"""The preview of the run under the cursor of the inbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.record.state.summary import Summary
from screens.render.formatting import format_ago, format_cost, format_elapsed
from screens.render.key_names import KEYS
from screens.render.layout import (
    Span,
    Spans,
    join_spans,
    span,
)
from screens.views.decisions.incident_groups import GROUP_KEY_PREFIX, OpenDecision
from screens.views.lists.runs import progress, rate_facts, title_of
from screens.views.shared.render_context import RenderContext


def preview_lines(
    key: str,
    summaries: Mapping[str, Summary],
    incidents: Mapping[str, OpenDecision],
    looks: RenderContext,
    *,
    alike: Sequence[OpenDecision] = (),
) -> list[Spans]:
    """`key` as the rows of the inbox have it; `alike` are the decisions on a line that stands for several."""
    kind, _, name = key.partition(":")
    if key.startswith(GROUP_KEY_PREFIX) and alike:
        return _group_lines(alike, looks)
    if kind == "incident" and (found := incidents.get(name)):
        return _incident_lines(found, looks)
    if kind == "run" and (summary := summaries.get(name)):
        return _run_lines(summary, looks)
    return []


def _incident_lines(found: OpenDecision, looks: RenderContext) -> list[Spans]:
    from screens.views.decisions.prompt import prompt_choices, question_lines, title_line  # of no use to a list of runs

    opened = found.opened
    lines: list[Spans] = [title_line(opened, looks), (), *question_lines(opened, looks)]
    letters = {option: looks.key(f"decision.{option}", usual) for option, usual in KEYS.items()}
    offered = prompt_choices(opened, looks, letters)[1:]
    return [*lines, (), *((Span(f"{choice.key:<6} ", "ink-key", bold=True), Span(choice.label)) for choice in offered)]


_MAX_LISTED = 12
"""Runs of a group that are named."""


def _group_lines(alike: Sequence[OpenDecision], looks: RenderContext) -> list[Spans]:
    """How many there are and where; then the oldest of them, as an example."""
    lines: list[Spans] = [
        (Span(f"{len(alike)} like this", "ink-strong", bold=True), Span(", the same in every run", "ink-muted")),
        (Span(f"{looks.key('list.open', 'enter')} ", "ink-key"), Span("opens the oldest", "ink-muted"),
         Span(f"   {looks.key('home.answer_alike', 'B')} ", "ink-key"),
         Span("answers one, and the rest when that proved right", "ink-muted")),
        (),
    ]  # fmt: skip
    for found in alike[:_MAX_LISTED]:
        words = (span(looks.line(found.title or found.run_id, 60)), span(looks.line(found.run_id, 40), "ink-muted"))
        lines.append(join_spans((*words, span(format_ago(found.opened.ts, looks.now), "ink-muted")), looks.glyphs.dot))
    if len(alike) > _MAX_LISTED:
        lines.append(span(f"and {len(alike) - _MAX_LISTED} more", "ink-muted"))
    return [*lines, (), *_incident_lines(alike[0], looks)]


def _run_lines(summary: Summary, looks: RenderContext) -> list[Spans]:
    lines: list[Spans] = [
        span(title_of(summary, looks), "ink-strong", bold=True),
        join_spans((looks.state(summary.shown_phase), progress(summary, looks)), looks.glyphs.dot)
        if summary.nodes
        else looks.state(summary.shown_phase),
        (),
    ]
    facts = (
        ("run", looks.line(summary.id, 60)),
        ("swarm", looks.line(summary.ref, 200)),
        ("began", format_ago(summary.created_at, looks.now)),
        ("took", format_elapsed(summary.created_at, summary.updated_at, looks.now)),
        *rate_facts(summary, looks),
        ("cost", format_cost(summary.cost_usd)),
    )
    lines += [(Span(f"{name:<6}  ", "ink-muted"), Span(value)) for name, value in facts if value]
    for title, text, ink in (("Task", summary.input, "ink"), ("Error", summary.error, "state-failed")):
        if text:
            lines += [(), span(title, "ink-accent", bold=True), *(span(found, ink) for found in looks.block(text))]
    return lines
