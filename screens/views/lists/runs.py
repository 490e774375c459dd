"""Rows of runs and their columns, from summaries, and a run's head line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from runtime.record.state.summary import RUN_TERMINAL, Summary
from screens.render.formatting import (
    age_ends,
    format_age,
    format_cost,
    format_count,
    format_elapsed,
    format_tokens,
    restarts_text,
    whole_seconds,
)
from screens.render.glyphs import state_ink
from screens.render.layout import (
    Column,
    Deferred,
    Row,
    Span,
    Spans,
    join_spans,
    plain_text,
    span,
)
from screens.views.run.node_state import node_word
from screens.views.shared.render_context import RenderContext

if TYPE_CHECKING:
    from runtime.record.state.durable_run import DurableRun

RUN_COLUMNS: Final = (
    Column("state", width=13),
    Column("run", width=24, grow=2, ending=True),
    Column("what", width=28, grow=3),
    Column("tokens", width=6, right=True, drop=2, optional=True),
    Column("cost", width=7, right=True, drop=1, optional=True),
    Column("age", width=4, right=True),
)

_TOKENS, _COST = 3, 4
NO_FIGURES: Final = frozenset({_TOKENS, _COST})
"""Where the optional columns stand."""

NEEDS_YOU: Final = "needs you"
"""The state of what waits for a person."""
_SHOWN_COUNTS: Final = ("retrying", "running", "failed", "degraded", "succeeded")

_TITLE_CHARS: Final = 120
_ID_END: Final = 4
"""Letters of an id's end, by which a run without a title is told from others of its swarm: the verbs take them."""


def shared_titles(summaries: Iterable[Summary]) -> frozenset[str]:
    """Titles that several runs have."""
    counts = Counter(found.shown_title for found in summaries)
    return frozenset(title for title, count in counts.items() if count > 1)


def title_spans(summary: Summary, context: RenderContext, ink: str = "ink", *, shares_title: bool = False) -> Spans:
    """What a run is called: its title; where others have the same (`shares_title`) or it has none of its own, with its
    swarm and the end of its id.
    """
    title, swarm = (
        context.sanitize_line(summary.shown_title, _TITLE_CHARS),
        context.sanitize_line(summary.ref.rpartition("/")[2], _TITLE_CHARS),
    )
    end = context.sanitize_line(summary.id[-_ID_END:], _ID_END)
    if not swarm or (title not in ("", swarm) and not shares_title):
        return span(title or context.sanitize_line(summary.id, _TITLE_CHARS), ink)
    if title in ("", swarm):
        return (*span(swarm, ink), Span(f" {end}", "ink-muted"))
    where = f"{context.glyphs.dot}{swarm.rpartition(':')[0] or swarm}"
    return (*span(title, ink), Span(where, "ink-muted"), Span(f" {end}", "ink-muted"))


def title_of(summary: Summary, context: RenderContext) -> str:
    """The same in a sentence."""
    return plain_text(title_spans(summary, context))


def is_done(summary: Summary) -> bool:
    return summary.state in RUN_TERMINAL


_NO_FAULT: Final = frozenset({"completed", "aborted"})
_FAULT_STATES: Final = ("failed", "degraded", "timed_out", "waiting")


def has_fault(summary: Summary) -> bool:
    """Whether something went wrong in a run, or waits for a person; what an operator ended is not a fault."""
    if is_done(summary):
        return summary.state not in _NO_FAULT
    return bool(summary.open_incidents) or any(summary.nodes.get(name) for name in _FAULT_STATES)


def age_start(summary: Summary) -> datetime | None:
    """What a run's age is counted from: its beginning, or its end."""
    return summary.updated_at if is_done(summary) else summary.created_at


def changes_at(summary: Summary, now: datetime) -> datetime:
    """When a run's row will say something else though nothing happens: its age goes on, or its countdown."""
    if summary.wake_at is not None and summary.state == "waiting":
        return now + timedelta(seconds=1)
    return age_ends(age_start(summary), now)


class RunSortKeys(NamedTuple):
    """What a row of runs is sorted by: one for each of `RUN_COLUMNS`."""

    state: str
    title: str
    steps: int
    tokens: int
    cost: float | None
    age: float | None


def run_sort_keys(summary: Summary, context: RenderContext) -> RunSortKeys:
    """What the row of one run is sorted by."""
    since = age_start(summary)
    return RunSortKeys(
        state=summary.shown_phase,
        title=title_of(summary, context),
        steps=summary.steps,
        tokens=summary.input_tokens + summary.output_tokens,
        cost=summary.cost_usd,
        age=-since.timestamp() if since is not None else None,
    )


def run_row(summary: Summary, context: RenderContext, host: str = "", *, shares_title: bool = False) -> Row:
    """One run in the list of runs."""
    return Row(
        f"run:{summary.id}",
        Deferred(_run_cells, summary, context, host, shares_title),
        values=Deferred(run_sort_keys, summary, context),
        fault=has_fault(summary),
        blank=_blank_columns(summary),
    )


def _run_cells(summary: Summary, context: RenderContext, host: str, shares_title: bool) -> tuple[Spans, ...]:
    done = is_done(summary)
    detail = (
        span(context.sanitize_line(summary.error, 200), "state-failed")
        if done and summary.error
        else progress(summary, context)
    )
    return (
        run_state_spans(summary, context),
        context.at_host(
            title_spans(summary, context, "ink" if done else "ink-strong", shares_title=shares_title), host
        ),
        detail or span(context.sanitize_line(summary.input, 200), "ink-muted"),
        span(format_tokens(summary.input_tokens, summary.output_tokens), "ink-muted"),
        span(format_cost(summary.cost_usd), "ink-muted"),
        span(format_age(age_start(summary), context.now), "ink-muted"),
    )


def _blank_columns(summary: Summary) -> frozenset[int]:
    """Which of the optional columns have nothing."""
    used = summary.input_tokens + summary.output_tokens
    return frozenset(at for at, has in ((_TOKENS, used), (_COST, summary.cost_usd is not None)) if not has)


def progress(summary: Summary, context: RenderContext) -> Spans:
    """Nodes by state, those that need an operator first; what a run waits for, if it waits for a time."""
    parts = node_counts(summary.leaves, summary.open_incidents)
    if summary.wake_at is not None and summary.state == "waiting":
        left = (summary.wake_at - context.now).total_seconds()
        parts = (
            span(f"goes on in {whole_seconds(left + 1)}" if left > 0 else "goes on now", "state-waiting"),
            *parts,
        )
    return join_spans(parts, context.glyphs.dot)


def run_state_spans(run: Summary | DurableRun, context: RenderContext) -> Spans:
    """The state of a run: one that waits for a person says so."""
    return context.state_spans(run.shown_phase, NEEDS_YOU if asks_for_person(run) else "")


def asks_for_person(run: Summary | DurableRun) -> bool:
    """Whether a run goes on only once a person has answered."""
    return run.shown_phase == "waiting" and bool(run.open_incidents)


def node_counts(nodes: Mapping[str, int], asking: int = 0) -> tuple[Spans, ...]:
    """`1 needs you`, `3 running`, … for the states that tell something. `asking`: decisions that are open."""
    waiting = nodes.get("waiting", 0)
    asking = min(asking, waiting)
    counts = [
        (asking, "waiting", "needs you" if asking == 1 else "need you"),
        (waiting - asking, "waiting", "waits" if waiting - asking == 1 else "wait"),
        *((nodes.get(name, 0), name, node_word(name)) for name in _SHOWN_COUNTS),
    ]
    return tuple(span(f"{format_count(count)} {word}", state_ink(name)) for count, name, word in counts if count)


def time_left(summary: Summary, now: datetime) -> str:
    """In its largest unit; empty where it cannot be told."""
    if summary.shown_phase != "running" or not 0 < summary.members_done < summary.members or summary.created_at is None:
        return ""
    so_far = now - summary.created_at
    whole = so_far / summary.members_done * (summary.members - summary.members_done)
    return format_age(now - whole, now).replace("now", "10s")


def rate_facts(summary: Summary, context: RenderContext) -> tuple[tuple[str, str], ...]:
    """How fast a run goes: on average up to the last thing that happened in it, once that took a minute; and what is
    left, where its parts are known. How many steps a team or a handoff takes is not known before, and so it is said.
    """
    used, minutes = summary.input_tokens + summary.output_tokens, 0.0
    if summary.created_at is not None and summary.updated_at is not None:
        minutes = (summary.updated_at - summary.created_at).total_seconds() / 60
    left, rest = time_left(summary, context.now), summary.members - summary.members_done
    if left:
        left = f"about {left}, if the other {rest} of {summary.members} parts take as long"
    elif summary.shown_phase == "running" and not summary.members:
        left = "not known: the run decides its number of steps as it goes"
    return (
        ("steps", _with_rate(format_count(summary.steps), summary.steps, minutes) if summary.steps else ""),
        ("tokens", _with_rate(format_count(used), used, minutes) if used else ""),
        ("left", left),
    )


def _with_rate(total: str, number: int, minutes: float) -> str:
    return f"{total}, {format_count(round(number / minutes))} a minute" if minutes >= 1 else total


def head_line(state: DurableRun, context: RenderContext) -> Spans:
    """A run in one line: state, time, nodes by state, tokens, cost. That it needs one answer is its state."""
    counts = node_counts(state.leaves, len(state.open_incidents))
    parts = (
        run_state_spans(state, context),
        span(format_elapsed(state.created_at, state.finished_at, context.now), "ink"),
        *(counts[1:] if len(state.open_incidents) == 1 and asks_for_person(state) else counts),
        _unit(format_tokens(state.input_tokens, state.output_tokens), "tokens"),
        span(format_cost(state.cost_usd), "ink-muted"),
        span(restarts_text(state.restarts), "ink-muted") if state.restarts else (),
    )
    return join_spans(parts, context.glyphs.dot)


def _unit(number: str, unit: str) -> Spans:
    return (Span(f"{number} {unit}", "ink-muted"),) if number else ()


def outcome_lines(state: DurableRun, context: RenderContext) -> list[Spans]:
    """What a finished run came to, then its task; of an unfinished one the task, and how far it is."""
    task, error, output = (
        ("Task", state.input, "ink"),
        ("Error", state.error, "state-failed"),
        ("Result", state.output, "ink"),
    )
    lines: list[Spans] = []
    for title, text, ink in (error, output, task) if state.terminal else (task, error, output):
        if text or title == "Task":
            lines += [()] if lines else []
            lines += [span(title, "ink-accent", bold=True)]
            lines += [span(found, ink) for found in context.sanitize_lines(text)]
    if not state.terminal:
        facts = [(name, value) for name, value in rate_facts(state.summary(), context) if value]
        lines += [(), span("So far", "ink-accent", bold=True)] if facts else []
        lines += [(Span(f"{name:<6}  ", "ink-muted"), Span(value)) for name, value in facts]
    return lines
