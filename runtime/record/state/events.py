"""The events: facts in the past tense, one model each, joined in the `Event` union.

An event is written once and never changed. `seq` counts within a run from 1 without gaps and is given by the
journal, as is `run_id`'s place in the file; `v` is the version of this vocabulary. A reader ignores fields that
it does not know and keeps events whose `type` it does not know as `UnknownEvent`, so that a newer program's
journal can still be looked at.

What belongs to no run (grants, freezes, each operator's last look) stands in the stream of `WORKSPACE_RUN_ID`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter

from runtime.record.state.fault_taxonomy import Classification

EVENT_VERSION = 1
WORKSPACE_RUN_ID = "@workspace"
"""The run id under which events stand that belong to no run."""

BLOB_BYTES = 64 * 1024
"""A JSON value longer than this is kept beside the journal, by digest (DESIGN section 2)."""


def utc_now() -> datetime:
    return datetime.now(UTC)


class JournalEvent(BaseModel):
    """Common to all events. `node_id` is the node's path; empty for what concerns the run as a whole."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    DURABLE: ClassVar[bool] = False

    v: int = EVENT_VERSION
    seq: int = 0
    run_id: str = ""
    node_id: str = ""
    parent_id: str = ""
    ts: datetime = Field(default_factory=utc_now)

    @property
    def durable(self) -> bool:
        """Must be on disk before anything follows from it: decisions, parks, starts of side effects, completions."""
        return type(self).DURABLE


class Actor(BaseModel):
    """Who did something, and by what way; a rule's `name` is the rule's."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    name: str = ""
    channel: Literal["console", "cli", "rule", "runtime"] = "runtime"


# -- the run ---------------------------------------------------------------------------------------------------


class RunCreated(JournalEvent):
    """A run was asked for. `ref` names the swarm (`module:attr`, `/path.py:attr`), `input` is its task."""

    type: Literal["run.created"] = "run.created"
    DURABLE: ClassVar[bool] = True
    ref: str
    title: str = ""
    input: str = ""
    options: dict[str, Any] = Field(default_factory=dict)
    program: str = ""
    by: Actor = Actor()


class RunStarted(JournalEvent):
    """A process began to drive the run: the first time, or again after it parked or its driver died."""

    type: Literal["run.started"] = "run.started"
    epoch: int
    owner: str = ""
    program: str = ""


class RunParked(JournalEvent):
    """The drive let go of the run. `waiting`: every open leaf waits (or the run is frozen); `stop`: the run is to be
    driven again, since the runtime stops or since what it waited for is over.
    """

    type: Literal["run.parked"] = "run.parked"
    DURABLE: ClassVar[bool] = True
    reason: Literal["waiting", "stop"]
    wake_at: datetime | None = None
    incidents: tuple[str, ...] = ()
    """Ids of the incidents that open leaves wait for. The run is queued instead if one of them is not open any more."""
    thaw: bool = False
    """An open leaf waits for the run to be thawed."""


class RunFinished(JournalEvent):
    type: Literal["run.finished"] = "run.finished"
    DURABLE: ClassVar[bool] = True
    state: Literal["completed", "degraded", "failed", "interrupted", "aborted"]
    output: str = ""
    error: str = ""
    by: Actor = Actor()


class AbortRequested(JournalEvent):
    """Somebody wants the run to end now. The drive cancels and awaits what runs, then the run is finished as
    aborted.
    """

    type: Literal["run.abort_requested"] = "run.abort_requested"
    DURABLE: ClassVar[bool] = True
    reason: str = ""
    by: Actor = Actor()


class RunFrozen(JournalEvent):
    """No new step begins; those in flight come to their end."""

    type: Literal["run.frozen"] = "run.frozen"
    DURABLE: ClassVar[bool] = True
    reason: str = ""
    by: Actor = Actor()


class RunThawed(JournalEvent):
    type: Literal["run.thawed"] = "run.thawed"
    DURABLE: ClassVar[bool] = True
    by: Actor = Actor()


class RewindRequested(JournalEvent):
    """Somebody wants the run to go on from a node as if what came at it and after it had not been. The drive lets go
    first, then drops; `changes` are for the node when it runs again: `model`, `arguments`.
    """

    type: Literal["run.rewind_requested"] = "run.rewind_requested"
    DURABLE: ClassVar[bool] = True
    changes: dict[str, Any] = Field(default_factory=dict)
    reason: str = ""
    by: Actor = Actor()


class RunRewound(JournalEvent):
    """A node, its descendants and everything later in its sequential ancestors were dropped: so many nodes."""

    type: Literal["run.rewound"] = "run.rewound"
    DURABLE: ClassVar[bool] = True
    changes: dict[str, Any] = Field(default_factory=dict)
    dropped: int = 0
    reason: str = ""
    by: Actor = Actor()


class SwarmLoaded(JournalEvent):
    """The swarm's file is imported. Written only in a life whose forerunner ended with its process before anything of a
    node was recorded: if this one ends so too, it was not the import.
    """

    type: Literal["run.loaded"] = "run.loaded"


class ClockSetBack(JournalEvent):
    """The clock was set back under waits that go on: those that began in what is now the future end so much earlier."""

    type: Literal["run.clock_set_back"] = "run.clock_set_back"
    seconds: float


class ClockStepped(JournalEvent):
    """The clock was set forward by so many seconds (back, below 0) while somebody lived who saw by how much: what waits
    for an instant waits as long as it would have.
    """

    type: Literal["run.clock_stepped"] = "run.clock_stepped"
    seconds: float


class BreakpointSet(JournalEvent):
    """The run waits before a tool or an agent whose name matches `pattern` (shell wildcards)."""

    type: Literal["run.breakpoint_set"] = "run.breakpoint_set"
    what: Literal["tool", "agent"]
    pattern: str
    by: Actor = Actor()


class BreakpointCleared(JournalEvent):
    type: Literal["run.breakpoint_cleared"] = "run.breakpoint_cleared"
    what: Literal["tool", "agent"]
    pattern: str
    by: Actor = Actor()


class MessageInjected(JournalEvent):
    """A message for an agent, to be read at its next turn. `agent` is its name; the node narrows it to one place."""

    type: Literal["run.message_injected"] = "run.message_injected"
    DURABLE: ClassVar[bool] = True
    injection_id: str
    agent: str
    text: str
    by: Actor = Actor()


class MessageDelivered(JournalEvent):
    """An agent got injected messages at the beginning of a turn; a later life gives it the same at the same turn."""

    type: Literal["node.message_delivered"] = "node.message_delivered"
    turn: int
    texts: tuple[str, ...]
    injection_ids: tuple[str, ...]


# -- nodes -----------------------------------------------------------------------------------------------------


class NodeOpened(JournalEvent):
    type: Literal["node.opened"] = "node.opened"
    kind: Literal["swarm", "group", "agent", "tool"]
    name: str
    info: dict[str, Any] = Field(default_factory=dict)


class NodeClosed(JournalEvent):
    type: Literal["node.closed"] = "node.closed"
    state: Literal["succeeded", "degraded", "failed", "timed_out", "skipped", "cancelled"]
    output: str = ""
    error: str = ""


class Warned(JournalEvent):
    """Something an operator should know that is no fault: a limit reached, a policy that could not be honoured."""

    type: Literal["node.warned"] = "node.warned"
    text: str


# -- steps -----------------------------------------------------------------------------------------------------


class StepRecord(JournalEvent):
    """What a step is. `requested` is what the framework asked for, compared when the step is recalled."""

    kind: Literal["llm", "tool", "value"]
    name: str
    agent: str
    requested: dict[str, Any] = Field(default_factory=dict)
    idempotent: bool = False
    permissions: tuple[str, ...] = ()


class StepRequested(StepRecord):
    """A step is known but has not begun. Written only where something must be recorded of it before its first
    attempt.
    """

    type: Literal["step.requested"] = "step.requested"


class StepStarted(StepRecord):
    """An attempt is about to touch the world. Later attempts leave out `requested`.
    `effective` is what a decision made of it, if it differs.
    """

    type: Literal["step.started"] = "step.started"
    attempt: int
    epoch: int
    effective: dict[str, Any] = Field(default_factory=dict)

    @property
    def durable(self) -> bool:
        """Only a start that must not be repeated unasked: the rest may simply be begun again."""
        return self.kind == "tool" and not self.idempotent


class StepEdited(JournalEvent):
    """A PRE hook changed what the step works on; `changes` is put in again when the step is recalled."""

    type: Literal["step.edited"] = "step.edited"
    changes: dict[str, Any]


class StepEnded(JournalEvent):
    """An attempt came to its end: with `result`, or with `fault`. `absorbed`: the fault went to the model as `result`.
    `settled` is False while POST hooks are still to run.
    """

    type: Literal["step.ended"] = "step.ended"
    DURABLE: ClassVar[bool] = True
    attempt: int
    result: Any = None
    fault: Classification | None = None
    absorbed: bool = False
    settled: bool = True
    by: Actor | None = None
    """Set where a person gave the result in place of the step, or let it be skipped."""
    skipped: bool = False
    secret: bool = False
    """The result was given and is kept nowhere: whoever needs it in a later life asks again."""
    effect_unknown: bool = False
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    unpriced: bool = False
    """A model answered whose price is unknown: what it cost is not in `cost_usd`."""

    @property
    def model_told(self) -> bool:
        """Whether the failure went to the model as the step's result: not where it went back into the swarm (which
        leaves no result), nor where somebody ended the branch for it.
        """
        return self.absorbed and self.result is not None and self.by is None


class StepSettled(JournalEvent):
    """The POST hooks of a step have run."""

    type: Literal["step.settled"] = "step.settled"


class RetryScheduled(JournalEvent):
    """The next attempt of a step waits until `until`."""

    type: Literal["step.retry_scheduled"] = "step.retry_scheduled"
    attempt: int
    max_attempts: int
    delay_s: float
    until: datetime
    source: str = ""
    reason: str = ""


class StepFellBack(JournalEvent):
    """A step goes on with another model than the one that failed, or that its breaker holds back."""

    type: Literal["step.fell_back"] = "step.fell_back"
    DURABLE: ClassVar[bool] = True
    from_model: str
    to_model: str
    reason: str = ""
    passed_over: tuple[str, ...] = ()
    """Members of the chain that were not asked, each with why."""


class StepCompacted(JournalEvent):
    """A conversation that was refused as too large was made smaller: round 1 or 2, what was cut, and its bytes."""

    type: Literal["step.compacted"] = "step.compacted"
    DURABLE: ClassVar[bool] = True
    round: int
    cuts: tuple[str, ...] = ()
    bytes_before: int = 0
    bytes_after: int = 0


class ControlReturned(JournalEvent):
    """A failure goes back into the swarm instead of to a person: to the planner (`replan`), to the router (`reroute`),
    to an agent that stands in (`stand_in`), past the failed agent (`go_on`), or the agent ends with what it has
    (`degrade`). `scope` is the node that takes it up, `to` the agent that goes on.
    """

    type: Literal["node.returned"] = "node.returned"
    DURABLE: ClassVar[bool] = True
    remedy: Literal["replan", "reroute", "stand_in", "go_on", "degrade"]
    scope: str = ""
    to: str = ""
    reason: str = ""


class LateResultDropped(JournalEvent):
    """A call that had been given up came back; its result is noted, not used."""

    type: Literal["step.late_result"] = "step.late_result"
    attempt: int
    summary: str = ""


# -- incidents -------------------------------------------------------------------------------------------------


class Option(BaseModel):
    """One thing an operator may answer. `id` as in DESIGN section 6; `needs` names the parameter it takes, if any."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    id: str
    label: str
    needs: Literal["", "text", "arguments", "model", "seconds", "amount"] = ""
    hint: str = ""
    standing: bool = False
    """Has effects beyond this incident (a grant that lasts): asks for a second confirmation."""


class IncidentOpened(JournalEvent):
    """A fault waits for a person or a rule. `incident_id` is unique in the workspace."""

    type: Literal["incident.opened"] = "incident.opened"
    DURABLE: ClassVar[bool] = True
    incident_id: str
    revision: int = 1
    fault: Classification
    error_type: str = ""
    message: str = ""
    traceback: str = ""
    fingerprint: str = ""
    options: tuple[Option, ...] = ()
    safe: str = "abort"
    """The option that takes effect at the deadline; never a grant."""
    deadline: datetime | None = None
    in_doubt: bool = False
    lineage: tuple[str, ...] = ()
    """Names from the swarm down to the failing node."""
    task: str = ""
    action: dict[str, Any] = Field(default_factory=dict)
    """What exactly was to be done, in its canonical form: tool and arguments, model, permission with its object."""
    question: str = ""
    answer_schema: dict[str, Any] | None = None
    """JSON schema of the answer to `question`; None: free text."""
    retryable: bool = True
    arguments_schema: dict[str, Any] | None = None
    """JSON schema of a tool's arguments, for the form of `edit` and for the check before an edit is taken."""
    result_schema: dict[str, Any] | None = None
    """JSON schema of a result given by hand, checked before it is taken; None: anything."""
    causes: tuple[str, ...] = ()
    """The chain of errors, outermost first, each as ``Type: message``."""
    unattended: bool = False
    """No operator may be asked: the safe default takes effect at once."""
    secret_key: str = ""
    """Where the answer is a secret: what it is sealed with on its way (`runtime.judgement.recovery.secret_box`)."""


class IncidentAnswered(JournalEvent):
    """The first answer to an incident; later ones are refused."""

    type: Literal["incident.answered"] = "incident.answered"
    DURABLE: ClassVar[bool] = True
    incident_id: str
    revision: int
    option: str
    params: dict[str, Any] = Field(default_factory=dict)
    reach: Literal["attempt", "agent", "run"] = "attempt"
    reason: str = ""
    by: Actor = Actor()


class IncidentClosed(JournalEvent):
    """An incident that no longer matters, with the reason; it was not answered."""

    type: Literal["incident.closed"] = "incident.closed"
    incident_id: str
    reason: str


class AnalysisStarted(JournalEvent):
    """A model is being asked about an incident; what comes of it is an `AnalysisAdded`, in this life or a later one."""

    type: Literal["incident.analysis_started"] = "incident.analysis_started"
    incident_id: str
    model: str


class AnalysisAdded(JournalEvent):
    """A model's view of an incident; a fixed sentence where none could be had."""

    type: Literal["incident.analysed"] = "incident.analysed"
    incident_id: str
    fingerprint: str = ""
    """The incident's: equal ones get the same, also after a restart."""
    text: str
    model: str = ""
    fallback: bool = False
    cost_usd: float | None = None


# -- the workspace ---------------------------------------------------------------------------------------------


class GrantAdded(JournalEvent):
    """A permission. `subject` is an agent's name, or `*`; it lasts for a run, for a swarm (`ref`), or until revoked."""

    type: Literal["grant.added"] = "grant.added"
    DURABLE: ClassVar[bool] = True
    grant_id: str
    subject: str
    verb: str
    pattern: str
    lifetime: Literal["run", "swarm", "always"]
    scope: str = ""
    """The run id or the swarm's reference that the lifetime names."""
    until: datetime | None = None
    incident_id: str = ""
    by: Actor = Actor()
    reading: int = 1
    """How its pattern was read when it was given (`runtime.judgement.permissions.changed_patterns`)."""


class GrantUsed(JournalEvent):
    """A grant let a step pass. Stands in the run's stream, at the step."""

    type: Literal["grant.used"] = "grant.used"
    grant_id: str
    need: str


class GrantRevoked(JournalEvent):
    type: Literal["grant.revoked"] = "grant.revoked"
    DURABLE: ClassVar[bool] = True
    grant_id: str
    by: Actor = Actor()


class FreezeSet(JournalEvent):
    """Runs that begin from now on are frozen: those of the swarm `ref`, or all where it is empty."""

    type: Literal["freeze.set"] = "freeze.set"
    DURABLE: ClassVar[bool] = True
    ref: str = ""
    reason: str = ""
    by: Actor = Actor()


class FreezeLifted(JournalEvent):
    """The freeze of a swarm is over; with an empty `ref` every one is."""

    type: Literal["freeze.lifted"] = "freeze.lifted"
    DURABLE: ClassVar[bool] = True
    ref: str = ""
    by: Actor = Actor()


class BreakerChanged(JournalEvent):
    """A circuit breaker is in another state. `key`: ``model:provider:name`` or ``tool:name``; times in epoch seconds;
    `opened_at` None: closed. The fields are those of `runtime.judgement.recovery.breaker.Breaker`.
    """

    type: Literal["breaker.changed"] = "breaker.changed"
    key: str
    failures: int = 0
    opened_at: float | None = None
    prober: str = ""
    probed_at: float = 0.0
    reason: str = ""
    by: Actor = Actor()


class OperatorLooked(JournalEvent):
    """An operator has seen what there was up to now: the next digest begins here."""

    type: Literal["operator.looked"] = "operator.looked"
    by: Actor


class EventsLost(JournalEvent):
    """The newest events of the journal were found to be missing: its file was damaged, taken away, or put back as it
    had been. What it was that was lost nobody knows.
    """

    type: Literal["journal.events_lost"] = "journal.events_lost"
    DURABLE: ClassVar[bool] = True
    detail: str


class PatternReread(JournalEvent):
    """A pattern of a grant or a rule is read in another way by this version of the program. Told once."""

    type: Literal["permission.pattern_reread"] = "permission.pattern_reread"
    what: str
    """The grant with its id, or the rule with its verdict."""
    before: str
    now: str


class NoticeSent(JournalEvent):
    """A channel was told of incidents, each at a revision; a notice that a crash kept from being noted is sent
    again.
    """

    type: Literal["notice.sent"] = "notice.sent"
    channel: str
    incidents: tuple[tuple[str, int], ...]


class UnknownEvent(JournalEvent):
    """An event of a newer program; kept, shown by name, and without effect on state."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)
    type: str


EVENT_CLASSES: tuple[type[JournalEvent], ...] = (
    RunCreated, RunStarted, RunParked, RunFinished, AbortRequested, RunFrozen, RunThawed,
    RewindRequested, RunRewound, SwarmLoaded, ClockSetBack, ClockStepped, BreakpointSet, BreakpointCleared,
    MessageInjected, MessageDelivered,
    NodeOpened, NodeClosed, Warned,
    StepRequested, StepStarted, StepEdited, StepEnded, StepSettled, RetryScheduled, LateResultDropped,
    StepFellBack, StepCompacted, ControlReturned,
    IncidentOpened, IncidentAnswered, IncidentClosed, AnalysisStarted, AnalysisAdded,
    GrantAdded, GrantUsed, GrantRevoked, FreezeSet, FreezeLifted, BreakerChanged, OperatorLooked, EventsLost,
    NoticeSent, PatternReread,
)  # fmt: skip
OPERATOR_EVENTS: tuple[type[JournalEvent], ...] = (
    AbortRequested, RunFrozen, RunThawed, RewindRequested, BreakpointSet, BreakpointCleared, MessageInjected,
    AnalysisStarted, AnalysisAdded, IncidentClosed, LateResultDropped, ClockStepped,
)  # fmt: skip
"""What may be appended to a run without its lease, besides answers."""

WAKING_EVENTS: tuple[type[JournalEvent], ...] = (AbortRequested, RunThawed, RewindRequested)
"""Desk kinds after which a run that waits must be driven again."""

_NAMES = frozenset(kind.model_fields["type"].default for kind in EVENT_CLASSES)


def _tag(value: Any) -> str:
    name = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return name if isinstance(name, str) and name in _NAMES else "unknown"


Event = Annotated[
    Annotated[RunCreated, Tag("run.created")]
    | Annotated[RunStarted, Tag("run.started")]
    | Annotated[RunParked, Tag("run.parked")]
    | Annotated[RunFinished, Tag("run.finished")]
    | Annotated[AbortRequested, Tag("run.abort_requested")]
    | Annotated[RunFrozen, Tag("run.frozen")]
    | Annotated[RunThawed, Tag("run.thawed")]
    | Annotated[RewindRequested, Tag("run.rewind_requested")]
    | Annotated[RunRewound, Tag("run.rewound")]
    | Annotated[SwarmLoaded, Tag("run.loaded")]
    | Annotated[ClockSetBack, Tag("run.clock_set_back")]
    | Annotated[ClockStepped, Tag("run.clock_stepped")]
    | Annotated[BreakpointSet, Tag("run.breakpoint_set")]
    | Annotated[BreakpointCleared, Tag("run.breakpoint_cleared")]
    | Annotated[MessageInjected, Tag("run.message_injected")]
    | Annotated[MessageDelivered, Tag("node.message_delivered")]
    | Annotated[NodeOpened, Tag("node.opened")]
    | Annotated[NodeClosed, Tag("node.closed")]
    | Annotated[Warned, Tag("node.warned")]
    | Annotated[StepRequested, Tag("step.requested")]
    | Annotated[StepStarted, Tag("step.started")]
    | Annotated[StepEdited, Tag("step.edited")]
    | Annotated[StepEnded, Tag("step.ended")]
    | Annotated[StepSettled, Tag("step.settled")]
    | Annotated[RetryScheduled, Tag("step.retry_scheduled")]
    | Annotated[LateResultDropped, Tag("step.late_result")]
    | Annotated[StepFellBack, Tag("step.fell_back")]
    | Annotated[StepCompacted, Tag("step.compacted")]
    | Annotated[ControlReturned, Tag("node.returned")]
    | Annotated[IncidentOpened, Tag("incident.opened")]
    | Annotated[IncidentAnswered, Tag("incident.answered")]
    | Annotated[IncidentClosed, Tag("incident.closed")]
    | Annotated[AnalysisStarted, Tag("incident.analysis_started")]
    | Annotated[AnalysisAdded, Tag("incident.analysed")]
    | Annotated[GrantAdded, Tag("grant.added")]
    | Annotated[GrantUsed, Tag("grant.used")]
    | Annotated[GrantRevoked, Tag("grant.revoked")]
    | Annotated[FreezeSet, Tag("freeze.set")]
    | Annotated[FreezeLifted, Tag("freeze.lifted")]
    | Annotated[BreakerChanged, Tag("breaker.changed")]
    | Annotated[OperatorLooked, Tag("operator.looked")]
    | Annotated[EventsLost, Tag("journal.events_lost")]
    | Annotated[NoticeSent, Tag("notice.sent")]
    | Annotated[PatternReread, Tag("permission.pattern_reread")]
    | Annotated[UnknownEvent, Tag("unknown")],
    Discriminator(_tag),
]

_adapter: TypeAdapter[JournalEvent] = TypeAdapter(Event, config=ConfigDict(defer_build=True))


def dump_event(event: JournalEvent) -> str:
    """One line of JSON. Fields at their defaults are left out, `type` never; `seq`, `run_id`, `node_id` and `ts`
    have columns of their own in a journal but stand here too where they are set, so that a line is whole.
    """
    body = event.model_dump_json(exclude_defaults=True)
    return f'{{"type":"{event.type}"{"," if len(body) > 2 else ""}{body[1:]}'  # type: ignore[attr-defined]


def load_event(body: str | bytes) -> JournalEvent:
    """The event that `dump` wrote.

    Raises:
        pydantic.ValidationError: the line is no event of ours.
    """
    return _adapter.validate_json(body)


def parse_event(value: Any) -> JournalEvent:
    """As `load`, from parsed JSON."""
    return _adapter.validate_python(value)
