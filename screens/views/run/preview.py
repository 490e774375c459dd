"""The preview of the run under the cursor of the inbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

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


@cache
def _decision_lines() -> Callable[..., list[Spans]]:
    from screens.views.decisions.decision_preview import decision_lines  # of no use to a list of runs

    return decision_lines


def load_decisions(found: OpenDecision) -> None:
    """Load what shows decisions, and make the first one ready. Takes most of a second, once."""
    _decision_lines()
    _ = found.opened


def decisions_loaded() -> bool:
    """Whether the preview of a decision is made at once."""
    return bool(_decision_lines.cache_info().currsize)


def preview_lines(
    key: str,
    summaries: Mapping[str, Summary],
    incidents: Mapping[str, OpenDecision],
    context: RenderContext,
    *,
    alike: Sequence[OpenDecision] = (),
    brief: bool = False,
    may_act: bool = True,
) -> list[Spans]:
    """What is known of a row.

    Args:
        key: as the rows of the inbox have it.
        summaries: the runs, by id.
        incidents: the open decisions, by id.
        context: signs and time.
        alike: the decisions on a line that stands for several, the oldest first.
        brief: whether there is room for a few lines only.
        may_act: whether this login may answer.
    """
    kind, _, name = key.partition(":")
    if kind == "run":
        return _run_lines(summaries[name], context) if name in summaries else []
    if key.startswith(GROUP_KEY_PREFIX) and alike:
        example = _decision_lines()(alike[0], context, brief=brief, may_act=may_act)
        return [*_group_lines(alike, context, brief=brief, may_act=may_act), *example]
    if kind == "incident" and (found := incidents.get(name)):
        return _decision_lines()(found, context, brief=brief, may_act=may_act)
    return []


_MAX_LISTED = 12
"""Runs of a group that are named."""


def _group_lines(alike: Sequence[OpenDecision], context: RenderContext, *, brief: bool, may_act: bool) -> list[Spans]:
    """How many there are and where; the oldest of them follows, as an example."""
    all_of_them: Spans = (
        Span(f"{context.key('home.answer_alike', 'B')} ", "ink-key"),
        Span("answers one, and the rest when that worked", "ink-muted"),
    )
    if not may_act:
        all_of_them = ()
    count = context.count(len(alike))
    if brief:
        return [(Span(f"{count} alike   ", "ink-strong", bold=True), *all_of_them)]
    from screens.views.decisions.bulk_answer import items_of  # of no use to a list of runs

    runs = len({found.run_id for found in alike})
    lines: list[Spans] = [
        (
            Span(f"{count} alike", "ink-strong", bold=True),
            Span(f", in {context.counted(runs, 'run') if runs > 1 else 'one run'}", "ink-muted"),
        ),
        (
            Span(f"{context.key('list.open', 'enter')} ", "ink-key"),
            Span("opens the oldest   ", "ink-muted"),
            *all_of_them,
        ),
        (),
    ]
    for found, item in zip(alike, items_of(alike[:_MAX_LISTED], context), strict=False):
        words = (
            span(item.title or context.sanitize_line(found.run_id, 40)),
            span(format_ago(found.opened.ts, context.now), "ink-muted"),
        )
        lines.append(join_spans(words, context.glyphs.dot))
    if len(alike) > _MAX_LISTED:
        lines.append(span(f"and {context.count(len(alike) - _MAX_LISTED)} more", "ink-muted"))
    return [*lines, ()]


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
