"""What a command names: a run, a node of it, an incident. Raises `InvalidCommand` where it does not exist."""

from __future__ import annotations

from runtime.operations.answer_params import InvalidCommand
from runtime.record.journal import Journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.summary import Summary


async def find_run(journal: Journal, run_id: str) -> Summary:
    """A run, in a line."""
    summary = await journal.summary(run_id)
    if summary is None:
        raise _unknown_run(run_id)
    return summary


async def find_events(journal: Journal, run_id: str) -> list[ev.JournalEvent]:
    """The events of a run, as far as they are written."""
    recorded = await journal.read(run_id)
    if not recorded:
        raise _unknown_run(run_id)
    return recorded


def _unknown_run(run_id: str) -> InvalidCommand:
    return InvalidCommand(f"unknown run {run_id!r}: 'orbiter-console runs' lists them")


async def find_incident(
    journal: Journal, incident_id: str
) -> tuple[str, ev.IncidentOpened, ev.IncidentAnswered | None]:
    """An incident by its id, or a unique beginning of it: its run, how it opened, its answer."""
    found = await journal.incident(incident_id)
    if found is None:
        raise InvalidCommand(f"unknown incident {incident_id!r}: 'orbiter-console incidents' lists the open ones")
    return found


def answered_by(answer: ev.IncidentAnswered) -> str:
    """Who gave an answer, what, and when, in words."""
    return f"{answer.by.name or 'an operator'} answered {answer.option!r} at {answer.ts:%H:%M:%S}"


def no_node(state: DurableRun, name: str) -> InvalidCommand:
    """What to say of a node that the run does not have."""
    return InvalidCommand(f"run {state.id} has no node {name!r}: 'orbiter-console show {state.id} --json' lists them")


def find_node(state: DurableRun, name: str) -> str:
    """The id of the node that is called so, or whose id is the only one to end so."""
    nodes = state.nodes
    if name in nodes:
        return name
    found = [node_id for node_id, node in nodes.items() if name and (node.name == name or node_id.endswith(name))]
    if len(found) == 1:
        return found[0]
    if not found:
        raise no_node(state, name)
    listed = ", ".join(found[:6]) + (", …" if len(found) > 6 else "")
    raise InvalidCommand(f"{len(found)} nodes of run {state.id} could be meant by {name!r}: {listed}")
