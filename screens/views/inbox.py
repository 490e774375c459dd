"""The home screen's list: what needs a decision, over all runs; what is at work; what is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Protocol

from runtime.record.events import IncidentOpened
from runtime.record.state import Summary
from screens.glyphs import state_ink
from screens.layout import Row, Spans, joined, span
from screens.views.looks import Looks
from screens.views.runs import is_done, named, run_row
from screens.words import age, plural

DONE_SHOWN = 200
"""Finished runs in the list; older ones are found by the command line."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Waiting(Protocol):
    """An open incident and the run that it belongs to: `link.protocol.Inboxed`, `record.journal.OpenIncident`."""

    @property
    def run_id(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def opened(self) -> IncidentOpened: ...


def in_order(incidents: Iterable[Waiting]) -> list[Waiting]:
    """Oldest first: an order that no change upsets."""
    return sorted(incidents, key=lambda found: (found.opened.ts, found.opened.incident_id))


def inbox_rows(
    summaries: Mapping[str, Summary],
    incidents: Iterable[Waiting],
    looks: Looks,
    where: Callable[[str], str] = lambda _run_id: "",
) -> list[Row]:
    """Three groups, each under its heading, without those that are empty. `where`: the host that a run is on."""
    waiting = in_order(incidents)
    working = [found for found in summaries.values() if not is_done(found)]
    working.sort(key=lambda found: (found.created_at or _LONG_AGO, found.id), reverse=True)
    done = [found for found in summaries.values() if is_done(found)]
    done.sort(key=lambda found: (found.updated_at or _LONG_AGO, found.id), reverse=True)
    rows: list[Row] = []
    groups: tuple[tuple[str, str, list[Row]], ...] = (
        ("Needs a decision", "state-waiting", [incident_row(found, looks, where(found.run_id)) for found in waiting]),
        ("Working", "state-running", [run_row(found, looks, where(found.id)) for found in working]),
        ("Done", "ink-muted", [run_row(found, looks, where(found.id)) for found in done[:DONE_SHOWN]]),
    )
    totals = (len(waiting), len(working), len(done))
    for (title, ink, found), total in zip(groups, totals, strict=True):
        if found:
            if rows:
                rows.append(Row(f"gap:{title}", ((),), heading=True))
            rows.append(
                Row(
                    f"heading:{title}",
                    (span(f" {title}", ink, bold=True), span(f"  {total}", "ink-muted")),
                    heading=True,
                )
            )
            rows += found
    return rows


def incident_row(found: Waiting, looks: Looks, where: str = "") -> Row:
    """One decision: what went wrong, where, in which words, and how many ways there are."""
    opened = found.opened
    return Row(
        f"incident:{opened.incident_id}",
        (
            looks.state("waiting", "decide"),
            named(span(looks.line(found.title, 120) or looks.line(found.run_id, 40), "ink-strong"), where, looks),
            what(opened, looks),
            span(plural(len(opened.options), "way"), "ink-muted"),
            (),
            span(age(opened.ts, looks.now), state_ink("waiting")),
        ),
    )


def what(opened: IncidentOpened, looks: Looks) -> Spans:
    """`permission denied · fetch_page · the message`."""
    message = looks.line(opened.question or opened.message or opened.fault.user_message, 200)
    return joined((cause_and_place(opened, looks), span(message, "ink-muted")), looks.glyphs.dot)


def cause_and_place(opened: IncidentOpened, looks: Looks) -> Spans:
    """`permission denied · fetch_page`."""
    cause = "in doubt" if opened.in_doubt else str(opened.fault.cause).replace("_", " ")
    place = looks.line(opened.lineage[-1], 60) if opened.lineage else ""
    return joined((span(cause, "state-waiting"), span(place)), looks.glyphs.dot)
