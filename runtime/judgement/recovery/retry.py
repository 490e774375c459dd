"""Retry policy: attempts, back-off and its cap, a server's hint; one budget of attempts over all layers.

Repeated on our own is only what is transient and safe to repeat (DESIGN section 5). The server's hint decides the
delay, else exponential backoff with jitter under a cap; a hint above its own cap is never shortened: the step parks.
"""

from __future__ import annotations

import math
import random
import reprlib
from collections.abc import Mapping
from typing import Any, Final, Self

from msgspec import Struct

from orbiter.policy import ErrorHandlingConfig
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
    Remedy,
)

_DEFAULTS: Final = ErrorHandlingConfig()
"""The settings `[errors]` where none is set: the one place of the defaults below (DESIGN section 8)."""


class RetryPolicy(Struct, frozen=True):
    """How often, and how far apart. Seconds throughout; `max_attempts` counts all attempts, the first one too.

    Without `fixed`, the wait after attempt n is ``base * factor ** (n - 1)``, changed by up to ``jitter`` (a share)
    either way, and never more than `max_retry_delay`. `fixed` is a wait of its own that does not grow (seed 003's
    fixed_delay). A server's hint up to `max_hint_delay` is waited for here; a longer one parks the step.

    Raises:
        ValueError: A value that no policy can have.
    """

    max_attempts: int = _DEFAULTS.max_attempts
    base: float = _DEFAULTS.base_retry_delay
    factor: float = 2.0
    jitter: float = 0.1
    max_retry_delay: float = _DEFAULTS.max_retry_delay
    max_hint_delay: float = _DEFAULTS.max_hint_delay
    fixed: float | None = None

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts is {self.max_attempts}; the first attempt counts, so it is at least 1")
        if not 0 <= self.jitter <= 1:
            raise ValueError(f"jitter is {self.jitter}; it is a share of the delay, from 0 to 1")
        for name in ("base", "factor", "max_retry_delay", "max_hint_delay", "fixed"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value}; give a number of 0 or more")

    @classmethod
    def from_mapping(cls, value: Mapping[str, Any], default: RetryPolicy | None = None) -> Self:
        """A policy in the words of the seeds.

        Seed 002's `get_retry_policy()`: `max_attempts` (in total), `delay_seconds`, `backoff_factor`; waits that are
        given in these words are waited as they are, without jitter. Seed 003: `max_retries` (after the first attempt,
        as its adapters count), `base_retry_delay`, `max_retry_delay`, `rate_limit_strategy` ("exponential_backoff" or
        "fixed_delay"). What is not given is as in `default`.

        Raises:
            ValueError: It is not a mapping, or a value in it is not a number, or is out of its range.
        """
        given = default or RetryPolicy()
        if not isinstance(value, Mapping):
            raise ValueError(f"it is {reprlib.repr(value)}; give a mapping, such as {{'max_attempts': 2}}")  # noqa: TRY004 - one class for all that is wrong
        base = _number(value, given.base, "delay_seconds", "base_retry_delay", "base_delay")
        strategy = value.get("rate_limit_strategy")
        if strategy not in (None, "exponential_backoff", "fixed_delay"):
            raise ValueError(f"rate_limit_strategy is {strategy!r}; give 'exponential_backoff' or 'fixed_delay'")
        attempts = _number(value, given.max_attempts, "max_attempts")
        if "max_attempts" not in value and "max_retries" in value:
            attempts = _number(value, 0, "max_retries") + 1
        return cls(
            max_attempts=int(attempts),
            base=base,
            factor=_number(value, given.factor, "backoff_factor"),
            jitter=0.0 if value.keys() & _AUTHORS_WAITS else given.jitter,
            max_retry_delay=_number(value, max(given.max_retry_delay, base), "max_retry_delay", "max_delay"),
            max_hint_delay=given.max_hint_delay,
            fixed=base if strategy == "fixed_delay" else given.fixed,
        )

    def delay(self, attempt: int, rng: random.Random) -> float:
        """Seconds to wait after attempt `attempt` (counted from 1), without a hint from the server."""
        if self.fixed is not None:
            return self.fixed
        try:
            grown = self.base * self.factor ** (attempt - 1)
        except OverflowError:
            grown = self.max_retry_delay
        return min(self.max_retry_delay, min(self.max_retry_delay, grown) * (1 + self.jitter * (2 * rng.random() - 1)))


_AUTHORS_WAITS: Final = frozenset({"delay_seconds", "backoff_factor"})
"""Seed 002's words for the waits between attempts."""


def _number(value: Mapping[str, Any], default: float, *names: str) -> float:
    for name in names:
        if name in value:
            given = value[name]
            if isinstance(given, bool) or not isinstance(given, int | float):
                raise ValueError(f"{name} is {given!r}; give a number")
            return given
    return default


class RetryDecision(Struct, frozen=True):
    """What is done about a fault after attempt `attempt`. `delay_s` None: not to be waited for here.

    A `WAIT_RETRY` without `delay_s` means that the wait (the fault's `retry_after_s`) is too long to sit through: park.
    """

    remedy: Remedy
    attempt: int
    max_attempts: int
    delay_s: float | None = None
    source_of_delay: str = ""
    reason: str = ""


_COMPACTABLE_CAUSES = frozenset({Cause.CONTEXT_OVERFLOW, Cause.PAYLOAD_TOO_LARGE})
_SAFE_EFFECTS = frozenset({Effect.NONE, Effect.NOT_ATTEMPTED})


def decide_retry(
    fault: Classification,
    *,
    attempt: int,
    policy: RetryPolicy,
    rng: random.Random,
    idempotent: bool = False,
) -> RetryDecision:
    """Judge a fault after the given attempt (counted from 1, over all layers).

    Args:
        fault: The facts.
        attempt: Attempts made so far.
        policy: How often and how far apart.
        rng: Where jitter comes from.
        idempotent: Whether the author declared that repeating does no harm, whatever the effect was.
    """
    wait = _decide_wait(fault, attempt, policy, rng, idempotent=idempotent)
    if wait is not None:
        return wait
    remedy, reason = _remedy_without_retry(fault, attempt, policy)
    return RetryDecision(remedy, attempt, policy.max_attempts, reason=reason)


def _decide_wait(
    fault: Classification, attempt: int, policy: RetryPolicy, rng: random.Random, *, idempotent: bool
) -> RetryDecision | None:
    """The decision to try again, now or later; None where trying again is not ours to decide."""
    if fault.persistence is not Persistence.TRANSIENT or fault.exhausted or fault.impact is Impact.PROCESS:
        return None
    if not (fault.safe_to_repeat or idempotent) or attempt >= policy.max_attempts:
        return None
    if fault.proposal not in (None, Remedy.RETRY, Remedy.WAIT_RETRY):
        return None
    hint = fault.retry_after_s
    if hint and hint > policy.max_hint_delay:
        reason = (
            f"the server asks for {hint:.0f} s, more than the {policy.max_hint_delay:.0f} s that are waited for here"
        )
        return RetryDecision(Remedy.WAIT_RETRY, attempt, policy.max_attempts, reason=reason)
    if hint:
        return RetryDecision(
            Remedy.WAIT_RETRY, attempt, policy.max_attempts, hint, fault.hint_source or "hint", "as the server asks"
        )
    delay = policy.delay(attempt, rng)
    source = "fixed delay" if policy.fixed is not None else "backoff"
    return RetryDecision(Remedy.RETRY, attempt, policy.max_attempts, delay, source, "transient, and safe to repeat")


def _remedy_without_retry(fault: Classification, attempt: int, policy: RetryPolicy) -> tuple[Remedy, str]:
    """The remedy, and why it is not another attempt."""
    if fault.impact is Impact.PROCESS:
        return Remedy.STOP, "the program itself cannot go on"
    if fault.cause is Cause.CANCELLED:
        return Remedy.STOP, "it was cancelled"
    if fault.proposal not in (None, Remedy.RETRY, Remedy.WAIT_RETRY):
        return fault.proposal or Remedy.ASK_HUMAN, "its author asks for it"
    if fault.cause in _COMPACTABLE_CAUSES and not fault.exhausted:
        return Remedy.COMPACT_RETRY, "a smaller request can succeed"
    if fault.origin in (Origin.TELEMETRY, Origin.STORE) and fault.impact is Impact.ABSORBED:
        return Remedy.IGNORE, "the run does not depend on it"
    reason = _why_not(fault, attempt, policy)
    if fault.origin in (Origin.TOOL, Origin.HOOK) and fault.impact is Impact.ABSORBED:
        asked = fault.proposal is Remedy.RETRY and fault.effect not in _SAFE_EFFECTS
        return (Remedy.ASK_HUMAN if asked else Remedy.FEED_BACK), reason
    if fault.origin is Origin.PARSER and fault.cause in (Cause.ARGS_INVALID, Cause.OUTPUT_INVALID):
        return (Remedy.ASK_HUMAN if attempt >= policy.max_attempts else Remedy.FEED_BACK), reason
    if fault.persistence is Persistence.PERMANENT and fault.impact is Impact.RUN:
        return Remedy.STOP, reason
    return Remedy.ASK_HUMAN, reason


def _why_not(fault: Classification, attempt: int, policy: RetryPolicy) -> str:
    if fault.persistence is not Persistence.TRANSIENT:
        return "not transient"
    if fault.exhausted:
        return "attempts were spent on it already"
    if attempt >= policy.max_attempts:
        return f"attempts are spent ({attempt} of {policy.max_attempts})"
    if fault.effect in _SAFE_EFFECTS:
        return "what the tool did before the call that failed is not known"
    return "it may have taken effect"
