"""Rows of the inbox: what needs a decision, what runs, what is done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from runtime.judgement.recovery.answer_wording import wording_of
from runtime.record.state.incident_events import IncidentOpened
from runtime.record.state.summary import Summary
from screens.render.formatting import age_ends, format_age
from screens.render.glyphs import state_ink
from screens.render.layout import (
    Deferred,
    Part,
    Row,
    Spans,
    join_spans,
    plain_text,
    span,
    with_headings,
)
from screens.views.decisions.incident_groups import OpenDecision, group_decisions
from screens.views.lists.runs import (
    NEEDS_YOU,
    NO_FIGURES,
    changes_at,
    is_done,
    run_row,
    shared_titles,
    title_spans,
)
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_cache import RowCache
from screens.views.shared.row_sort import LONG_AGO

MAX_DONE_SHOWN = 200
"""Finished runs in the list; a filter goes through all."""


def inbox_rows(
    summaries: Mapping[str, Summary],
    waiting: Sequence[OpenDecision],
    context: RenderContext,
    host_of: Callable[[str], str] = lambda _run_id: "",
    memory: RowCache | None = None,
    *,
    most_done: int = MAX_DONE_SHOWN,
) -> list[Row]:
    """Three parts, each under its heading, without those that are empty. `waiting`: the decisions, the one to take next
    first; those that are the same are under one line. A run in which nothing moves before an operator decides stands
    there, and not also among those at work. `host_of`: the host that a run is on. With a `memory`, rows that say what
    they said are not made again. `most_done`: finished runs that are listed.
    """
    memory = memory or RowCache()
    asking = {found.run_id for found in waiting}
    working: list[Summary] = []
    done: list[Summary] = []
    for found in summaries.values():
        if is_done(found):
            done.append(found)
        elif not _only_asks(found, asking, partial=context.partial):
            working.append(found)
    working.sort(key=lambda found: (found.created_at or LONG_AGO, found.id), reverse=True)
    done.sort(key=lambda found: (found.updated_at or LONG_AGO, found.id), reverse=True)
    refs = {run_id: summaries[run_id].ref for run_id in asking if run_id in summaries}
    shared = shared_titles(summaries.values())
    decisions = _decisions(waiting, refs, context, host_of, memory=memory, shared=shared)
    rows = with_headings(
        (
            Part("Needs a decision", "state-waiting", decisions, context.count(len(waiting))),
            Part(
                "Working",
                "state-running",
                _runs(working, context, host_of, memory=memory, shared=shared),
                context.count(len(working)),
            ),
            Part(
                "Done",
                "ink-muted",
                _runs(done[:most_done], context, host_of, memory=memory, shared=shared),
                context.count(len(done)),
            ),
        )
    )
    memory.forget(len(rows))
    return rows


def _only_asks(found: Summary, asking: Collection[str], *, partial: bool) -> bool:
    """`partial`: its decisions may be still to come."""
    return found.shown_phase == "waiting" and (found.id in asking or (partial and found.open_incidents > 0))


def _decisions(
    waiting: Sequence[OpenDecision],
    refs: Mapping[str, str],
    context: RenderContext,
    host_of: Callable[[str], str],
    *,
    memory: RowCache,
    shared: Collection[str],
) -> list[Row]:
    def made(source: tuple[OpenDecision, str, str, bool]) -> tuple[Row, datetime]:
        each, under, ref, shares_title = source
        row = incident_row(each, context, host_of(each.run_id), under, ref, shares_title=shares_title)
        return row, age_ends(each.opened.ts, context.now)

    rows: list[Row] = []
    for key, found in group_decisions(waiting, host_of).items():
        under = key if len(found) > 1 else ""
        if under:
            rows.append(group_row(key, found, context, host_of(found[0].run_id)))
        rows += (
            memory.row(
                f"{under}incident:{each.opened.incident_id}",
                (each, under, refs.get(each.run_id, ""), each.title in shared),
                context.now,
                made,
            )
            for each in found
        )
    return rows


def _runs(
    summaries: Sequence[Summary],
    context: RenderContext,
    host_of: Callable[[str], str],
    *,
    memory: RowCache,
    shared: Collection[str],
) -> list[Row]:
    def made(source: tuple[Summary, bool]) -> tuple[Row, datetime]:
        found, shares_title = source
        return run_row(found, context, host_of(found.id), shares_title=shares_title), changes_at(found, context.now)

    return [
        memory.row(f"run:{found.id}", (found, found.shown_title in shared), context.now, made) for found in summaries
    ]


def incident_row(
    found: OpenDecision,
    context: RenderContext,
    host: str = "",
    under: str = "",
    ref: str = "",
    *,
    shares_title: bool = False,
) -> Row:
    """One decision: what went wrong, where, in which words, and for how long it waits. `ref`: of the run's swarm."""
    key, given = f"incident:{found.opened.incident_id}", (found, context, ref, shares_title)
    cells, values = Deferred(_incident_cells, host, *given), Deferred(_incident_values, *given)
    return Row(key, cells, values=values, fault=True, under=under, blank=NO_FIGURES)


def _incident_cells(
    host: str, found: OpenDecision, context: RenderContext, ref: str, shares_title: bool
) -> tuple[Spans, ...]:
    opened = found.opened
    return (
        context.state_spans("waiting", NEEDS_YOU),
        context.at_host(_run_title(found, context, ref, shares_title), host),
        join_spans((_proposal_mark(found, context), incident_words(opened, context)), context.glyphs.dot),
        (),
        (),
        span(format_age(opened.ts, context.now), state_ink("waiting")),
    )


def _incident_values(found: OpenDecision, context: RenderContext, ref: str, shares_title: bool) -> tuple[Any, ...]:
    opened = found.opened
    title = plain_text(_run_title(found, context, ref, shares_title))
    return ("waiting", title, str(opened.fault.cause), None, None, -opened.ts.timestamp())


def _run_title(found: OpenDecision, context: RenderContext, ref: str, shares_title: bool) -> Spans:
    run = Summary(found.run_id, ref, found.title)
    return title_spans(run, context, "ink-strong", shares_title=shares_title)


def _proposal_mark(found: OpenDecision, context: RenderContext) -> Spans:
    """`Claude Code: retry?`: who proposes which answer, without the account that stands behind the name."""
    if not found.proposed:
        return ()
    who = context.sanitize_line(found.proposed_by.partition(" (")[0], 20) or "an agent"
    return span(f"{who}: {context.sanitize_line(found.proposed, 20)}?", "ink-accent")


def group_row(key: str, found: Sequence[OpenDecision], context: RenderContext, host: str = "") -> Row:
    """Decisions that are the same, the oldest first: how many, what went wrong, for how long the oldest waits."""
    opened = found[0].opened
    alike = f"{context.count(len(found))} alike"
    return Row(
        key,
        (
            context.state_spans("waiting", NEEDS_YOU),
            context.at_host(span(alike, "ink-strong", bold=True), host),
            incident_words(opened, context),
            (),
            (),
            span(format_age(opened.ts, context.now), state_ink("waiting")),
        ),
        values=("waiting", alike, str(opened.fault.cause), None, None, -opened.ts.timestamp()),
        fault=True,
        fold=True,
    )


def incident_words(opened: IncidentOpened, context: RenderContext) -> Spans:
    """`permission denied · fetch_page · net:example.com:443`; else the question, or the message."""
    asked = wording_of(opened, "grant") or opened.what
    if opened.lineage:  # the place is said before it
        asked = asked.removeprefix(f"Tool '{opened.lineage[-1]}' failed: ")
    message = context.sanitize_line(asked, 200)
    return join_spans((cause_and_place(opened, context), span(message, "ink-muted")), context.glyphs.dot)


def cause_and_place(opened: IncidentOpened, context: RenderContext) -> Spans:
    """`service unavailable · fetch_page`; what is asked is a question or a request, and not an error."""
    cause = "question" if opened.question else str(opened.fault.cause).replace("_", " ")
    cause = "asks permission" if wording_of(opened, "grant") else cause
    cause = "may have happened" if opened.in_doubt else cause
    place = context.sanitize_line(opened.lineage[-1], 60) if opened.lineage else ""
    return join_spans((span(cause, "state-waiting"), span(place)), context.glyphs.dot)
