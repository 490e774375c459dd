"""Rows of the inbox: what needs a decision, what runs, what is done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from runtime.record.state.summary import Summary
from screens.render.formatting import age_ends, format_age
from screens.render.glyphs import state_ink
from screens.render.layout import (
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
    changes_at,
    is_done,
    run_row,
    title_at_host,
    title_spans,
)
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_cache import RowCache

if TYPE_CHECKING:
    from runtime.record.state.events import IncidentOpened

MAX_DONE_SHOWN = 200
"""Finished runs in the list; older ones are found by the command line."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def inbox_rows(
    summaries: Mapping[str, Summary],
    waiting: Sequence[OpenDecision],
    looks: RenderContext,
    where: Callable[[str], str] = lambda _run_id: "",
    memory: RowCache | None = None,
) -> list[Row]:
    """Three parts, each under its heading, without those that are empty. `waiting`: the decisions, the one to take next
    first; those that are the same are under one line. A run in which nothing moves before somebody decides stands
    there, and not also among those at work. `where`: the host that a run is on. With a `memory`, rows that say what
    they said are not made anew.
    """
    memory = memory or RowCache()
    asking = {found.run_id for found in waiting}
    working = [found for found in summaries.values() if not is_done(found) and not _only_asks(found, asking)]
    working.sort(key=lambda found: (found.created_at or _LONG_AGO, found.id), reverse=True)
    done = [found for found in summaries.values() if is_done(found)]
    done.sort(key=lambda found: (found.updated_at or _LONG_AGO, found.id), reverse=True)
    refs = {run_id: summaries[run_id].ref for run_id in asking if run_id in summaries}
    rows = with_headings(
        (
            Part("Needs a decision", "state-waiting", _decisions(waiting, refs, looks, where, memory), len(waiting)),
            Part("Working", "state-running", _runs(working, looks, where, memory)),
            Part("Done", "ink-muted", _runs(done[:MAX_DONE_SHOWN], looks, where, memory), len(done)),
        )
    )
    memory.forget(len(rows))
    return rows


def _only_asks(found: Summary, asking: Collection[str]) -> bool:
    return found.shown_phase == "waiting" and found.id in asking


def _decisions(
    waiting: Sequence[OpenDecision],
    refs: Mapping[str, str],
    looks: RenderContext,
    where: Callable[[str], str],
    memory: RowCache,
) -> list[Row]:
    rows: list[Row] = []
    for key, found in group_decisions(waiting, where).items():
        under = key if len(found) > 1 else ""
        if under:
            rows.append(group_row(key, found, looks, where(found[0].run_id)))
        rows += (
            memory.row(
                f"{under}incident:{each.opened.incident_id}",
                (each, refs.get(each.run_id, "")),
                looks.now,
                lambda each=each, under=under: (  # type: ignore[misc]
                    incident_row(each, looks, where(each.run_id), under, refs.get(each.run_id, "")),
                    age_ends(each.opened.ts, looks.now),
                ),
            )
            for each in found
        )
    return rows


def _runs(
    summaries: Sequence[Summary], looks: RenderContext, where: Callable[[str], str], memory: RowCache
) -> list[Row]:
    return [
        memory.row(
            f"run:{found.id}",
            found,
            looks.now,
            lambda found=found: (run_row(found, looks, where(found.id)), changes_at(found, looks.now)),  # type: ignore[misc]
        )
        for found in summaries
    ]


def incident_row(found: OpenDecision, looks: RenderContext, where: str = "", under: str = "", ref: str = "") -> Row:
    """One decision: what went wrong, where, in which words, and for how long it waits. `ref`: of the run's swarm."""
    opened = found.opened
    title = title_spans(Summary(found.run_id, ref, found.title), looks, "ink-strong")
    return Row(
        f"incident:{opened.incident_id}",
        (
            looks.state("waiting", "decide"),
            title_at_host(title, where, looks),
            incident_words(opened, looks),
            (),
            (),
            span(format_age(opened.ts, looks.now), state_ink("waiting")),
        ),
        values=("waiting", plain_text(title), str(opened.fault.cause), None, None, -opened.ts.timestamp()),
        fault=True,
        under=under,
    )


def group_row(key: str, found: Sequence[OpenDecision], looks: RenderContext, where: str = "") -> Row:
    """Decisions that are the same, the oldest first: how many, what went wrong, for how long the oldest waits."""
    opened = found[0].opened
    count = span(f"{len(found)} like this", "ink-strong", bold=True)
    return Row(
        key,
        (
            looks.state("waiting", "decide"),
            title_at_host(count, where, looks),
            incident_words(opened, looks),
            (),
            (),
            span(format_age(opened.ts, looks.now), state_ink("waiting")),
        ),
        values=("waiting", f"{len(found)} like this", str(opened.fault.cause), None, None, -opened.ts.timestamp()),
        fault=True,
        fold=True,
    )


def incident_words(opened: IncidentOpened, looks: RenderContext) -> Spans:
    """`permission denied · fetch_page · net:example.com:443`; else the question, or the message."""
    from runtime.judgement.recovery.options import (
        wording_of,  # with the vocabulary of events, which runs alone do without
    )

    asked = wording_of(opened, "grant") or opened.question or opened.message or opened.fault.user_message
    message = looks.line(asked, 200)
    return join_spans((cause_and_place(opened, looks), span(message, "ink-muted")), looks.glyphs.dot)


def cause_and_place(opened: IncidentOpened, looks: RenderContext) -> Spans:
    """`permission denied · fetch_page`."""
    cause = "in doubt" if opened.in_doubt else str(opened.fault.cause).replace("_", " ")
    place = looks.line(opened.lineage[-1], 60) if opened.lineage else ""
    return join_spans((span(cause, "state-waiting"), span(place)), looks.glyphs.dot)
