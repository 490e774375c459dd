"""The fold of events that concern a run as a whole: it starts, parks, is frozen, turned back, ends.

Each handler says whether its event could be: False leaves the state as it was and is counted as an anomaly.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from runtime.record.state import events as ev
from runtime.record.state import rewind
from runtime.record.state.fold_steps import cancel_below, reopen

if TYPE_CHECKING:
    from runtime.record.state.run_data import RunData


_LET_GO: Final = "the runtime let go of the run"


def run_created(s: RunData, e: ev.RunCreated) -> bool:
    if s.id:
        return False
    s.id, s.ref, s.title, s.input = e.run_id, e.ref, e.title, e.input
    s.options, s.program, s.code, s.created_at = dict(e.options), e.program, e.code, e.ts
    s.queue = e.queue
    if isinstance(fork := e.options.get("fork"), dict) and fork.get("at") and fork.get("changes"):
        s.changes[str(fork["at"])] = dict(fork["changes"])
    return True


def deaths_after(s: RunData, owner: str) -> int:
    """`RunData.deaths` after another life began. Counted is a process that ended before anything of a node was
    recorded in its life, unless the swarm was imported and the run only waits.
    """
    if not s.driver or s.driver == driver_of(owner):
        return s.deaths
    waits = s.phase == "frozen" or s.counts["waiting"] or s.counts["retrying"] or s.open_incidents
    return 0 if s.busy or s.moved or (s.loaded and waits) else s.deaths + 1


def driver_of(owner: str) -> str:
    """The supervisor, of the name under which one of its drives holds a lease."""
    return owner.rpartition("#")[0] or owner


def run_started(s: RunData, e: ev.RunStarted) -> bool:
    if s.terminal:
        return False
    s.died = bool(s.driver) and s.driver != driver_of(e.owner)
    s.unplaced = s.died and not s.busy
    if s.died:
        s.deaths, s.died_at_import = deaths_after(s, e.owner), not s.loaded
        for node_id in s.busy:
            s.nodes[node_id].deaths += 1
    stopped = s.parked is not None and s.parked.reason == "stop" and s.let_go.get(s.epoch) == _LET_GO
    s.restarts += bool(s.driver) or stopped
    s.driver, s.moved, s.loaded = driver_of(e.owner), False, False
    if s.phase != "frozen":  # a freeze that came between claim and start holds
        s.phase = "running"
    s.epoch, s.parked, s.wake_at, s.code = e.epoch, None, None, s.code or e.code
    s.owners[e.epoch] = e.owner
    s.lives += 1
    s.busy.clear()
    return True


def run_parked(s: RunData, e: ev.RunParked) -> bool:
    if s.terminal:
        return False
    s.parked, s.wake_at, s.driver = e, e.wake_at, ""
    s.let_go.setdefault(s.epoch, _LET_GO)
    s.busy.clear()
    if s.phase != "frozen":
        s.phase = "queued" if e.reason == "stop" else "waiting"
    return True


def run_finished(s: RunData, e: ev.RunFinished) -> bool:
    if s.terminal:
        return False
    s.phase, s.output, s.error, s.finished_at, s.wake_at = e.state, e.output, e.error, e.ts, None
    s.driver = ""
    s.busy.clear()
    for root in s.roots:
        cancel_below(s, s.nodes[root], e)
    for incident in s.open_incidents:
        incident.closed = "the run ended"
    return True


def abort_requested(s: RunData, e: ev.AbortRequested) -> bool:
    if s.terminal:
        return False
    s.abort = s.abort or e
    if s.phase in ("waiting", "frozen"):
        s.phase = "queued"
    return True


def run_frozen(s: RunData, e: ev.RunFrozen) -> bool:
    if s.terminal or s.phase == "frozen":
        return False
    s.phase, s.frozen = "frozen", e
    return True


def run_moved(s: RunData, e: ev.RunMoved) -> bool:
    s.code, s.queue = e.code, e.queue or s.queue
    return True


def run_thawed(s: RunData, e: ev.RunThawed) -> bool:
    if s.phase != "frozen":
        return False
    # Whether anybody still drives it does not show here: a run that is running without a lease is taken up.
    s.phase, s.thawed_at = "running", e.ts
    return True


def rewind_requested(s: RunData, e: ev.RewindRequested) -> bool:
    if s.lives and e.node_id not in s.nodes:
        return False
    s.rewind = e
    if s.terminal:  # the run is to live again: its abort has been done, and what it came to was not its end
        s.abort = None
        _clear_end(s)
    if s.phase not in ("running", "frozen"):  # a frozen run is turned back, and lies still until it is thawed
        s.phase = "queued"
    return True


def run_rewound(s: RunData, e: ev.RunRewound) -> bool:
    if e.node_id not in s.nodes:
        return False
    dropped = rewind.nodes_dropped_by(s, e.node_id)
    s.let_go.setdefault(s.epoch, "the run was turned back")
    kept = [ancestor for ancestor in s.lineage(e.node_id) if ancestor.id not in dropped]
    for ancestor in kept:
        reopen(s, ancestor)
    for _, node in s.walk(kept[0].id) if kept else ():
        # Cancelled because what is open again now had ended: it goes on where it was.
        if node.phase == "cancelled" and node.id not in dropped:
            reopen(s, node)
    for node_id in dropped:
        node = s.drop(node_id)
        s.busy.pop(node_id, None)
        for siblings in (s.roots, s.nodes[node.parent_id].children if node.parent_id in s.nodes else []):
            if isinstance(siblings, list) and node_id in siblings:  # a root, too, where its parent came later
                siblings.remove(node_id)
        for incident_id in node.incidents:
            if s.incidents[incident_id].open:
                s.incidents[incident_id].closed = "the run was rewound"
    s.returned = [found for found in s.returned if found.node_id not in dropped]
    s.changes = {node_id: changes for node_id, changes in s.changes.items() if node_id not in dropped}
    if e.changes:
        s.changes[e.node_id] = dict(e.changes)
    if s.rewind is not None and (s.rewind.node_id == e.node_id or s.rewind.node_id not in s.nodes):
        s.rewind = None  # one that was asked for later is still to be done, if its node is left
    _clear_end(s)
    s.rewound.append(e)
    return True


def _clear_end(s: RunData) -> None:
    s.output, s.error, s.finished_at = "", "", None


def swarm_loaded(s: RunData, e: ev.SwarmLoaded) -> bool:
    s.loaded = True
    return True


def clock_set_back(s: RunData, e: ev.ClockSetBack) -> bool:
    _move_waits(s, s.waits_from(e.ts), timedelta(seconds=-e.seconds))
    return True


def clock_stepped(s: RunData, e: ev.ClockStepped) -> bool:
    by = timedelta(seconds=e.seconds)
    _move_waits(s, s.waits_from(None), by)
    # What else is held against the clock: when to look again, and since when something goes on.
    s.wake_at = s.wake_at + by if s.wake_at is not None else None
    s.thawed_at = s.thawed_at + by if s.thawed_at is not None else None
    s.active_since = s.active_since + by if s.active_since is not None else None
    return True


def _move_waits(s: RunData, waits: Sequence[ev.IncidentOpened | ev.RetryScheduled], by: timedelta) -> None:
    for wait in waits:
        if isinstance(wait, ev.IncidentOpened):
            moved = {"ts": wait.ts + by, "deadline": wait.deadline + by if wait.deadline is not None else None}
            s.incidents[wait.incident_id].opened = replace(wait, **moved)
        else:
            s.nodes[wait.node_id].retry = replace(wait, ts=wait.ts + by, until=wait.until + by)


def breakpoint_changed(s: RunData, e: ev.BreakpointSet | ev.BreakpointCleared) -> bool:
    wanted = isinstance(e, ev.BreakpointSet)
    key = (e.what, e.pattern)
    if wanted == (key in s.breakpoints):
        return False
    s.breakpoints = s.breakpoints | {key} if wanted else s.breakpoints - {key}
    return True


def message_injected(s: RunData, e: ev.MessageInjected) -> bool:
    s.injected[e.injection_id] = e
    return True


def message_delivered(s: RunData, e: ev.MessageDelivered) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None:
        return False
    node.delivered = {**node.delivered, e.turn: node.delivered.get(e.turn, ()) + e.texts}
    for injection_id in e.injection_ids:
        s.injected.pop(injection_id, None)
    return True
