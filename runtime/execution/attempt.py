"""One attempt of a step: gates, call and end. What a failure leads to is in `attempt_failure`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Literal

import msgspec

from orbiter import errors, steps
from orbiter._internal.user_code import guard_user_code, make_text_safe
from orbiter.steps import Aborted, Skipped, Step
from runtime.execution.execution_config import CallSite
from runtime.execution.failures import fault_policy
from runtime.execution.failures.attempt_failure import Settlement, handle_block, handle_failure
from runtime.execution.failures.call_limit import CallOverdue, call_within
from runtime.execution.failures.cancelled_call import (
    CallCancelled,
    cancelled_fault,
    stopped_fault,
    until_cancelled,
)
from runtime.execution.failures.crash_loop import is_suspect, step_alone
from runtime.execution.failures.errors_in_force import errors_at
from runtime.execution.failures.incident_drafts import config_fault
from runtime.execution.failures.remedies import Compaction
from runtime.execution.failures.reroute import reroute_error
from runtime.execution.gates.blocked import Blocked
from runtime.execution.gates.budget import check_budget, wall_time_left
from runtime.execution.gates.chain import check_gates
from runtime.execution.gates.permission import checked_arguments
from runtime.execution.incidents import IncidentDraft, task_of
from runtime.execution.resolution import sign_changed_result
from runtime.execution.run_session import RunSession
from runtime.execution.step_execution import StepExecution, step_fields
from runtime.execution.step_result import NO_RESULT, AttemptEnd, Completed, StepResult
from runtime.judgement.traces.propagation import call_context
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Cause, Classification, Effect, Impact

_NO_CONTEXT: AbstractContextManager[None] = nullcontext()

Outcome = Completed | IncidentDraft | None
"""The step's result; what a person is to be asked; or None where another attempt is due (its wait is over)."""


async def run_attempt(execution: StepExecution) -> Outcome:
    """One attempt. A step that is suspected of ending its process is tried alone."""
    node = execution.node
    if node is None or not is_suspect(node.deaths):
        return await Attempt(execution, 1 if node is None else node.attempts + 1).run()
    async with step_alone(execution.session, node):
        return await Attempt(execution, execution.attempts + 1).run()


class _OutOfTime(errors.TimeoutError):
    """The wall time of an agent, a swarm or the run was over while a call was under way."""


class Attempt:
    """One attempt of a step, from its gates to its end."""

    __slots__ = ("_began", "_ended", "arguments", "execution", "number")

    def __init__(self, execution: StepExecution, number: int) -> None:
        self.execution = execution
        self.number = number
        self.arguments = execution.step.arguments
        """What the call works on, once the overrides are put in."""
        self._began = 0.0
        self._ended: AttemptEnd | None = None
        """How it ended, from then on until that is written."""

    async def run(self) -> Outcome:
        """Ask the gates, call, and write what came of it."""
        try:
            return await self.settle(await self._make())
        finally:
            self.execution.activity.must_not_repeat = False

    async def settle(self, what: Settlement) -> Outcome:
        """Do what was decided, and write it together with the attempt's end, so that a later life goes on with it.

        Raises:
            HandedBack: the failure goes back into the swarm. The fault of an attempt stands as the step's end then: the
                step will not be carried out again.
        """
        execution, attempt = self.execution, self._ended
        session = execution.session
        if isinstance(what, StepResult):
            if what.before is not None:
                await session.record(what.before)
            return await execution.finish(what.value, attempt=attempt, fault=what.fault, absorbed=what.absorbed)
        if attempt is None:
            execution.record_node()
        if isinstance(what, Blocked):
            return execution.draft(what, attempt)
        ended = () if attempt is None else (attempt.event(),)
        match what:
            case ev.ControlReturned():
                returned = msgspec.structs.replace(what, parent_id=execution.parent_id)
                if attempt is None:
                    await session.record(returned)
                else:
                    await execution.finish(NO_RESULT, attempt=attempt, absorbed=True, beside=(returned,))
                raise reroute_error(returned)
            case ev.RetryScheduled():
                await session.record(*ended, what)
                await asyncio.sleep(what.delay_s if session.config.retry_waits else 0.0)
            case Compaction():
                execution.overrides.messages = what.messages
                await session.record(*ended, what.event)
                execution.scope.warn(f"the request was too large and lost {', '.join(what.event.cuts)}")
            case ev.StepFellBack():
                execution.overrides.model = what.to_model
                await session.record(*ended, what)
                execution.scope.warn(f"{what.to_model} stands in for {what.from_model}: {what.reason}")
        return None

    async def _make(self) -> Settlement:
        """Make the attempt, if the gates let it. What is to be done then is decided, and not yet done."""
        execution, step = self.execution, self.execution.step
        if (failed := execution.failed_before) is not None:
            await self._record_start()
            self._began = time.monotonic()
            return await self._failed(failed)
        try:
            if changes := execution.overrides.as_changes():
                self.arguments = step.codec.replace(self.arguments, changes)
        except Exception as exc:
            return Blocked(config_fault(exc), exc)
        if (blocked := await check_gates(execution)) is not None:
            return await handle_block(execution, blocked)
        # From before it is written that it begins until it is written how it ended.
        execution.activity.must_not_repeat = not execution.repeatable
        await self._record_start()
        self._began = time.monotonic()
        try:
            call: Awaitable[Any] = self._call()
            if step.kind == "tool":
                call = until_cancelled(execution.session, execution.node_id, call)
            result = await call
        except CallCancelled:
            await execution.breaker.release_probe()
            node, unknown = execution.node, not execution.repeatable
            fault = cancelled_fault(step, node.cancel if node is not None else None, effect_unknown=unknown)
            self._end(fault, effect_unknown=unknown)
            return Blocked(fault, by_policy=True)
        except asyncio.CancelledError:
            if execution.session.ending in ("", "abort"):
                unknown = not execution.repeatable
                ended = self._end(stopped_fault(step, effect_unknown=unknown), effect_unknown=unknown)
                execution.session.record_soon(ended.event())
            # Parking and stopping leave the attempt open: the next life finds it in doubt.
            await execution.breaker.release_probe()
            raise
        except (Aborted, Skipped):
            await execution.breaker.release_probe()
            raise
        except Exception as exc:
            return await self._failed(exc)
        if execution.overrides.arguments is not None:
            result = sign_changed_result(result, execution.overrides.arguments, execution.last_answer)
        self._end()
        return StepResult(result)

    async def _record_start(self) -> None:
        execution, step = self.execution, self.execution.step
        effective = execution.overrides.as_changes()
        checked = None
        if step.traits.permissions and not execution.refused:
            checked = checked_arguments(step, execution.tool_arguments, execution.session.config)
        if checked is not None:
            self.arguments = step.codec.replace(self.arguments, {"arguments": checked})
            effective["arguments"] = checked
        node, state = execution.node, execution.state
        known = node is not None and node.requested == execution.requested
        event = ev.StepStarted(
            **step_fields(
                step,
                execution.node_id,
                execution.parent_id,
                {} if known else execution.requested,
                refused=execution.refused,
            ),
            attempt=self.number,
            epoch=execution.session.lease.epoch,
            effective=effective,
        )
        # A begin is on disk before its call where the call must not be repeated, and where an earlier life of the run
        # ended with its process: this call may have ended it. Waiting for every begin costs a quarter of a step more.
        if event.durable or state.died or (node is not None and node.deaths):
            await execution.session.record(event)
        else:
            execution.session.record_soon(event)

    def _end(self, fault: Classification | None = None, *, effect_unknown: bool = False) -> AttemptEnd:
        node_id, parent_id, seconds = self.execution.node_id, self.execution.parent_id, time.monotonic() - self._began
        self._ended = AttemptEnd(node_id, parent_id, self.number, self.arguments, seconds, fault, effect_unknown)
        return self._ended

    async def _failed(self, exc: Exception) -> Settlement:
        execution, step = self.execution, self.execution.step
        session, state, parent_id = execution.session, execution.state, execution.parent_id
        # No limit is reached where the run was frozen meanwhile, so that less of its time is used.
        if isinstance(exc, _OutOfTime) and (
            spent := check_budget(session, parent_id, step, execution.model, begun=True)
        ):
            await execution.breaker.release_probe()
            cut = {"cause": Cause.TIMEOUT, "effect": Effect.NONE, "impact": Impact.NODE}
            self._end(msgspec.structs.replace(spent.fault, **cut))
            return await handle_block(execution, spent)
        await make_text_safe(exc)
        ended = self._end(effect_unknown=isinstance(exc, TimeoutError) and not execution.repeatable)
        lineage = state.lineage(execution.node_id)
        context = {
            "run_id": state.id,
            "node_id": execution.node_id,
            "agent": step.agent,
            "task": task_of(state, lineage),
            "attempt": execution.attempts or 1,
            **execution.action,
        }
        names = (node.name for node in lineage)
        config = errors_at(session, parent_id)
        fault = fault_policy.classify_failure(exc, step, names, config, context, warn=execution.scope.warn)
        self._ended = msgspec.structs.replace(ended, fault=fault)
        return await handle_failure(execution, exc, self._ended, fault)

    # -- the call ------------------------------------------------------------------------------------------------

    async def _call(self) -> Any:
        """Call within the limits of time: the step's own, and for a model the wall time that is left (seed 004). A
        tool's call is left to its end there: what it did would not be known.
        """
        execution, step, session = self.execution, self.execution.step, self.execution.session
        left = wall_time_left(session, execution.parent_id) if step.kind == "llm" else None
        scope = steps.entered(execution.scope) if step.kind == "tool" else _NO_CONTEXT
        span = _NO_CONTEXT
        if session.config.traces is not None:
            span = call_context(session.state.id, execution.node_id, self.number, len(session.state.rewound))
        call: Callable[[], Awaitable[Any]] = partial(
            _make_call, session, step, self.arguments, execution.node_id, self.number
        )
        if (interceptor := session.config.interceptor) is not None:  # what a drill, or a replay, makes of the call
            site = CallSite(
                session.state.id,
                execution.node_id,
                self.number,
                step,
                self.arguments,
                execution.requested,
                execution.model,
            )
            call = partial(interceptor.call, site, call)
        guarded = guard_user_code(f"{step.name!r} of agent {step.agent!r}")
        seconds = step.traits.timeout
        if left is None and seconds is None:  # most calls: no coroutine more for each of a thousand that wait
            with span, scope, guarded:
                return await call()

        async def made() -> Any:
            with span, scope, guarded:
                return await call()

        try:
            async with asyncio.timeout(left) as limit:
                return await call_within(seconds, made(), execution.scope.late)
        except CallOverdue as exc:
            unknown = "" if execution.repeatable else "; whether it took effect is not known"
            raise errors.TimeoutError(
                f"{step.name} did not come back within {seconds:g} s{unknown}",
                operation=step.name,
                timeout_seconds=seconds,
            ) from exc
        except TimeoutError as exc:
            if not limit.expired():
                raise
            raise _OutOfTime(f"{step.name} did not answer before the wall time was over", timeout_seconds=left) from exc


def _make_call(session: RunSession, step: Step[Any, Any], arguments: Any, node_id: str, attempt: int) -> Awaitable[Any]:
    """The call, with pieces of the reply on the way where a console watches the run."""
    deltas, run_id = session.config.deltas, session.state.id
    if step.stream is None or deltas is None or not deltas.wants(run_id):
        return step.call(arguments)

    def emit(kind: Literal["text", "reasoning"], text: str) -> None:
        session.touch()
        deltas.put(run_id, node_id, attempt, kind, text)

    return step.stream(arguments, emit)
