"""Stall detection: a run that loops or makes no progress. Pure.

None of these stops anything by itself: three equal calls may be polling, and an agent may think for a long time.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
)

_MAX_CYCLE_LENGTH = 4


def handoff_cycle(agents: Sequence[str], rounds: int = 3) -> Classification | None:
    """The fault of a swarm whose agents hand on to one another in a circle; None if they do not.

    Args:
        agents: Who worked, oldest first.
        rounds: How often the circle (of two to four agents) was gone round; 0 switches it off.
    """
    if rounds < 1:
        return None
    for length in range(2, _MAX_CYCLE_LENGTH + 1):
        wanted = length * rounds
        if len(agents) < wanted:
            return None
        last = list(agents[-wanted:])
        circle = last[:length]
        if len(set(circle)) > 1 and last == circle * rounds:
            way = " → ".join([*circle, circle[0]])
            return _stall_fault("stall.handoff-cycle", f"Handed on in a circle {rounds} times: {way}", Origin.SWARM)
    return None


def no_progress(last_progress: float, now: float, after_s: float | None) -> Classification | None:
    """The fault of a run in which nothing happened for `after_s` seconds; None if something did, or it is not watched.

    Args:
        last_progress: When a step last began or ended, or a piece of a reply came: epoch seconds.
        now: The present moment, epoch seconds.
        after_s: How long is too long; None: as long as it takes.
    """
    if after_s is None or now - last_progress < after_s:
        return None
    return _stall_fault(
        "stall.no-progress", f"Nothing happened for {now - last_progress:.0f} s", Origin.RUNNER, Cause.TIMEOUT
    )


def _stall_fault(
    rule_id: str, said: str, origin: Origin = Origin.AGENT, cause: Cause = Cause.LOOP_DETECTED
) -> Classification:
    return Classification(
        origin=origin,
        cause=cause,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NONE,
        impact=Impact.NODE,
        user_message=said,
        technical=said,
        suggestions=("Tell the agent what to do differently", "Let it go on", "Abort"),
        rule_id=rule_id,
    )
