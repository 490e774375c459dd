"""Whether and when a step is tried again: one budget of attempts over all layers, pure.

Repeated on our own is only what is transient and safe to repeat (DESIGN section 5). The server's hint decides the
delay, else exponential backoff with jitter under a cap; a hint above its own cap is never shortened: the step parks.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from runtime.record.taxonomy import Classification, Effect, Persistence, Remedy


@dataclass(slots=True, frozen=True)
class RetryPolicy:
    """Seconds throughout. `max_attempts` counts all attempts, the first one too."""

    max_attempts: int = 4
    base: float = 1.0
    factor: float = 2.0
    jitter: float = 0.1
    cap: float = 60.0
    hint_cap: float = 120.0

    @classmethod
    def from_mapping(cls, value: Mapping[str, Any]) -> Self:
        """Seed 002's `get_retry_policy()`: `max_attempts`, `delay_seconds`, `backoff_factor`."""
        default = cls()
        return cls(
            max_attempts=int(value.get("max_attempts", default.max_attempts)),
            base=float(value.get("delay_seconds", default.base)),
            factor=float(value.get("backoff_factor", default.factor)),
        )


@dataclass(slots=True, frozen=True)
class Decision:
    """What is done about a fault after attempt `attempt`. `delay_s` None: not to be waited for here."""

    remedy: Remedy
    attempt: int
    max_attempts: int
    delay_s: float | None = None
    source_of_delay: str = ""
    reason: str = ""


def decide(fault: Classification, *, attempt: int, policy: RetryPolicy, rng: random.Random) -> Decision:
    """Judge a fault after the given attempt (counted from 1)."""
    if fault.persistence is not Persistence.TRANSIENT:
        return Decision(Remedy.ASK_HUMAN, attempt, policy.max_attempts, reason="not transient")
    if fault.effect not in (Effect.NONE, Effect.NOT_ATTEMPTED):
        return Decision(Remedy.ASK_HUMAN, attempt, policy.max_attempts, reason="it may have taken effect")
    if attempt >= policy.max_attempts:
        return Decision(Remedy.ASK_HUMAN, attempt, policy.max_attempts, reason="attempts are spent")
    if fault.retry_after_s is not None:
        if fault.retry_after_s > policy.hint_cap:
            return Decision(Remedy.WAIT_RETRY, attempt, policy.max_attempts, reason="the server asks for a long wait")
        return Decision(
            Remedy.WAIT_RETRY, attempt, policy.max_attempts, fault.retry_after_s, fault.hint_source, "as the server asks"
        )
    delay = min(policy.cap, policy.base * policy.factor ** (attempt - 1))
    delay = min(policy.cap, delay * (1 + rng.uniform(-policy.jitter, policy.jitter)))
    return Decision(Remedy.RETRY, attempt, policy.max_attempts, delay, "backoff", "transient")
