"""What verbs say of runs for which there is no worker: on stderr, so that no run waits in silence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from console.output import print_note
from console.verbs.base import cli_origin, operations_on
from runtime.operations.requests.workers import ListWorkers, UnservedLabel
from runtime.record.journal import Journal
from screens.render.sanitize import sanitize_line

_SHOWN = 5


async def note_unserved_runs(journal: Journal | None) -> None:
    """Look for them, and say so."""
    if journal is not None:
        print_unserved((await operations_on(journal).run(ListWorkers(), cli_origin())).unserved)


def unserved_labels(runs: Mapping[str, Sequence[str]]) -> Iterable[UnservedLabel]:
    """Runs by the label that they wait for, in its order."""
    return (UnservedLabel(code=code, runs=tuple(ids)) for code, ids in sorted(runs.items()))


def print_unserved(labels: Iterable[UnservedLabel]) -> None:
    """One line for each label."""
    for each in labels:
        runs = ", ".join(each.runs[:_SHOWN]) + (", …" if len(each.runs) > _SHOWN else "")
        what = "1 run waits" if len(each.runs) == 1 else f"{len(each.runs)} runs wait"
        code = sanitize_line(repr(each.code), limit=100)
        print_note(f"{what} for a worker with code {code}: {runs} (move RUN --code LABEL lets another take it up)")
