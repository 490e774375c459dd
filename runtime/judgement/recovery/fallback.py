"""Fallback chains of models and agents: tried in order, each member once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from runtime.record.state.fault_taxonomy import Cause, Classification, Origin

_MODEL_INDEPENDENT_CAUSES = frozenset({Cause.CANCELLED, Cause.POLICY_DENIED, Cause.LIMIT_REACHED, Cause.LOOP_DETECTED})
# What another model would meet too: this one was not asked, or it is the run that must stop.


class SkippedMember(NamedTuple):
    """A member of a chain that was passed over, and why."""

    name: str
    reason: str


class FallbackChoice(NamedTuple):
    """The next to try, None where the chain is at its end; `skipped` were passed over on the way."""

    name: str | None
    skipped: tuple[SkippedMember, ...] = ()


def should_fall_back(fault: Classification, *, exhausted: bool) -> bool:
    """Whether another model can help: the call failed at the model, for good or after all its attempts.

    Seed 004: an open breaker, a refused key and an unknown model go to the fallback at once, the rest after retries.
    """
    if fault.origin is not Origin.MODEL or fault.cause in _MODEL_INDEPENDENT_CAUSES:
        return False
    return exhausted or fault.exhausted or fault.cause is Cause.CIRCUIT_OPEN or not fault.repeatable


def choose_fallback(
    chain: Sequence[str], tried: Collection[str], closed: Callable[[str], bool] | None = None
) -> FallbackChoice:
    """The first member of `chain` that was not tried and that its breaker lets pass.

    Args:
        chain: Model strings or agent names, in order; the first may be the primary.
        tried: Those that failed already.
        closed: Whether the breaker of a member would let a call pass; None: all do.
    """
    skipped: list[SkippedMember] = []
    seen = set(tried)
    for name in chain:
        if name in seen:
            continue
        seen.add(name)
        if closed is not None and not closed(name):
            skipped.append(SkippedMember(name, "circuit breaker open"))
            continue
        return FallbackChoice(name, tuple(skipped))
    return FallbackChoice(None, tuple(skipped))
