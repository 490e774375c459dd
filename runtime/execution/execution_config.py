"""The configuration of a drive: the workspace's directory, and what is set for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field

from orbiter.mcp.table import ServerTable
from orbiter.steps import Step
from runtime.execution.wait_tracker import Room
from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.permissions.policy import PermissionPolicy
from runtime.judgement.recovery.budget import Budget
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.judgement.reports.notices import NoticeRules
from runtime.judgement.reports.prices import PriceTable
from runtime.judgement.traces.span import TraceSettings
from runtime.record.state.fault_taxonomy import Classification
from runtime.record.workers import CodePolicy


class TrialQueue(Protocol):
    """See `runtime.execution.failures.crash_loop.TrialQueue`."""

    def isolate(self, run_id: str, node_id: str = "") -> AbstractAsyncContextManager[None]: ...


class DeltaSink(Protocol):
    """Where pieces of a reply go while it streams: to the consoles that watch, never to the journal."""

    def wants(self, run_id: str) -> bool: ...

    def put(self, run_id: str, node_id: str, attempt: int, kind: str, text: str) -> None: ...


class CallSite(NamedTuple):
    """A call that an attempt is about to make: which step, and which of its attempts."""

    run_id: str
    node_id: str
    attempt: int
    step: Step[Any, Any]
    arguments: Any
    """What the call works on, with every decision put in."""
    requested: Mapping[str, Any]
    model: str = ""
    """The model that would be asked; empty for other steps."""


class CallInterceptor(Protocol):
    """What stands between an attempt and its call: the faults of a drill, or the record that a test replays.

    Gates, retries, incidents and events around the call are as ever; so is the time limit of the step.
    """

    async def call(self, site: CallSite, make: Callable[[], Awaitable[Any]]) -> Any:
        """The result of the call, from `make` or in its place; raises what the call is to fail with."""
        ...


class SwarmLimit(BaseModel):
    """How much of one swarm there is at once over all workers; the table's name is its reference, or the end of it, as
    `news.py:desk`. With `engine = "dbos"` only.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    concurrency: int | None = Field(default=None, ge=1, description="how many of its runs are driven at once")
    starts: int | None = Field(
        default=None, ge=1, description="how many drives of its runs begin within `period_s`, also after a wait"
    )
    period_s: float = Field(default=60.0, gt=0, le=86_400, allow_inf_nan=False, description="seconds for `starts`")


EngineName = Literal["local", "dbos"]
"""Who gives runs to workers: each worker takes them by itself, or DBOS gives them out."""


@dataclass(slots=True, frozen=True)
class ExecutionConfig:
    """What a drive is given: the workspace's directory, and what is configured."""

    workspace: str
    policy: RetryPolicy | None = None
    """One retry policy for all faults, in place of what `errors` says of each."""
    grace_s: float = 60.0
    """How long everything must have been waiting before the run leaves memory."""
    deadline_s: float | None = None
    """How long an incident waits for a person before its safe default takes effect; None: for ever."""
    enable_error_routing: bool = True
    """Whether an operator may be asked (seed 003). Off, as in headless runs: the safe default takes effect at once."""
    permissions: PermissionPolicy = field(default_factory=PermissionPolicy)
    """What steps may do without being asked about, and what they may not do at all."""
    analysis: str = "off"
    """Who is asked about incidents.

    Model strings, `auto`, or `off` (see `runtime.worker.duties.analysis_models`).
    """
    notices: NoticeRules | None = None
    """Which channels are told of what; None: as `errors` says (seed 003's `notification_channels`)."""
    redact: tuple[str, ...] = ()
    """Regular expressions of what must leave the workspace in no analysis, notice or export."""
    redact_views: bool = False
    """Whether secrets are masked in what consoles are sent, too."""
    errors: FaultHandling = field(default_factory=FaultHandling)
    """How faults are judged, repeated, and held back by breakers."""
    budget: Budget = field(default_factory=Budget)
    """What every run may use up; a run's own options go over it."""
    prices: PriceTable = field(default_factory=PriceTable)
    fallbacks: tuple[str, ...] = ()
    """Models for every agent, tried after its own and its swarm's."""
    guest_tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What is configured for tools of guests, by the tool's name."""
    mcp: ServerTable | None = None
    """The MCP servers of the workspace; None: it names no server."""
    traces: TraceSettings | None = None
    """What is sent of runs to a receiver of traces (`runtime.worker.telemetry`); None: nothing."""
    stall_s: float | None = None
    """After how many seconds without progress an operator is told; None: never."""
    handoff_rounds: int = 3
    """How often agents may hand on in the same circle before an operator is asked; 0: never."""
    secret_keys_file: str = ""
    """A file with the workspace's keys for secrets (`workspace_keys`); without it each process has one of its own."""
    drain_s: float = 10.0
    """How long a stop waits for calls that must not be begun twice; what takes longer is found in doubt."""
    change_s: float = 60.0
    """How long a change of the program waits for every step under way, calls of models too."""
    import_limit_s: float = 60.0
    """How long the import of a swarm's file may take before it is given up."""
    deltas: DeltaSink | None = None
    program: str = ""
    code: str = ""
    """The label of the code that is here. Runs with another label are for other workers."""
    code_policy: CodePolicy = "pinned"
    """Whether a run stays with the label that it began with, or goes on with the newest."""
    queues: tuple[str, ...] | None = None
    """The queues whose runs are driven here; None: of every queue."""
    swarm_queues: Mapping[str, str] = field(default_factory=dict)
    """Which queue runs of a swarm are in, by the reference of a swarm, or its end; else the default one."""
    slots: int = 64
    """How many runs are driven here at once."""
    engine: EngineName = "local"
    limits: Mapping[str, SwarmLimit] = field(default_factory=dict)
    """Of swarms over all workers, by the reference of a swarm, or its end."""
    trial_queue: TrialQueue | None = None
    """Lets one suspect at a time go on (`runtime.execution.failures.crash_loop`)."""
    room: Room | None = None
    """Where runs wait for room in memory, what is idle leaves at once, and not after its grace."""
    alive_since: Callable[[], datetime] | None = None
    """Since when this runtime has been alive to drive runs, without a break (see `runtime.execution.deadlines`)."""

    interceptor: CallInterceptor | None = None
    """Stands between attempts and their calls; None: calls are made."""
    retry_waits: bool = True
    """Whether the time between two attempts is waited for. A replay leaves it out."""

    def policy_for(self, fault: Classification) -> RetryPolicy:
        """How often and how far apart a fault of this kind is tried again."""
        return self.policy or self.errors.policy_for(fault)
