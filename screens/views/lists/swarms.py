"""Rows of the swarms page: swarms, the runs of each, and their columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from runtime.record.state.durable_run import Summary
from screens.render.formatting import (
    format_age,
    format_cost,
    format_elapsed,
    format_tokens,
)
from screens.render.layout import (
    Column,
    Row,
    Span,
    Spans,
    join_spans,
    span,
)
from screens.views.lists.runs import (
    NEEDS_YOU,
    age_start,
    changes_at,
    has_fault,
    is_done,
    node_counts,
    progress,
    run_sort_keys,
    run_state_spans,
    shared_titles,
    time_left,
    title_spans,
)
from screens.views.run.sparkline import MAX_BARS, TokenTrends, sparkline
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_cache import RowCache
from screens.views.shared.row_sort import LONG_AGO

SWARM_KEY_PREFIX: Final = "swarm:"
"""What the key of a swarm's line begins with."""
SWARM_COLUMNS: Final = (
    Column("state", width=15),
    Column("run", width=20, grow=1, ending=True),
    Column("progress", width=30, grow=3),
    Column("trend", width=MAX_BARS, drop=2, optional=True),
    Column("tokens", width=6, right=True, drop=3, optional=True),
    Column("cost", width=7, right=True, drop=1, optional=True),
    Column("age", width=4, right=True),
)
NO_KINDS: Final[Mapping[str, str]] = {}
BAR_CELLS: Final = 8
"""Cells of a progress bar."""
_STATES: Final = (
    "waiting", "running", "frozen", "queued", "failed", "interrupted", "degraded", "aborted", "completed",
)  # fmt: skip
"""What a swarm is said to be: the first of these that one of its runs is."""


def swarm_rows(
    summaries: Mapping[str, Summary],
    context: RenderContext,
    trends: TokenTrends,
    host_of: Callable[[str], str] = lambda _run_id: "",
    *,
    memory: RowCache | None = None,
    kinds: Mapping[str, str] = NO_KINDS,
) -> list[Row]:
    """A line for each swarm, that with the newest run first, and its runs under it, the newest first. `kinds` says what
    swarms are, by the key of their line, where that is known.
    """
    memory = memory or RowCache()

    def made(source: tuple[Summary, tuple[int, ...], str, bool]) -> tuple[Row, datetime]:
        found, trend, key, shares_title = source
        return swarm_run_row(found, context, trend, key, shares_title=shares_title), changes_at(found, context.now)

    swarms: dict[str, list[Summary]] = {}
    for run_id in memory.order.order(summaries.keys(), lambda: _newest_first(summaries)):
        found = summaries[run_id]
        swarms.setdefault(swarm_key(host_of(run_id), found.ref), []).append(found)
    names = short_names([runs[0].ref for runs in swarms.values()])
    rows: list[Row] = []
    shared = shared_titles(summaries.values())
    for key, runs in swarms.items():
        rows.append(
            _swarm_row(key, names[runs[0].ref], runs, context, host=host_of(runs[0].id), kind=kinds.get(key, ""))
        )
        rows += (
            memory.row(
                found.id,
                (found, trends.trend(found.id), key, found.shown_title in shared),
                context.now,
                made,
            )
            for found in runs
        )
    memory.forget(len(rows))
    return rows


def _newest_first(summaries: Mapping[str, Summary]) -> list[str]:
    return sorted(summaries, key=lambda run_id: (summaries[run_id].created_at or LONG_AGO, run_id), reverse=True)


def short_names(refs: Sequence[str]) -> dict[str, str]:
    """The end of each reference, after its last slash; the whole of those that end alike."""
    ends: dict[str, set[str]] = {}
    for ref in refs:
        ends.setdefault(ref.rpartition("/")[2], set()).add(ref)
    return {ref: end if len(found) == 1 else ref for end, found in ends.items() for ref in found}


def runs_of(key: str, summaries: Mapping[str, Summary], host_of: Callable[[str], str]) -> list[str]:
    """The runs that a line stands for."""
    kind, _, name = key.partition(":")
    if kind == "run":
        return [name]
    return [run_id for run_id, found in summaries.items() if swarm_key(host_of(run_id), found.ref) == key]


def ref_of(key: str, summaries: Mapping[str, Summary]) -> str:
    """The reference of the swarm that a line is of; empty if there is none."""
    kind, _, name = key.partition(":")
    if kind == "run":
        return summaries[name].ref if name in summaries else ""
    return name.partition(":")[2]


def swarm_key(host: str, ref: str) -> str:
    """The key of a swarm's line."""
    return f"{SWARM_KEY_PREFIX}{host}:{ref}"


def _swarm_row(key: str, name: str, runs: Sequence[Summary], context: RenderContext, *, host: str, kind: str) -> Row:
    states = {found.shown_phase for found in runs}
    state = next((each for each in _STATES if each in states), runs[0].shown_phase)
    live = sum(not is_done(found) and found.shown_phase != "waiting" for found in runs)
    waiting = sum(found.open_incidents for found in runs)
    counts = (
        span(context.counted(len(runs), "run"), "ink"),
        span(f"{context.count(live)} at work", "state-running") if live else (),
        span(context.counted(waiting, "decision"), "state-waiting") if waiting else (),
        span(context.sanitize_line(kind, 40), "ink-muted"),
    )
    used = sum(found.input_tokens + found.output_tokens for found in runs)
    known = [found.cost_usd for found in runs if found.cost_usd is not None]
    since = age_start(runs[0])
    return Row(
        key,
        (
            context.state_spans(state, NEEDS_YOU if state == "waiting" and waiting else ""),
            context.at_host(span(context.sanitize_line(name, 120), "ink-strong", bold=True), host),
            join_spans(counts, context.glyphs.dot),
            (),
            span(format_tokens(used, 0), "ink-muted"),
            span(format_cost(sum(known)) if known else "", "ink-muted"),
            span(format_age(since, context.now), "ink-muted"),
        ),
        values=(state, name, len(runs), None, used, sum(known) if known else None, _older(since)),
        fold=False,
    )


def swarm_run_row(
    summary: Summary, context: RenderContext, used: tuple[int, ...] = (), under: str = "", *, shares_title: bool = False
) -> Row:
    """One run below its swarm."""
    done = is_done(summary)
    keys = run_sort_keys(summary, context)
    far: Spans = span(context.sanitize_line(summary.error, 200), "state-failed") if done and summary.error else ()
    far = far or join_spans((progress_bar(summary, context), progress(summary, context)))
    return Row(
        f"run:{summary.id}",
        (
            run_state_spans(summary, context),
            title_spans(summary, context, "ink" if done else "ink-strong", shares_title=shares_title),
            far or span(context.sanitize_line(summary.input, 200), "ink-muted"),
            sparkline(used, context.glyphs),
            span(format_tokens(summary.input_tokens, summary.output_tokens), "ink-muted"),
            span(format_cost(summary.cost_usd), "ink-muted"),
            span(format_age(age_start(summary), context.now), "ink-muted"),
        ),
        values=(
            keys.state,
            keys.title,
            done_share(summary) if summary.members else keys.steps,
            sum(used) or None,
            keys.tokens,
            keys.cost,
            keys.age,
        ),
        fault=has_fault(summary),
        under=under,
    )


def done_share(summary: Summary) -> float:
    """How much of a run whose parts are known is done, 0 to 1."""
    return min(1.0, summary.members_done / summary.members) if summary.members else 0.0


def progress_bar(summary: Summary, context: RenderContext) -> Spans:
    """`████░░░░ 2/4 ~3m`, where it is known how many parts a run has and while it has not ended; the time that is left
    if the rest takes as long as what is done did, while it is at work.
    """
    if not summary.members or is_done(summary):
        return ()
    full = round(BAR_CELLS * done_share(summary))
    bar = (
        Span(context.glyphs.bar * full, "state-running"),
        Span(context.glyphs.no_bar * (BAR_CELLS - full), "ink-muted"),
        Span(f" {summary.members_done}/{summary.members}"),
    )
    left = time_left(summary, context.now)
    return (*bar, *span(f" ~{left}", "ink-muted")) if left else bar


def swarm_lines(
    key: str,
    summaries: Mapping[str, Summary],
    context: RenderContext,
    host_of: Callable[[str], str],
    kinds: Mapping[str, str] = NO_KINDS,
) -> list[Spans]:
    """What is known of a swarm, for the pane beside the list."""
    runs = [summaries[run_id] for run_id in runs_of(key, summaries, host_of)]
    if not runs:
        return []
    ref = ref_of(key, summaries)
    nodes: dict[str, int] = {}
    for found in runs:
        for state, count in found.leaves.items():
            nodes[state] = nodes.get(state, 0) + count
    by_state = {state: sum(found.shown_phase == state for found in runs) for state in _STATES}
    ended = [found for found in runs if is_done(found) and found.created_at is not None]
    lines: list[Spans] = [
        span(context.sanitize_line(ref, 300), "ink-strong", bold=True),
        join_spans(
            (
                (*context.state_spans(state), Span(f" {context.count(count)}"))
                for state, count in by_state.items()
                if count
            ),
            context.glyphs.dot,
        ),
        (),
    ]
    facts = (
        ("kind", span(context.sanitize_line(kinds.get(key, ""), 40))),
        ("nodes", join_spans(node_counts(nodes, sum(found.open_incidents for found in runs)), context.glyphs.dot)),
        ("took", span(f"{_duration_text(ended[-1], context)}, the last that ended") if ended else ()),
    )
    lines += [(Span(f"{name:<6}  ", "ink-muted"), *value) for name, value in facts if value]
    start = context.key("swarms.start", "s")
    return (
        [*lines, (), (Span(f"{start} ", "ink-key"), Span("starts another run of it", "ink-muted"))] if start else lines
    )


def _duration_text(summary: Summary, context: RenderContext) -> str:
    return format_elapsed(summary.created_at, summary.updated_at, context.now)


def _older(since: datetime | None) -> float | None:
    return -since.timestamp() if since is not None else None
