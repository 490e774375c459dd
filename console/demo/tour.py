"""The guided tour of the demo: what is happening, and what to try. Pure: a run and the decision that is shown go in,
text comes out. Each text belongs to a step, so that any order works, and a console that comes back goes on where the
run is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from console.demo.report_place import report_file

if TYPE_CHECKING:
    from runtime.record.state.durable_run import DurableRun, Incident

DEMO_REF: Final = "console.demo.swarm:"

START: Final = (
    "Tour. Five agents survey this folder, without key or network. They will need you four times. Yellow: needs you,"
    " blue: works, green: done. The last row lists keys; ctrl+g hides this text."
)
GOES_ON: Final = (
    "It went on from the failed call; nothing before it ran again. q closes the console at any time: the run goes on"
    " until it needs you. orbiter-console opens it again."
)
MODEL: Final = (
    "an overloaded model. The program tried 4 times by itself, then asked you. Press r (Retry operation): now the model"
    " will answer."
)
INDEX: Final = (
    "two calls to a service that is down. Move up and down: the line below says what an option does. Press r: it is"
    " down once more, then up. Or press s for each call: the report is then written without this result."
)
INDEX_LEFT: Final = (
    "the other call to the service that is down. Press r: it is down once more, then up. Or press s: the report is"
    " then written without this result, too."
)
INDEX_AGAIN: Final = "Refused again; the report says why. In this tour the service is up from now on: press r again."
INDEX_BOTH: Final = (
    "Refused again; the report says why. In this tour the service is up from now on. Two calls wait for it: press"
    " 1 for the inbox, then B, r, y. It retries one call and, when that works, the other. esc, then enter lead back."
)
QUESTION: Final = "a question. Type a name and press enter: the report's first line will have it."
PERMISSION: Final = (
    "a tool wants to write a file; the line Needs names it. g permits it once, G for longer, d refuses it: then no"
    " report is written. Or leave with q: the run waits, and orbiter-console opens it again."
)
SKIPPED: Final = "The agent was told, and goes on without a result. R on the step runs it again."
OVER: Final = (
    "Done. The report is in {path}. Try: R on fetch_index (runs again from there), T (timeline), 7 (who decided what)."
    " For a swarm of your own: orbiter-console init. ctrl+g ends the tour."
)
UNWRITTEN: Final = (
    "Done, without the report: write_report was not carried out. Try: R on write_report (asks you again), T (timeline),"
    " 7 (who decided what). For a swarm of your own: orbiter-console init. ctrl+g ends the tour."
)
ENDED: Final = "The run has ended. R runs it again from the step under the cursor. ctrl+g ends the tour."

_STATIONS: Final = 4


def tour_text(state: DurableRun, incident_id: str) -> str:
    """What the tour says now; empty for a run that is not the demo's.

    Args:
        state: The run.
        incident_id: The decision that is shown; empty where none is.
    """
    if not state.ref.startswith(DEMO_REF):
        return ""
    if state.terminal:
        if state.phase not in ("completed", "degraded"):
            return ENDED
        return OVER.format(path=report_file()) if _is_written(state) else UNWRITTEN
    shown = state.incidents.get(incident_id)
    incident = shown if shown is not None and shown.open else next(iter(state.open_incidents), None)
    if incident is not None:
        return _about(state, incident)
    answered = [each for each in state.incidents.values() if each.answer is not None]
    if not answered:
        return START
    last = answered[-1].answer
    return SKIPPED if last is not None and last.option == "skip" else GOES_ON


def _is_written(state: DurableRun) -> bool:
    """Whether the report was written: its tool was carried out, and not refused, skipped, or answered by hand."""
    writes = [each for each in state.incidents.values() if "write_report" in each.opened.lineage]
    last = writes[-1].answer if writes else None
    return last is None or last.option in ("grant", "retry", "edit")


def _about(state: DurableRun, incident: Incident) -> str:
    station = words = _station(incident)
    if station == INDEX:
        calls = [each for each in state.incidents.values() if _station(each) == INDEX]
        refused = any(each.answer is not None and each.answer.option == "retry" for each in calls)
        if refused:
            return INDEX_BOTH if sum(each.open for each in calls) > 1 else INDEX_AGAIN
        if any(each.answer is not None for each in calls):
            words = INDEX_LEFT
    met = list(dict.fromkeys(filter(None, map(_station, state.incidents.values()))))
    return f"{met.index(station) + 1} of {_STATIONS}: {words}" if station else ""


def _station(incident: Incident) -> str:
    """What an incident is in the tour, in the words that it is met with; empty for one that is not part of it."""
    opened = incident.opened
    if opened.question:
        return QUESTION
    if opened.action.get("permission"):
        return PERMISSION
    if "fetch_index" in opened.lineage:
        return INDEX
    return MODEL if opened.action.get("model") else ""
