"""A tool's call that an operator cancels: that call alone ends; a person, or a policy, decides about its step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import TypeVar

from runtime.execution.failures.fault_policy import ORIGINS
from runtime.execution.failures.reroute import fails_at_once
from runtime.execution.incidents import IncidentDraft
from runtime.execution.step_execution import StepExecution
from runtime.execution.step_result import AttemptEnd
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


async def until_cancelled(execution: StepExecution, call: Awaitable[R]) -> R:
    """What the call of a tool gives. Code that catches the cancellation and comes back is taken at its word.

    Raises:
        CallCancelled: An operator cancelled it.
    """
    calls, node_id = execution.session.calls, execution.node_id
    try:
        async with asyncio.timeout(None) as limit:
            calls[node_id] = limit
            execution.session.cancel_if_asked(node_id)
            return await call
    except TimeoutError as exc:
        if not limit.expired():
            raise
        raise CallCancelled from exc
    finally:
        calls.pop(node_id, None)


def wanted_cancel(execution: StepExecution) -> ev.CancelRequested | None:
    """The word that cancels an attempt which has no end: in an earlier life, it did not come to that."""
    node = execution.node
    return node.cancel if node is not None and node.round and node.in_flight is not None else None


def cancelled_fault(execution: StepExecution, asked: ev.CancelRequested | None) -> Classification:
    """What is known of a call that was cancelled."""
    by = asked.by.name if asked is not None and asked.by.name else "an operator"
    why = f": {asked.reason}" if asked is not None and asked.reason else ""
    return Classification(
        origin=ORIGINS[execution.step.kind],
        cause=Cause.CANCELLED,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NONE if execution.repeatable else Effect.UNKNOWN,
        user_message=f"{execution.step.name} was cancelled by {by} while it was under way{why}",
        rule_id="cancelled-by-operator",
    )


def draft_cancelled(
    execution: StepExecution, fault: Classification, attempt: AttemptEnd | None = None
) -> IncidentDraft:
    """What a person is to be asked of a call that was cancelled; `attempt`: its end, where this life made it."""
    draft = execution.draft(fault, attempt=attempt)
    return replace(draft, policy="fail") if fails_at_once(execution.state, execution.node_id) else draft
