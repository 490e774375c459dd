"""The configuration of a drive: the workspace's directory, and what is set for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from runtime.judgement.error_config import ErrorHandlingConfig
from runtime.judgement.permissions.policy import PermissionPolicy
from runtime.judgement.recovery.budget import Budget
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.judgement.reports.notices import NoticeRules
from runtime.judgement.reports.prices import PriceTable, builtin_prices
from runtime.record.state.fault_taxonomy import Classification


class Trials(Protocol):
    """See `runtime.execution.failures.crash_loop.Trials`."""

    def isolate(self, run_id: str, node_id: str = "") -> AbstractAsyncContextManager[None]: ...


class DeltaSink(Protocol):
    """Where pieces of a reply go while it streams: to the consoles that watch, never to the journal."""

    def wants(self, run_id: str) -> bool: ...

    def put(self, run_id: str, node_id: str, attempt: int, kind: str, text: str) -> None: ...


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

    Model strings, `auto`, or `off` (see `runtime.worker.duties.analyst.analysis_models`).
    """
    notices: NoticeRules | None = None
    """Which channels are told of what; None: as `errors` says (seed 003's `notification_channels`)."""
    redact: tuple[str, ...] = ()
    """Regular expressions of what must leave the workspace in no analysis, notice or export."""
    redact_views: bool = False
    """Whether secrets are masked in what consoles are sent, too."""
    errors: ErrorHandlingConfig = field(default_factory=ErrorHandlingConfig)
    """How faults are judged, repeated, and held back by breakers."""
    budget: Budget = field(default_factory=Budget)
    """What every run may use up; a run's own options go over it."""
    prices: PriceTable = field(default_factory=builtin_prices)
    fallbacks: tuple[str, ...] = ()
    """Models for every agent, tried after its own and its swarm's."""
    stall_s: float | None = None
    """After how long without progress somebody is told; None: never."""
    handoff_rounds: int = 3
    """How often agents may hand on in the same circle before somebody is asked; 0: never."""
    drain_s: float = 10.0
    """How long a stop waits for calls that must not be begun twice; what takes longer is found in doubt."""
    change_s: float = 60.0
    """How long a change of the program waits for every step under way, calls of models too."""
    import_limit_s: float = 60.0
    """How long the import of a swarm's file may take before it is given up."""
    deltas: DeltaSink | None = None
    program: str = ""
    trials: Trials | None = None
    """Lets one suspect at a time go on (`runtime.execution.failures.crash_loop`)."""
    crowded: asyncio.Event | None = None
    """Set while runs wait for room in memory: what is idle leaves at once then, and not after its grace."""
    alive_since: Callable[[], datetime] | None = None
    """Since when somebody has been alive to drive runs, without a break (see `RunSession.missed`)."""

    def policy_for(self, fault: Classification) -> RetryPolicy:
        """How often and how far apart a fault of this kind is tried again."""
        return self.policy or self.errors.policy_for(fault)
