"""The wait graph: what a node waits for, down to what blocks it, and what an answer would free.

Pure, and read off the state alone, so that screens and the command line say the same.
"""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from runtime.judgement.reports.report_types import WaitChain, WaitKind, WaitLink
from runtime.judgement.reports.waiting_nodes import nodes_waiting_on
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.events import IncidentOpened
from runtime.record.state.fault_taxonomy import Cause
from runtime.record.state.rewind import place_of


def wait_chain(state: DurableRun, node_id: str = "") -> WaitChain:
    """What a node waits for; the run, without one."""
    chain: list[WaitLink] = []
    node = _first_open(state, node_id, chain)
    if node is None:
        return _run_itself(state, chain)
    held_by = _held_by(state)
    also: list[str] = []
    while below := [state.nodes[child] for child in node.children if not state.nodes[child].terminal]:
        if _own_incident(state, node) is not None:
            break
        below.sort(key=lambda each: held_by.get(each.id, (2, "")))
        chain.append(_link(node, _waits_for(node, below)))
        also += [each.id for each in below[1:]]
        node = below[0]
    return _end(state, node, chain, also)


def without_runtime(found: WaitChain) -> WaitChain:
    """The same where no process drives the run: no work is under way."""
    if found.kind != "work":
        return found
    why = "a runtime that carries the run on"
    last = tuple(replace(link, why=why) for link in found.chain[-1:])
    return replace(found, kind="runtime", why=why, chain=(*found.chain[:-1], *last))


def _first_open(state: DurableRun, node_id: str, chain: list[WaitLink]) -> Node | None:
    """What is done waits for nothing itself; what waits is the node above it that goes on after it."""
    node = state.nodes.get(node_id)
    if node is None:
        return next((state.nodes[root] for root in state.roots if not state.nodes[root].terminal), None)
    while node is not None and node.terminal:
        chain.append(_link(node, f"{node.phase.replace('_', ' ')}: it waits for nothing itself"))
        node = state.nodes.get(node.parent_id)
    return node


def _held_by(state: DurableRun) -> dict[str, tuple[int, str]]:
    """How firmly the nodes above open decisions (0) and pauses (1) are held, the oldest first."""
    held: dict[str, tuple[int, str]] = {}
    for incident in state.open_incidents:
        for node in state.lineage(incident.opened.node_id):
            held[node.id] = min(held.get(node.id, (2, "")), (0, incident.opened.ts.isoformat()))
    for node in state.nodes.values():
        if node.phase == "retrying" and node.retry is not None:
            for above in state.lineage(node.id):
                held.setdefault(above.id, (1, node.retry.until.isoformat()))
    return held


def _own_incident(state: DurableRun, node: Node) -> IncidentOpened | None:
    found = (state.incidents[key] for key in node.incidents if key in state.incidents)
    return next((incident.opened for incident in found if incident.open), None)


def _link(node: Node, why: str) -> WaitLink:
    return WaitLink(node_id=node.id, name=node.name, state=node.phase, why=why)


def _waits_for(node: Node, below: list[Node]) -> str:
    if len(below) == 1:
        return f"waits for {below[0].name}"
    beside = [child for child in node.children if place_of(child)[0] == place_of(below[0].id)[0]]
    if len(beside) < len(below):
        return f"waits for {len(below)} that are not done, {below[0].name} among them"
    return f"waits for all of its {len(beside)} members side by side; {len(below)} are not done"


def _end(state: DurableRun, node: Node, chain: list[WaitLink], also: list[str]) -> WaitChain:
    kind, why, until, incident_id = _reason(state, node)
    chain.append(_link(node, why))
    since = state.incidents[incident_id].opened.ts if incident_id else node.opened_at
    found = _chain_of(state, chain, kind, why, until=until, incident_id=incident_id)
    return replace(found, node_id=node.id, since=since, frees=_count_freed(state, node), also=tuple(also))


def _chain_of(
    state: DurableRun, chain: list[WaitLink], kind: WaitKind, why: str, *, until: datetime | None, incident_id: str
) -> WaitChain:
    return WaitChain(
        id=state.id,
        state=state.shown_phase,
        chain=tuple(chain),
        kind=kind,
        why=why,
        until=until,
        incident_id=incident_id,
    )


def _reason(state: DurableRun, node: Node) -> tuple[WaitKind, str, datetime | None, str]:
    opened = _own_incident(state, node)
    if opened is not None:
        kind, why = _decision(opened)
        return kind, why, opened.deadline, opened.incident_id
    if state.abort is not None:
        return "ending", "the run is being aborted", None, ""
    if state.rewind is not None:
        return "ending", "the run is being started again from an earlier step", None, ""
    if node.in_flight is not None and node.phase == "running":
        return "work", "its call is under way", None, ""
    if state.phase == "frozen":
        return "frozen", _freeze_reason(state), None, ""
    if node.phase == "retrying" and node.retry is not None:
        again = f"attempt {node.retry.attempt} of {node.retry.max_attempts}"
        return "time", f"a pause before {again} ({node.retry.source or 'backoff'})", node.retry.until, ""
    if state.phase == "queued":
        return "runtime", "a runtime that takes the run up", None, ""
    if state.wake_at is not None:
        return "time", "a time that was set", state.wake_at, ""
    return ("order", "its turn", None, "") if node.phase == "pending" else ("work", "it works between steps", None, "")


def _freeze_reason(state: DurableRun) -> str:
    why = f" ({state.frozen.reason})" if state.frozen is not None and state.frozen.reason else ""
    return f"the run is frozen{why}: no new step begins until it is thawed"


_DECISIONS: dict[Cause, tuple[WaitKind, str]] = {
    Cause.PERMISSION_DENIED: ("permission", "a permission that an operator has to grant or deny"),
    Cause.CIRCUIT_OPEN: ("breaker", "a circuit breaker that is open"),
    Cause.LIMIT_REACHED: ("budget", "a budget that is used up"),
    Cause.MISSING_INPUT: ("person", "a person's answer"),
}


def _decision(opened: IncidentOpened) -> tuple[WaitKind, str]:
    if opened.in_doubt:
        return "person", "an operator who checks whether it happened"
    if opened.fault.cause is Cause.PERMISSION_DENIED and not opened.action.get("permission"):
        return "person", "an operator's decision: permission denied"
    cause = opened.fault.cause.value.replace("_", " ")
    return _DECISIONS.get(opened.fault.cause, ("person", f"an operator's decision: {cause}"))


def _run_itself(state: DurableRun, chain: list[WaitLink]) -> WaitChain:
    reasons: dict[str, tuple[WaitKind, str]] = {
        "queued": ("runtime", "a runtime that takes the run up"),
        "frozen": ("frozen", _freeze_reason(state)),
        "running": ("work", "it works between steps"),
        "waiting": ("time", "a time that was set") if state.wake_at else ("person", "an operator's decision"),
    }
    kind, why = reasons.get(state.phase, ("nothing", f"nothing: the run is {state.phase}"))
    incident = next((each for each in state.open_incidents if not each.opened.node_id), None)
    if incident is not None:
        kind, why = _decision(incident.opened)
    incident_id = incident.opened.incident_id if incident is not None else ""
    return _chain_of(state, chain, kind, why, until=state.wake_at, incident_id=incident_id)


def _count_freed(state: DurableRun, node: Node) -> int:
    """Itself, those above it that nothing else holds up, and what was declared to come after each of them."""
    freed, below = 1, node
    for waiter in nodes_waiting_on(state, node.id):
        above = state.nodes[waiter.node_id]
        if any(child != below.id and not state.nodes[child].terminal for child in above.children):
            break
        freed += 1 + len(waiter.then)
        below = above
    return freed
