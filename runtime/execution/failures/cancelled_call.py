"""A tool's call that an operator cancels: that call alone ends; a person, or a policy, decides about its step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from orbiter.steps import Step
from runtime.execution.failures.fault_policy import ORIGINS
from runtime.execution.run_session import RunSession
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Persistence,
)

R = TypeVar("R")


class CallCancelled(Exception):
    """An operator cancelled the call."""


async def until_cancelled(session: RunSession, node_id: str, call: Awaitable[R]) -> R:
    """What the call of a tool gives, whose step is at `node_id`. Code that catches the cancellation and comes back is
    taken at its word.

    Raises:
        CallCancelled: An operator cancelled it.
    """
    calls = session.calls
    try:
        async with asyncio.timeout(None) as limit:
            calls[node_id] = limit
            session.cancel_if_asked(node_id)
            return await call
    except TimeoutError as exc:
        if not limit.expired():
            raise
        raise CallCancelled from exc
    finally:
        calls.pop(node_id, None)


def stopped_fault(step: Step[Any, Any], *, effect_unknown: bool) -> Classification:
    """What is known of a step's call that was stopped from outside, together with what is around it."""
    return Classification(
        origin=ORIGINS[step.kind],
        cause=Cause.CANCELLED,
        persistence=Persistence.UNKNOWN,
        effect=Effect.UNKNOWN if effect_unknown else Effect.NONE,
        user_message="cancelled while it was under way",
        rule_id="cancelled",
    )


def cancelled_fault(step: Step[Any, Any], asked: ev.CancelRequested | None, *, effect_unknown: bool) -> Classification:
    """What is known of a step's call that was cancelled; `asked`: the word that did it."""
    by = asked.by.name if asked is not None and asked.by.name else "an operator"
    why = f": {asked.reason}" if asked is not None and asked.reason else ""
    return Classification(
        origin=ORIGINS[step.kind],
        cause=Cause.CANCELLED,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.UNKNOWN if effect_unknown else Effect.NONE,
        user_message=f"{step.name} was cancelled by {by} while it was under way{why}",
        rule_id="cancelled-by-operator",
    )
