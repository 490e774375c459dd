"""Rows of the limits page: breakers and budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from runtime.judgement.amounts import format_cost_limit
from runtime.operations.requests.limits import Breaker, LimitUse, RunBudget
from runtime.record.state.durable_run import Summary
from screens.render.formatting import (
    format_ago,
    format_cost,
    format_count,
    format_duration,
    pluralize,
    whole_seconds,
)
from screens.render.glyphs import state_ink
from screens.render.layout import (
    Column,
    Part,
    Row,
    Span,
    Spans,
    join_spans,
    span,
    with_headings,
)
from screens.views.decisions.incident_groups import OpenDecision
from screens.views.lists.runs import title_of
from screens.views.shared.render_context import RenderContext

LIMIT_COLUMNS: Final = (
    Column("state", width=11),
    Column("of", width=16, grow=2),
    Column("limit", width=11),
    Column("used", width=10),
    Column("how much", width=21, drop=1),
    Column("about", width=22, grow=4, drop=2),
)
BREAKER_KEY_PREFIX: Final = "breaker:"
LIMIT_KEY_PREFIX: Final = "limit:"
"""How keys of rows begin: of a breaker, then host and key; of a limit, then its run's id."""
BAR_CELLS: Final = 10
"""Cells of a bar."""

_BREAKER_STATES: Final = {
    "open": ("failed", "open"),
    "half_open": ("retrying", "half-open"),
    "closed": ("succeeded", "closed"),
}
_LEVELS: Final = {"hit": ("failed", "used up"), "warning": ("waiting", "near"), "": ("running", "within")}
_NAMES: Final = {
    "max_steps": "steps",
    "max_tool_calls": "tool calls",
    "max_llm_calls": "model calls",
    "max_total_cost_usd": "cost",
    "max_total_tokens": "tokens",
    "max_wall_time_s": "time",
}


@dataclass(frozen=True, slots=True)
class HostLimits:
    """What one host's runtime said of its breakers and budgets, and when."""

    host: str
    at: datetime
    breakers: Sequence[Breaker]
    budgets: Sequence[RunBudget]


def limit_rows(
    told: Iterable[HostLimits],
    summaries: Mapping[str, Summary],
    incidents: Iterable[OpenDecision],
    context: RenderContext,
) -> list[Row]:
    """Breakers that hold back first, then limits that are used up or near; then the rest of both, each under its
    heading.
    """
    told = list(told)
    held = waits_by_breaker(incidents)
    breakers = [breaker_row(each, row, held.get(row.id, ()), context) for each in told for row in each.breakers]
    limits = [row for each in told for run in each.budgets for row in _limit_rows(each.host, run, summaries, context)]
    limits.sort(key=lambda row: -float(row.values[4]))
    return with_headings(
        (Part("Circuit breakers", "ink-accent", breakers), Part("Budgets of runs", "ink-accent", limits))
    )


def waits_by_breaker(incidents: Iterable[OpenDecision]) -> dict[str, tuple[str, ...]]:
    """Titles of the runs that wait for a breaker, by its key."""
    found: dict[str, tuple[str, ...]] = {}
    for each in incidents:
        key = each.opened.action.get("breaker")
        if isinstance(key, str):
            found[key] = (*found.get(key, ()), each.title or each.run_id)
    return found


def breaker_row(told: HostLimits, breaker: Breaker, waiting: Sequence[str], context: RenderContext) -> Row:
    """One breaker. What counts down goes on from when it was told."""
    name, left = breaker.id, _left(told, breaker.again_s, context)
    word = "half_open" if breaker.state == "open" and left is not None and left <= 0 else breaker.state
    state, shown = _BREAKER_STATES.get(word, ("pending", word))
    about = {
        "open": f"next test call in {whole_seconds(left + 1)}" if left is not None else "",
        "half_open": "one test call is out" if breaker.prober else "next call is a test",
    }.get(word, "")
    failed_at = told.at - timedelta(seconds=breaker.failed_s) if breaker.failed_s is not None else None
    error = context.sanitize_line(breaker.error, 200)
    lately = f"{error} ({format_ago(failed_at, context.now)})" if error else ""
    names = ", ".join(context.sanitize_line(title, 40) for title in waiting[:3])
    waits = f"{context.counted(len(waiting), 'run waits', 'runs wait')}: {names}" if waiting else ""
    return Row(
        f"{BREAKER_KEY_PREFIX}{told.host}\n{name}",
        (
            context.state_spans(state, shown),
            context.at_host(span(context.sanitize_line(kind_and_name(name), 120), "ink-strong"), told.host),
            span("failures", "ink-muted"),
            span(f"{breaker.failures} of {breaker.threshold}"),
            span(about, state_ink("waiting")),
            join_spans((span(waits, state_ink("waiting")), span(lately, "ink-muted")), context.glyphs.dot),
        ),
        values=(shown, name, "failures", breaker.failures, left or 0.0, error),
        fault=state != "succeeded",
    )


def kind_and_name(key: str) -> str:
    """`model openai:gpt-4o` of ``model:openai:gpt-4o``."""
    kind, _, name = key.partition(":")
    return f"{kind} {name}" if name else key


def _left(told: HostLimits, again_s: float | None, context: RenderContext) -> float | None:
    return None if again_s is None else again_s - (context.now - told.at).total_seconds()


def _limit_rows(host: str, run: RunBudget, summaries: Mapping[str, Summary], context: RenderContext) -> list[Row]:
    """A row for each limit of a run; one that says what it spent, where nothing limits it."""
    rows = [limit_row(host, run, limit, summaries, context) for limit in run.limits]
    return rows or [_unlimited_row(host, run, summaries, context)]


def _unlimited_row(host: str, run: RunBudget, summaries: Mapping[str, Summary], context: RenderContext) -> Row:
    spent, title = run.spent, _title(run, summaries, context)
    unpriced = int(spent.get("unpriced_calls", 0))
    unknown = f"{pluralize(unpriced, 'call')} of unknown price" if unpriced else ""
    parts = (
        pluralize(int(spent["steps"]), "step"),
        f"{format_count(int(spent['tokens']))} tokens",
        format_cost(spent["cost_usd"]),
        format_duration(spent["wall_time_s"]),
        unknown,
    )
    return Row(
        f"{LIMIT_KEY_PREFIX}{run.id}::",
        (
            context.state_spans("pending", "no limit"),
            context.at_host(span(title, "ink-strong"), host),
            span("none", "ink-muted"),
            (),
            (),
            span(context.glyphs.dot.join(part for part in parts if part), "ink-muted"),
        ),
        values=("no limit", title, "none", None, -1.0, ""),
    )


def _title(run: RunBudget, summaries: Mapping[str, Summary], context: RenderContext) -> str:
    summary = summaries.get(run.id)
    return title_of(summary, context) if summary is not None else context.sanitize_line(run.title or run.id, 60)


def limit_row(
    host: str,
    run: RunBudget,
    limit: LimitUse,
    summaries: Mapping[str, Summary],
    context: RenderContext,
) -> Row:
    """One limit of one run, or of a swarm in it."""
    name, used, allowed = limit.limit, limit.used, limit.allowed
    share = used / allowed if allowed else 1.0
    state, word = _LEVELS.get(limit.level, _LEVELS[""])
    title = _title(run, summaries, context)
    unpriced = int(run.spent.get("unpriced_calls", 0)) if name == "max_total_cost_usd" else 0
    waits = f"waits for a decision: {context.key('list.open', 'enter')}" if limit.incident_id else ""
    return Row(
        f"{LIMIT_KEY_PREFIX}{run.id}:{limit.incident_id}:{name}:{limit.scope}",
        (
            context.state_spans(state, word),
            context.at_host(span(title, "ink-strong"), host),
            span(_NAMES.get(name, context.sanitize_line(name, 40))),
            (Span(limit_bar(share, context), state_ink(state)),),
            span(f"{min(share, 9.99):>4.0%} {format_amount(name, used)} of {format_amount(name, allowed)}"),
            join_spans(
                (
                    span(waits, state_ink("waiting")),
                    span(f"{pluralize(unpriced, 'call')} unpriced" if unpriced else "", "severity-warning"),
                    span(f"of {context.sanitize_line(limit.of, 60)}" if limit.scope else "", "ink-muted"),
                ),
                context.glyphs.dot,
            ),
        ),
        values=(word, title, _NAMES.get(name, name), used, share, waits),
        fault=bool(limit.level),
    )


def limit_bar(share: float, context: RenderContext) -> str:
    """A bar of `BAR` cells; what is begun is not full, and what is used at all is to be seen."""
    share = min(1.0, max(0.0, share))
    full = BAR_CELLS if share >= 1 else min(BAR_CELLS - 1, max(1 if share > 0 else 0, round(share * BAR_CELLS)))
    on, off = ("#", ".") if context.ascii_only else ("█", "░")
    return on * full + off * (BAR_CELLS - full)


def format_amount(name: str, value: float) -> str:
    """A limit's number with its unit."""
    if name == "max_total_cost_usd":
        return format_cost_limit(value)
    return format_duration(value) if name == "max_wall_time_s" else format_count(int(value))


def workspace_words(summaries: Mapping[str, Summary], told: Iterable[HostLimits], context: RenderContext) -> Spans:
    """What all runs that the console knows have spent together, and how many breakers hold something back."""
    runs = list(summaries.values())
    spent = [summary.cost_usd for summary in runs if summary.cost_usd is not None]
    tokens = sum(summary.input_tokens + summary.output_tokens for summary in runs)
    held = sum(row.state != "closed" for each in told for row in each.breakers)
    parts = (
        span(f"{context.counted(len(runs), 'run')} here spent {format_count(tokens)} tokens"),
        span(format_cost(sum(spent)) if spent else "price unknown" if tokens else "$0.00"),
        context.state_spans("failed", f"{pluralize(held, 'breaker holds', 'breakers hold')} calls back")
        if held
        else (),
    )
    return join_spans(parts, context.glyphs.dot)
