"""Handlers of the requests about circuit breakers and budgets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from runtime.execution.gates.breaker import LastFailure
from runtime.judgement.recovery.breaker import Breaker, BreakerPolicy, BreakerState
from runtime.operations.context import Handler, OperationContext, OperationError, Origin
from runtime.operations.requests import limits as asked
from runtime.operations.requests.struct import Request
from runtime.record.state.events import utc_now
from runtime.record.state.summary import RUN_ACTIVE


async def _breakers(ops: OperationContext, request: asked.ListBreakers, _: Origin) -> tuple[asked.Breaker, ...]:
    known = await ops.breakers.breakers()
    counting = [each for each in known if request.every or each.failures or each.opened_at is not None]
    return tuple(_rows(counting, ops.config.errors.breaker_policy(), ops.breakers.lately))


def _rows(
    known: Iterable[Breaker], policy: BreakerPolicy, lately: Mapping[str, LastFailure]
) -> Iterable[asked.Breaker]:
    now = utc_now().timestamp()
    for breaker in known:
        state, last = breaker.state(policy, now), lately.get(breaker.key, LastFailure())
        again_s = None
        if state is BreakerState.OPEN and breaker.opened_at is not None:
            again_s = round(breaker.opened_at + policy.cooldown_s - now, 1)
        yield asked.Breaker(
            id=breaker.key,
            state=state.value,
            failures=breaker.failures,
            threshold=policy.threshold,
            again_s=again_s,
            error=last.error,
            failed_s=_seconds_since(last.failed_at, now),
            changed_s=_seconds_since(last.changed_at, now),
            prober=breaker.prober,
        )


def _seconds_since(at: float | None, now: float) -> float | None:
    return None if at is None else round(max(0.0, now - at), 1)


async def _reset(ops: OperationContext, request: asked.ResetBreaker, origin: Origin) -> asked.BreakerState:
    known = [each.key for each in await ops.breakers.breakers()]
    if request.key not in known:
        there = f"the breakers are {', '.join(sorted(known))}" if known else "no breaker has counted a failure"
        raise OperationError("unknown_breaker", f"unknown breaker {request.key!r}: {there}")
    await ops.breakers.reset(request.key, origin.by)
    return asked.BreakerState(id=request.key, state=BreakerState.CLOSED.value)


async def _budgets(ops: OperationContext, request: asked.ListBudgets, _: Origin) -> tuple[asked.RunBudget, ...]:
    if request.run_id:
        chosen = [await ops.summary(request.run_id)]
    else:
        chosen = await ops.journal.runs(request.limit, states=RUN_ACTIVE)
    now = utc_now()
    return tuple([await ops.usage.usage_of(each, now) for each in chosen])


HANDLERS: Final[Mapping[type[Request[Any]], Handler]] = {
    asked.ListBreakers: _breakers,
    asked.ResetBreaker: _reset,
    asked.ListBudgets: _budgets,
}
