"""A circuit breaker as a state machine without a clock: closed, open, half-open with one probe.

There is one per model (``model:openai:gpt-4o``) and one per tool (``tool:search``). It is a value: every method
returns the breaker that follows, so that its state can stand in an event and be folded like all other state. Times are
epoch seconds given by the caller, who also names itself (`caller`), so that a late answer is told from the probe's.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field

from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
)

_OUTAGE_CAUSES = frozenset({Cause.SERVICE_UNAVAILABLE, Cause.NETWORK, Cause.TIMEOUT})


class BreakerState(StrEnum):
    """What a breaker does with the next call: lets it pass, refuses it, or lets one pass to see."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class BreakerPolicy(BaseModel):
    """`threshold` failures in a row open it; after `cooldown_s` one probe is let through.

    A probe that says nothing for `probe_s` counts as lost (its process died), and the next call probes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True
    threshold: int = Field(default=5, ge=1)
    cooldown_s: float = Field(default=60.0, ge=0)
    probe_s: float = Field(default=600.0, gt=0)


class BreakerVerdict(NamedTuple):
    """Whether a call may go out now. `wait_s`: when to ask again; None where another's probe decides."""

    allowed: bool
    probe: bool = False
    wait_s: float | None = None


class Breaker(BaseModel):
    """One breaker. `opened_at` is None while it is closed; `prober` names who holds the probe, since `probed_at`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    key: str
    failures: int = 0
    opened_at: float | None = None
    prober: str = ""
    probed_at: float = 0.0

    def state(self, policy: BreakerPolicy, now: float) -> BreakerState:
        """What it is at `now`. A disabled breaker is always closed."""
        if self.opened_at is None or not policy.enabled:
            return BreakerState.CLOSED
        # Half-open also while a probe is out, whatever the clock was set back to.
        if self._is_probing(policy, now) or now >= self.opened_at + policy.cooldown_s:
            return BreakerState.HALF_OPEN
        return BreakerState.OPEN

    def check(self, policy: BreakerPolicy, now: float, caller: str) -> BreakerVerdict:
        """Whether `caller` may call now. Takes nothing: `admit` does, once the caller goes."""
        state = self.state(policy, now)
        if state is BreakerState.CLOSED:
            return BreakerVerdict(allowed=True)
        if state is BreakerState.OPEN and self.opened_at is not None:
            return BreakerVerdict(allowed=False, wait_s=max(0.0, self.opened_at + policy.cooldown_s - now))
        if self._is_probing(policy, now) and self.prober != caller:
            return BreakerVerdict(allowed=False)
        return BreakerVerdict(allowed=True, probe=True)

    def admit(self, policy: BreakerPolicy, now: float, caller: str) -> Self:
        """After `caller` went: takes the probe if the breaker is half-open.

        Raises:
            ValueError: `ask` does not allow it.
        """
        verdict = self.check(policy, now, caller)
        if not verdict.allowed:
            raise ValueError(f"breaker '{self.key}' is {self.state(policy, now).value}; ask() before a call goes out")
        if not verdict.probe:
            return self
        return self.model_copy(update={"prober": caller, "probed_at": now})

    def record_success(self, caller: str) -> Self:
        """After `caller`'s call succeeded: the count starts again at 0; the probe's success closes the breaker.

        The success of a call that went out before the breaker opened says nothing of now.
        """
        if self.opened_at is not None and self.prober != caller:
            return self
        return self.reset()

    def record_failure(self, fault: Classification, policy: BreakerPolicy, now: float, caller: str) -> Self:
        """After `caller`'s call failed. Only what speaks for an outage counts; an answer of any other kind does not.

        A probe that is answered with, say, a refused key has found the service alive, and closes the breaker.
        """
        if self.opened_at is not None:
            if self.prober != caller:
                return self
            if not counts_as_outage(fault):
                return self.release_probe(caller) if fault.cause is Cause.CANCELLED else self.reset()
            return self.model_copy(update={"failures": self.failures + 1, "opened_at": now, "prober": ""})
        if not counts_as_outage(fault):
            return self
        failures = self.failures + 1
        opened = now if policy.enabled and failures >= policy.threshold else None
        return self.model_copy(update={"failures": failures, "opened_at": opened})

    def release_probe(self, caller: str) -> Self:
        """After `caller`'s call was cancelled: its probe is free for the next, and nothing is learned."""
        return self.model_copy(update={"prober": ""}) if self.prober == caller else self

    def reset(self) -> Self:
        """Closed, with nothing counted: a probe succeeded, or an operator said so."""
        return self.model_copy(update={"failures": 0, "opened_at": None, "prober": "", "probed_at": 0.0})

    def _is_probing(self, policy: BreakerPolicy, now: float) -> bool:
        return bool(self.prober) and now - self.probed_at < policy.probe_s


def counts_as_outage(fault: Classification) -> bool:
    """Whether a failure speaks for an outage: the service is down, cannot be reached, or does not answer.

    A rate limit, a refused key, a bad request or bad arguments come from a service that is alive.
    """
    return fault.cause in _OUTAGE_CAUSES and fault.persistence is Persistence.TRANSIENT


def breaker_open_fault(breaker: Breaker, wait_s: float | None) -> Classification:
    """The fault of a call that an open breaker kept back. `wait_s` as in `Verdict`."""
    kind, _, name = breaker.key.partition(":")
    said = f"Circuit breaker open for {name or breaker.key} after {breaker.failures} failures"
    return Classification(
        origin=Origin.TOOL if kind == "tool" else Origin.MODEL,
        cause=Cause.CIRCUIT_OPEN,
        persistence=Persistence.TRANSIENT,
        effect=Effect.NOT_ATTEMPTED,
        impact=Impact.NODE,
        retry_after_s=wait_s,
        hint_source="circuit breaker" if wait_s is not None else "",
        user_message=said,
        technical=said,
        suggestions=("Wait until the breaker tries again, or reset it", "Switch to another model"),
        rule_id="breaker.open",
    )
