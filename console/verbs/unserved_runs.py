"""What verbs say of runs that no worker takes up, or that nothing drives: on stderr, so that no run waits in
silence.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from console.output import print_note
from console.verbs.base import cli_origin, operations_on
from console.verbs.run_operation import is_driven
from console.workspace import workspace
from runtime.record.journal import Journal, JournalError
from runtime.record.places import journal_address
from runtime.record.state.summary import PublicSummary
from runtime.record.workspace_lock import holder
from screens.render.sanitize import sanitize_line

if TYPE_CHECKING:
    from runtime.operations.requests.workers import UnservedRuns

_FIRST_LOOK_S: Final = 3.0
"""Seconds that a run has to be taken up before it is asked why it is not; later looks are further apart."""
_LONGEST_PAUSE_S: Final = 60.0
_SHOWN: Final = 5


async def note_unserved_runs(journal: Journal | None) -> None:
    """Look for them, and say so."""
    if journal is not None:
        from runtime.operations.requests.workers import ListWorkers

        print_unserved((await operations_on(journal).run(ListWorkers(), cli_origin())).unserved)


def print_unserved(found: Iterable[UnservedRuns], *, only: str = "") -> None:
    """One line for each need. `only`: the one run that is meant; empty: all."""
    for each in found:
        ids = (only,) if only else each.runs
        runs = ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
        what = "1 run waits" if len(ids) == 1 else f"{len(ids)} runs wait"
        need = sanitize_line(each.need, limit=400)
        help_words = "" if each.queue_error else " (move RUN --code LABEL --queue NAME lets another take it up)"
        print_note(f"{what} for {need}: {runs}{help_words}")


async def tell_unserved(journal: Journal, run_id: str) -> None:
    """Say of a run that is followed why no worker takes it up; each reason once. Until cancelled; at once in a
    directory, whose runtime drives all of its runs.
    """
    if journal_address(workspace().state) is None:
        return
    import asyncio  # verbs that only list do without

    from runtime.operations.requests.workers import ListWorkers

    told, pause = "", _FIRST_LOOK_S
    while True:
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_S)
        with suppress(JournalError):
            listed = await operations_on(journal).run(ListWorkers(), cli_origin())
            mine = next((each for each in listed.unserved if run_id in each.runs), None)
            if mine is not None and mine.need != told:
                print_unserved([mine], only=run_id)
            told = mine.need if mine is not None else ""


async def note_undriven(runs: Iterable[PublicSummary]) -> None:
    """Say that nothing drives the workspace, if a process is missing that drives one of these runs."""
    if any(map(needs_driver, runs)) and await lacks_driver():
        print_undriven()


def note_undriven_here(runs: Iterable[PublicSummary]) -> None:
    """The same at once, for a workspace in a directory."""
    if any(map(needs_driver, runs)) and lacks_driver_here():
        print_undriven()


async def lacks_driver() -> bool:
    """Whether no process drives the workspace, as far as can be seen."""
    with suppress(JournalError):
        return not await is_driven()
    return False


def lacks_driver_here() -> bool:
    """The same at once, for a workspace in a directory."""
    with suppress(JournalError):
        return holder(workspace().state) is None
    return False


def print_undriven() -> None:
    """What to do where nothing drives the workspace."""
    print_note("nothing drives this workspace now: orbiter-console serve carries runs on")


def needs_driver(run: PublicSummary) -> bool:
    """Whether a process has work to do for the run, now or later; not a person."""
    return run.state in ("queued", "running") or (run.state == "waiting" and not run.open_incidents)
