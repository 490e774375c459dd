"""State as a pure fold of events: what a run is, given what happened.

`RunState.apply` takes the events of one run in order of `seq`. It never raises on what it reads: a transition that
cannot be (a node that closed twice, an answer to an unknown incident) leaves the state as it is and is counted in
`anomalies`, so that one odd event never hides a run from its operator. No terminal state is ever left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from runtime.record import events as ev
from runtime.record import rewind
from runtime.record.taxonomy import Cause, Classification

FOLD_VERSION = 1
"""Rises when the same events give another summary; cached summaries of another version are made anew."""

RunPhase = Literal[
    "queued", "running", "waiting", "frozen", "completed", "degraded", "failed", "interrupted", "aborted"
]
NodePhase = Literal[
    "pending", "running", "retrying", "waiting", "succeeded", "degraded", "failed", "timed_out", "skipped", "cancelled"
]
NodeKind = Literal["swarm", "group", "agent", "tool", "llm", "value"]

RUN_TERMINAL: frozenset[str] = frozenset({"completed", "degraded", "failed", "interrupted", "aborted"})
NODE_TERMINAL: frozenset[str] = frozenset({"succeeded", "degraded", "failed", "timed_out", "skipped", "cancelled"})


@dataclass(slots=True)
class Incident:
    """A fault that waits, or waited, for a person or a rule."""

    opened: ev.IncidentOpened
    answer: ev.IncidentAnswered | None = None
    closed: str = ""
    analysis: ev.AnalysisAdded | None = None

    @property
    def open(self) -> bool:
        return self.answer is None and not self.closed

    @property
    def state(self) -> Literal["open", "answered", "closed"]:
        return "open" if self.open else "answered" if self.answer is not None else "closed"


@dataclass(slots=True, frozen=True)
class Try:
    """An attempt of a step that failed; `wait_s` and `wait_source` are of the wait that came after it, if one did."""

    attempt: int
    ended_at: datetime
    seconds: float
    cause: str
    message: str
    wait_s: float | None = None
    wait_source: str = ""


TRIES = 50
"""Failed attempts of a step that are remembered, the latest ones."""


@dataclass(slots=True)
class Node:
    """An element of the run's tree; its id is its path. Steps (llm, tool, value) are leaves, the rest are scopes."""

    id: str
    parent_id: str
    kind: NodeKind
    name: str
    agent: str = ""
    phase: NodePhase = "running"
    info: dict[str, Any] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)
    opened_at: datetime | None = None
    closed_at: datetime | None = None
    output: str = ""
    error: str = ""
    warnings: list[str] = field(default_factory=list)
    incidents: list[str] = field(default_factory=list)
    returned: ev.ControlReturned | None = None
    """Its failure went back into the swarm, as decided here."""
    active_at_open: float = 0.0
    """The run's active seconds when it opened."""
    is_step: bool = False
    # what follows is of steps only
    requested: dict[str, Any] = field(default_factory=dict)
    effective: dict[str, Any] = field(default_factory=dict)
    permissions: tuple[str, ...] = ()
    idempotent: bool = False
    attempts: int = 0
    """Attempts begun, over all lives."""
    round: int = 0
    """Attempts begun since the last answer of an operator: what a retry policy counts."""
    in_flight: int | None = None
    """Epoch in which an attempt began that has no end yet."""
    recorded: bool = False
    """A result is recorded and the POST hooks have run: the step will not be carried out again."""
    hooks_due: bool = False
    result: Any = None
    fault: Classification | None = None
    by: ev.Actor | None = None
    edits: dict[str, Any] | None = None
    delivered: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Injected messages that an agent got, by turn."""
    retry: ev.RetryScheduled | None = None
    tries: list[Try] = field(default_factory=list)
    secret: bool = False
    """Its result was given and is kept nowhere: a later life asks again."""
    fell_back: list[ev.StepFellBack] = field(default_factory=list)
    """Models that stood in for one another, in order."""
    compactions: int = 0
    """How often its conversation was made smaller."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None

    @property
    def terminal(self) -> bool:
        return self.phase in NODE_TERMINAL


class Summary(BaseModel):
    """What lists show of a run, without its tree."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    id: str
    ref: str = ""
    title: str = ""
    input: str = ""
    state: RunPhase = "queued"
    nodes: dict[str, int] = {}
    """Nodes by state."""
    steps: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    open_incidents: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    wake_at: datetime | None = None
    error: str = ""
    fold: int = FOLD_VERSION


@dataclass(slots=True)
class RunState:
    """One run, as far as its events tell."""

    id: str = ""
    ref: str = ""
    title: str = ""
    input: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    program: str = ""
    phase: RunPhase = "queued"
    output: str = ""
    error: str = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    finished_at: datetime | None = None
    wake_at: datetime | None = None
    thawed_at: datetime | None = None
    parked: ev.RunParked | None = None
    abort: ev.AbortRequested | None = None
    rewind: ev.RewindRequested | None = None
    """Asked for and not yet done."""
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What a rewind changes at a node, for its next attempts."""
    breakpoints: set[tuple[str, str]] = field(default_factory=set)
    injected: dict[str, ev.MessageInjected] = field(default_factory=dict)
    """Messages that no agent has got yet, by injection id."""
    epoch: int = 0
    lives: int = 0
    last_seq: int = 0
    nodes: dict[str, Node] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    incidents: dict[str, Incident] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    returned: list[ev.ControlReturned] = field(default_factory=list)
    """What went back into the swarm so far, oldest first; what was rewound is not among it."""
    steps: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    llm_calls: int = 0
    """Models asked, by steps begun; a second attempt is no second call."""
    tool_calls: int = 0
    unpriced_calls: int = 0
    """Answers of models whose price is unknown; `cost_usd` is without them."""
    busy: list[str] = field(default_factory=list)
    """Steps with an attempt in flight."""
    active_s: float = 0.0
    """Seconds in which a step was in flight that did not wait for a person, up to `active_since`."""
    active_since: datetime | None = None
    anomalies: int = 0
    foreign: set[str] = field(default_factory=set)
    """Types of events of a newer program: what they mean for the run is not known here."""

    @property
    def terminal(self) -> bool:
        return self.phase in RUN_TERMINAL

    @property
    def open_incidents(self) -> list[Incident]:
        return [incident for incident in self.incidents.values() if incident.open]

    def apply(self, event: ev.Record) -> None:
        """Take one event into account."""
        self.last_seq = max(self.last_seq, event.seq)
        if self.active_since is not None and isinstance(event, ev.RunStarted):
            # A life ended without a word: nobody knows when, so the last that was heard of it counts.
            self.active_s = self.active_seconds(self.updated_at or event.ts)
            self.active_since = None
        self.updated_at = event.ts
        if event.v > ev.VERSION or isinstance(event, ev.UnknownEvent):
            self.foreign.add(getattr(event, "type", ""))
        handler = _HANDLERS.get(type(event))
        if handler is None:
            return
        # After the end nothing happens any more, but that a late analysis comes in or that somebody turns it back.
        late = self.terminal and not isinstance(event, ev.AnalysisAdded | ev.RewindRequested | ev.LateResultDropped)
        if late or not handler(self, event):
            self.anomalies += 1
        elif type(event) in _TIMED:
            self._book_time(event)

    def active_seconds(self, now: datetime) -> float:
        """How long the run has worked by `now`: without waits for a person, pauses between attempts, and freezes."""
        since = self.active_since
        return self.active_s + (max(0.0, (now - since).total_seconds()) if since is not None else 0.0)

    def _book_time(self, e: ev.Record) -> None:
        """Begin or end the stretch in which the run works, as it now does or does not."""
        works = self.phase == "running" and any(not self._waits_within(found) for found in self.busy)
        if works and self.active_since is None:
            self.active_since = e.ts
        elif not works and self.active_since is not None:
            self.active_s = self.active_seconds(e.ts)
            self.active_since = None

    def _waits_within(self, node_id: str) -> bool:
        """Whether a step waits for a person, at itself or, as a tool may, at something inside it."""
        below = f"{node_id}/"
        return any(
            each.opened.node_id == node_id or each.opened.node_id.startswith(below) for each in self.open_incidents
        )

    def walk(self, node_id: str = "") -> Iterator[tuple[int, Node]]:
        """Nodes below `node_id` (the whole tree without it), parents first, each with its depth."""
        stack = [(0, child) for child in reversed(self.nodes[node_id].children if node_id else self.roots)]
        while stack:
            depth, found = stack.pop()
            node = self.nodes[found]
            yield depth, node
            stack.extend((depth + 1, child) for child in reversed(node.children))

    def lineage(self, node_id: str) -> list[Node]:
        """From the root down to `node_id`, itself included."""
        found: list[Node] = []
        node = self.nodes.get(node_id)
        while node is not None:
            found.append(node)
            node = self.nodes.get(node.parent_id)
        return found[::-1]

    def summary(self) -> Summary:
        return Summary(
            id=self.id,
            ref=self.ref,
            title=self.title,
            input=self.input[:200],
            state=self.phase,
            nodes={name: count for name, count in self.counts.items() if count},
            steps=self.steps,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost_usd=self.cost_usd,
            open_incidents=sum(incident.open for incident in self.incidents.values()),
            created_at=self.created_at,
            updated_at=self.updated_at,
            wake_at=self.wake_at,
            error=self.error[:500],
        )

    def _move(self, node: Node, phase: NodePhase) -> bool:
        if node.phase == phase:
            return True
        if node.terminal:
            return False
        self.counts[node.phase] -= 1
        self.counts[phase] += 1
        node.phase = phase
        return True

    def _add(self, node: Node) -> None:
        self.nodes[node.id] = node
        self.counts[node.phase] += 1
        parent = self.nodes.get(node.parent_id)
        (parent.children if parent is not None else self.roots).append(node.id)


def fold(events: Iterable[ev.Record]) -> RunState:
    """The state after `events`, which are one run's, in order."""
    state = RunState()
    for event in events:
        state.apply(event)
    return state


def _run_created(s: RunState, e: ev.RunCreated) -> bool:
    if s.id:
        return False
    s.id, s.ref, s.title, s.input = e.run_id, e.ref, e.title, e.input
    s.options, s.program, s.created_at = dict(e.options), e.program, e.ts
    if isinstance(fork := e.options.get("fork"), dict) and fork.get("at") and fork.get("changes"):
        s.changes[str(fork["at"])] = dict(fork["changes"])
    return True


def _run_started(s: RunState, e: ev.RunStarted) -> bool:
    if s.terminal:
        return False
    if s.phase != "frozen":  # a freeze that came between claim and start holds
        s.phase = "running"
    s.epoch, s.parked, s.wake_at = e.epoch, None, None
    s.lives += 1
    s.busy.clear()
    return True


def _run_parked(s: RunState, e: ev.RunParked) -> bool:
    if s.terminal:
        return False
    s.parked, s.wake_at = e, e.wake_at
    s.busy.clear()
    if s.phase != "frozen":
        s.phase = "queued" if e.reason == "stop" else "waiting"
    return True


def _run_finished(s: RunState, e: ev.RunFinished) -> bool:
    if s.terminal:
        return False
    s.phase, s.output, s.error, s.finished_at, s.wake_at = e.state, e.output, e.error, e.ts, None
    s.busy.clear()
    for root in s.roots:
        _cancel_below(s, s.nodes[root], e)
    for incident in s.open_incidents:
        incident.closed = "the run ended"
    return True


def _cancel_below(s: RunState, top: Node, e: ev.Record) -> None:
    """What is still open under a node that ended can only have been cancelled."""
    stack = [top]
    while stack:
        node = stack.pop()
        stack.extend(s.nodes[child] for child in node.children)
        if not node.terminal:
            node.closed_at = e.ts
            s._move(node, "cancelled")


def _abort_requested(s: RunState, e: ev.AbortRequested) -> bool:
    if s.terminal or s.abort is not None:
        return False
    s.abort = e
    if s.phase in ("waiting", "frozen"):
        s.phase = "queued"
    return True


def _run_frozen(s: RunState, e: ev.RunFrozen) -> bool:
    if s.terminal or s.phase == "frozen":
        return False
    s.phase = "frozen"
    return True


def _run_thawed(s: RunState, e: ev.RunThawed) -> bool:
    if s.phase != "frozen":
        return False
    # Whether anybody still drives it does not show here: a run that is running without a lease is taken up.
    s.phase, s.thawed_at = "running", e.ts
    return True


def _rewind_requested(s: RunState, e: ev.RewindRequested) -> bool:
    if s.nodes and e.node_id not in s.nodes:
        return False
    s.rewind = e
    s.phase = "queued" if s.phase != "running" else s.phase
    return True


def _run_rewound(s: RunState, e: ev.RunRewound) -> bool:
    if e.node_id not in s.nodes:
        return False
    dropped = rewind.dropped_by(s, e.node_id)
    kept = [ancestor for ancestor in s.lineage(e.node_id) if ancestor.id not in dropped]
    for ancestor in kept:
        _reopen(s, ancestor)
    for _, node in s.walk(kept[0].id) if kept else ():
        # Cancelled because what is open again now had ended: it goes on where it was.
        if node.phase == "cancelled" and node.id not in dropped:
            _reopen(s, node)
    for node_id in dropped:
        node = s.nodes.pop(node_id)
        s.counts[node.phase] -= 1
        if node_id in s.busy:
            s.busy.remove(node_id)
        siblings = s.nodes[node.parent_id].children if node.parent_id in s.nodes else s.roots
        if node_id in siblings:
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
    s.output, s.error, s.finished_at = "", "", None
    return True


def _reopen(s: RunState, node: Node) -> None:
    s.counts[node.phase] -= 1
    s.counts["running"] += 1
    node.phase, node.output, node.error, node.closed_at = "running", "", "", None


def _breakpoint(s: RunState, e: ev.BreakpointSet | ev.BreakpointCleared) -> bool:
    wanted = isinstance(e, ev.BreakpointSet)
    key = (e.what, e.pattern)
    if wanted == (key in s.breakpoints):
        return False
    (s.breakpoints.add if wanted else s.breakpoints.remove)(key)
    return True


def _message_injected(s: RunState, e: ev.MessageInjected) -> bool:
    s.injected[e.injection_id] = e
    return True


def _message_delivered(s: RunState, e: ev.MessageDelivered) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None:
        return False
    node.delivered[e.turn] = node.delivered.get(e.turn, ()) + e.texts
    for injection_id in e.injection_ids:
        s.injected.pop(injection_id, None)
    return True


def _node_opened(s: RunState, e: ev.NodeOpened) -> bool:
    if e.node_id in s.nodes:
        return False
    node = Node(e.node_id, e.parent_id, e.kind, e.name, info=dict(e.info), opened_at=e.ts)
    node.active_at_open = s.active_seconds(e.ts)
    s._add(node)
    return True


def _node_closed(s: RunState, e: ev.NodeClosed) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None or node.terminal:
        return False
    node.output, node.error, node.closed_at = e.output, e.error, e.ts
    s._move(node, e.state)
    _cancel_below(s, node, e)
    return True


def _warned(s: RunState, e: ev.Warned) -> bool:
    node = s.nodes.get(e.node_id)
    if node is not None:
        node.warnings.append(e.text)
    return True


def _introduce(s: RunState, e: ev.StepRecord, phase: NodePhase) -> Node:
    node = s.nodes.get(e.node_id)
    if node is None:
        node = Node(e.node_id, e.parent_id, e.kind, e.name, agent=e.agent, phase=phase, is_step=True, opened_at=e.ts)
        node.requested, node.permissions, node.idempotent = e.requested, e.permissions, e.idempotent
        s._add(node)
        s.steps += 1
    return node


def _step_requested(s: RunState, e: ev.StepRequested) -> bool:
    _introduce(s, e, "pending")
    return True


def _step_started(s: RunState, e: ev.StepStarted) -> bool:
    node = _introduce(s, e, "running")
    if node.secret:
        node.secret = False
        _reopen(s, node)
    if node.terminal or node.recorded or node.hooks_due or not node.is_step:
        return False
    if e.requested:
        node.requested = e.requested
    node.effective = e.effective
    if not node.attempts:
        s.llm_calls += e.kind == "llm"
        s.tool_calls += e.kind == "tool"
    if node.id not in s.busy:
        s.busy.append(node.id)
    node.attempts, node.round, node.in_flight, node.retry = node.attempts + 1, node.round + 1, e.epoch, None
    return s._move(node, "running")


def _step_edited(s: RunState, e: ev.StepEdited) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None:
        return False
    node.edits = e.changes
    return True


def _step_ended(s: RunState, e: ev.StepEnded) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None or node.recorded or node.hooks_due or not node.is_step:
        return False
    node.in_flight, node.fault, node.by = None, e.fault, e.by
    if node.id in s.busy:
        s.busy.remove(node.id)
    s.unpriced_calls += e.unpriced
    node.input_tokens += e.input_tokens
    node.output_tokens += e.output_tokens
    s.input_tokens += e.input_tokens
    s.output_tokens += e.output_tokens
    if e.cost_usd is not None:
        node.cost_usd = (node.cost_usd or 0.0) + e.cost_usd
        s.cost_usd = (s.cost_usd or 0.0) + e.cost_usd
    if e.fault is not None:
        node.error = e.fault.technical or e.fault.user_message
        if e.by is None:
            node.tries.append(Try(e.attempt, e.ts, e.seconds, e.fault.cause.value, node.error[:500]))
            del node.tries[:-TRIES]
    if e.secret:
        node.secret, node.closed_at = True, e.ts
        return s._move(node, "succeeded")
    if e.fault is not None and not e.absorbed:
        return True
    node.result = e.result
    node.recorded, node.hooks_due = e.settled, not e.settled
    return _settle(s, node, e) if e.settled else True


def _settle(s: RunState, node: Node, e: ev.Record) -> bool:
    node.recorded, node.hooks_due, node.closed_at = True, False, e.ts
    if node.by is not None and isinstance(e, ev.StepEnded) and e.skipped:
        return s._move(node, "skipped")
    if node.fault is None:
        return s._move(node, "succeeded")
    return s._move(node, "timed_out" if node.fault.cause is Cause.TIMEOUT else "failed")


def _step_settled(s: RunState, e: ev.StepSettled) -> bool:
    node = s.nodes.get(e.node_id)
    return node is not None and node.hooks_due and _settle(s, node, e)


def _step_fell_back(s: RunState, e: ev.StepFellBack) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None or node.recorded:
        return False
    node.fell_back.append(e)
    node.round = 0
    return True


def _step_compacted(s: RunState, e: ev.StepCompacted) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None or node.recorded:
        return False
    node.compactions = max(node.compactions, e.round)
    return True


def _control_returned(s: RunState, e: ev.ControlReturned) -> bool:
    s.returned.append(e)
    node = s.nodes.get(e.node_id)
    if node is None:
        return not e.node_id
    node.returned = e
    return True


def _retry_scheduled(s: RunState, e: ev.RetryScheduled) -> bool:
    node = s.nodes.get(e.node_id)
    if node is None or node.recorded:
        return False
    node.retry = e
    if node.tries:
        node.tries[-1] = replace(node.tries[-1], wait_s=e.delay_s, wait_source=e.source)
    return s._move(node, "retrying")


def _late_result(s: RunState, e: ev.LateResultDropped) -> bool:
    node = s.nodes.get(e.node_id)
    if node is not None:
        node.warnings.append(f"attempt {e.attempt} came back after it had been given up: {e.summary}")
    return True


def _incident_opened(s: RunState, e: ev.IncidentOpened) -> bool:
    if e.incident_id in s.incidents:
        return False
    s.incidents[e.incident_id] = Incident(e)
    node = s.nodes.get(e.node_id)
    if node is None:
        return not e.node_id
    node.incidents.append(e.incident_id)
    return s._move(node, "waiting")


def _incident_answered(s: RunState, e: ev.IncidentAnswered) -> bool:
    incident = s.incidents.get(e.incident_id)
    if incident is None or not incident.open:
        return False
    incident.answer = e
    if s.phase == "waiting":
        s.phase = "queued"
    node = s.nodes.get(incident.opened.node_id)
    if node is not None and not node.terminal:
        node.round = 0
        s._move(node, "running")
    return True


def _incident_closed(s: RunState, e: ev.IncidentClosed) -> bool:
    incident = s.incidents.get(e.incident_id)
    if incident is None or not incident.open:
        return False
    incident.closed = e.reason
    return True


def _analysis_added(s: RunState, e: ev.AnalysisAdded) -> bool:
    incident = s.incidents.get(e.incident_id)
    if incident is None:
        return False
    incident.analysis = e
    if e.cost_usd is not None:
        s.cost_usd = (s.cost_usd or 0.0) + e.cost_usd
    return True


_HANDLERS: dict[type[ev.Record], Any] = {
    ev.RunCreated: _run_created,
    ev.RunStarted: _run_started,
    ev.RunParked: _run_parked,
    ev.RunFinished: _run_finished,
    ev.AbortRequested: _abort_requested,
    ev.RunFrozen: _run_frozen,
    ev.RunThawed: _run_thawed,
    ev.RewindRequested: _rewind_requested,
    ev.RunRewound: _run_rewound,
    ev.BreakpointSet: _breakpoint,
    ev.BreakpointCleared: _breakpoint,
    ev.MessageInjected: _message_injected,
    ev.MessageDelivered: _message_delivered,
    ev.NodeOpened: _node_opened,
    ev.NodeClosed: _node_closed,
    ev.Warned: _warned,
    ev.StepRequested: _step_requested,
    ev.StepStarted: _step_started,
    ev.StepEdited: _step_edited,
    ev.StepEnded: _step_ended,
    ev.StepSettled: _step_settled,
    ev.RetryScheduled: _retry_scheduled,
    ev.StepFellBack: _step_fell_back,
    ev.StepCompacted: _step_compacted,
    ev.ControlReturned: _control_returned,
    ev.LateResultDropped: _late_result,
    ev.IncidentOpened: _incident_opened,
    ev.IncidentAnswered: _incident_answered,
    ev.IncidentClosed: _incident_closed,
    ev.AnalysisAdded: _analysis_added,
}

_TIMED: frozenset[type[ev.Record]] = frozenset(
    {
        ev.RunStarted, ev.RunParked, ev.RunFinished, ev.RunFrozen, ev.RunThawed, ev.RunRewound, ev.AbortRequested,
        ev.StepStarted, ev.StepEnded, ev.IncidentOpened, ev.IncidentAnswered, ev.IncidentClosed,
    }
)  # fmt: skip
"""Events after which a run may have begun or ceased to work."""
