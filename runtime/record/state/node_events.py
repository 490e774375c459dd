"""Events of nodes and of steps, the nodes that touch the world."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from runtime.record.state.clock import Instant
from runtime.record.state.event_base import RUNTIME, Actor, JournalEvent
from runtime.record.state.fault_taxonomy import Classification


class NodeOpened(JournalEvent, frozen=True, kw_only=True, tag="node.opened"):
    kind: Literal["swarm", "group", "agent", "tool"]
    name: str
    info: dict[str, Any] = msgspec.field(default_factory=dict)


class NodeClosed(JournalEvent, frozen=True, kw_only=True, tag="node.closed"):
    state: Literal["succeeded", "degraded", "failed", "timed_out", "skipped", "cancelled"]
    output: str = ""
    error: str = ""


class Warned(JournalEvent, frozen=True, kw_only=True, tag="node.warned"):
    """Something an operator should know that is not a fault: a limit reached, a policy that could not be honoured."""

    text: str


class StepRecord(JournalEvent, frozen=True, kw_only=True, tag=False):
    """What a step is. `requested` is what the framework asked for, compared when the step is recalled."""

    kind: Literal["llm", "tool", "value"]
    name: str
    agent: str
    requested: dict[str, Any] = msgspec.field(default_factory=dict)
    idempotent: bool = False
    permissions: tuple[str, ...] = ()


class StepRequested(StepRecord, frozen=True, kw_only=True, tag="step.requested"):
    """A step is known but has not begun. Written only where something must be recorded of it before its first
    attempt.
    """


class StepStarted(StepRecord, frozen=True, kw_only=True, tag="step.started"):
    """An attempt is about to touch the world. Later attempts leave out `requested`.
    `effective` is what a decision made of it, if it differs.
    """

    attempt: int
    epoch: int
    effective: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def durable(self) -> bool:
        """Only a start that must not be repeated unasked: the rest may simply be begun again."""
        return self.kind == "tool" and not self.idempotent


class StepEdited(JournalEvent, frozen=True, kw_only=True, tag="step.edited"):
    """A PRE hook changed what the step works on; `changes` is put in again when the step is recalled."""

    changes: dict[str, Any]


class StepEnded(JournalEvent, frozen=True, kw_only=True, tag="step.ended"):
    """An attempt came to its end: with `result`, or with `fault`. `absorbed`: the fault went to the model as `result`.
    `settled` is False while POST hooks are still to run.
    """

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
    """The result was given and is not kept: a later life that needs it asks again."""
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
        leaves no result), nor where a person ended the branch for it.
        """
        return self.absorbed and self.result is not None and self.by is None


class CancelRequested(JournalEvent, frozen=True, kw_only=True, tag="step.cancel_requested"):
    """An operator wants this one attempt of a tool's call cancelled; the rest of the run goes on."""

    DURABLE: ClassVar[bool] = True
    attempt: int
    reason: str = ""
    by: Actor = RUNTIME


class StepSettled(JournalEvent, frozen=True, kw_only=True, tag="step.settled"):
    """The POST hooks of a step have run."""


class RetryScheduled(JournalEvent, frozen=True, kw_only=True, tag="step.retry_scheduled"):
    """The next attempt of a step waits until `until`."""

    attempt: int
    max_attempts: int
    delay_s: float
    until: Instant
    source: str = ""
    reason: str = ""


class StepFellBack(JournalEvent, frozen=True, kw_only=True, tag="step.fell_back"):
    """A step goes on with another model than the one that failed, or that its breaker holds back."""

    DURABLE: ClassVar[bool] = True
    from_model: str
    to_model: str
    reason: str = ""
    passed_over: tuple[str, ...] = ()
    """Members of the chain that were not asked, each with why."""


class StepCompacted(JournalEvent, frozen=True, kw_only=True, tag="step.compacted"):
    """A conversation that was refused as too large was made smaller: round 1 or 2, what was cut, and its bytes."""

    DURABLE: ClassVar[bool] = True
    round: int
    cuts: tuple[str, ...] = ()
    bytes_before: int = 0
    bytes_after: int = 0


class ControlReturned(JournalEvent, frozen=True, kw_only=True, tag="node.returned"):
    """A failure goes back into the swarm instead of to a person: to the planner (`replan`), to the router (`reroute`),
    to an agent that stands in (`stand_in`), past the failed agent (`go_on`), or the agent ends with what it has
    (`degrade`). `scope` is the node that takes it up, `to` the agent that goes on.
    """

    DURABLE: ClassVar[bool] = True
    remedy: Literal["replan", "reroute", "stand_in", "go_on", "degrade"]
    scope: str = ""
    to: str = ""
    reason: str = ""


class LateResultDropped(JournalEvent, frozen=True, kw_only=True, tag="step.late_result"):
    """A call that had been given up came back; its result is noted, not used."""

    attempt: int
    summary: str = ""
