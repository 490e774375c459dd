"""What verbs say of runs that no worker takes up: on stderr, so that no run waits in silence."""

from __future__ import annotations

from collections.abc import Iterable

from console.output import print_note
from console.verbs.base import cli_origin, operations_on
from runtime.operations.requests.workers import ListWorkers, UnservedRuns
from runtime.record.journal import Journal
from screens.render.sanitize import sanitize_line

_SHOWN = 5


async def note_unserved_runs(journal: Journal | None) -> None:
    """Look for them, and say so."""
    if journal is not None:
        print_unserved((await operations_on(journal).run(ListWorkers(), cli_origin())).unserved)


def print_unserved(found: Iterable[UnservedRuns]) -> None:
    """One line for each need."""
    for each in found:
        runs = ", ".join(each.runs[:_SHOWN]) + (", …" if len(each.runs) > _SHOWN else "")
        what = "1 run waits" if len(each.runs) == 1 else f"{len(each.runs)} runs wait"
        need = sanitize_line(each.need, limit=400)
        help_words = "" if each.queue_error else " (move RUN --code LABEL --queue NAME lets another take it up)"
        print_note(f"{what} for {need}: {runs}{help_words}")
