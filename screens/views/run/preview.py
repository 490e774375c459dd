"""The preview of the run under the cursor of the inbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.judgement.recovery.option_table import option_keys
from runtime.record.state.summary import Summary
from screens.render.formatting import format_ago, format_cost, format_elapsed
from screens.render.layout import (
    Span,
    Spans,
    join_spans,
    span,
)
from screens.views.decisions.incident_groups import GROUP_KEY_PREFIX, OpenDecision
from screens.views.lists.runs import progress, rate_facts, run_state_spans, title_of
from screens.views.shared.render_context import RenderContext


def preview_lines(
    key: str,
    summaries: Mapping[str, Summary],
    incidents: Mapping[str, OpenDecision],
    context: RenderContext,
    *,
    alike: Sequence[OpenDecision] = (),
) -> list[Spans]:
    """`key` as the rows of the inbox have it; `alike` are the decisions on a line that stands for several."""
    kind, _, name = key.partition(":")
    if key.startswith(GROUP_KEY_PREFIX) and alike:
        return _group_lines(alike, context)
    if kind == "incident" and (found := incidents.get(name)):
        return _incident_lines(found, context)
    if kind == "run" and (summary := summaries.get(name)):
        return _run_lines(summary, context)
    return []


def _incident_lines(found: OpenDecision, context: RenderContext) -> list[Spans]:
    # Of no use to a list of runs:
    from screens.views.decisions.prompt import title_line
    from screens.views.decisions.prompt_choices import prompt_choices
    from screens.views.decisions.prompt_lines import question_lines

    opened = found.opened
    lines: list[Spans] = [title_line(opened, context), (), *question_lines(opened, context)]
    letters = {option: context.key(f"decision.{option}", usual) for option, usual in option_keys().items()}
    offered = prompt_choices(opened, context, letters)[1:]
    return [
        *lines,
        (),
        *(
            (Span(f"{choice.key:<6} ", "ink-key", bold=True), Span(choice.shown_label(context.glyphs.opens)))
            for choice in offered
        ),
    ]


_MAX_LISTED = 12
"""Runs of a group that are named."""


def _group_lines(alike: Sequence[OpenDecision], context: RenderContext) -> list[Spans]:
    """How many there are and where; then the oldest of them, as an example."""
    lines: list[Spans] = [
        (Span(f"{len(alike)} alike", "ink-strong", bold=True), Span(", the same in every run", "ink-muted")),
        (Span(f"{context.key('list.open', 'enter')} ", "ink-key"), Span("opens the oldest", "ink-muted"),
         Span(f"   {context.key('home.answer_alike', 'B')} ", "ink-key"),
         Span("answers one, and the rest when that worked", "ink-muted")),
        (),
    ]  # fmt: skip
    for found in alike[:_MAX_LISTED]:
        words = (
            span(context.sanitize_line(found.title or found.run_id, 60)),
            span(context.sanitize_line(found.run_id, 40), "ink-muted"),
        )
        lines.append(
            join_spans((*words, span(format_ago(found.opened.ts, context.now), "ink-muted")), context.glyphs.dot)
        )
    if len(alike) > _MAX_LISTED:
        lines.append(span(f"and {len(alike) - _MAX_LISTED} more", "ink-muted"))
    return [*lines, (), *_incident_lines(alike[0], context)]


def _run_lines(summary: Summary, context: RenderContext) -> list[Spans]:
    lines: list[Spans] = [
        span(title_of(summary, context), "ink-strong", bold=True),
        join_spans((run_state_spans(summary, context), progress(summary, context)), context.glyphs.dot)
        if summary.nodes
        else run_state_spans(summary, context),
        (),
    ]
    facts = (
        ("run", context.sanitize_line(summary.id, 60)),
        ("swarm", context.sanitize_line(summary.ref, 200)),
        ("began", format_ago(summary.created_at, context.now)),
        ("took", format_elapsed(summary.created_at, summary.updated_at, context.now)),
        *rate_facts(summary, context),
        ("cost", format_cost(summary.cost_usd)),
    )
    lines += [(Span(f"{name:<6}  ", "ink-muted"), Span(value)) for name, value in facts if value]
    for title, text, ink in (("Task", summary.input, "ink"), ("Error", summary.error, "state-failed")):
        if text:
            lines += [
                (),
                span(title, "ink-accent", bold=True),
                *(span(found, ink) for found in context.sanitize_lines(text)),
            ]
    return lines
