"""Only what proves that a tool was not called says so: not the class of an error, which its own code may raise."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from orbiter import tool
from orbiter._internal import worker_threads
from orbiter.errors import PoolExhaustedError
from orbiter.steps import Place, Step
from runtime.execution.failures.fault_policy import classify_failure
from runtime.judgement.fault_handling import FaultHandling
from runtime.record.state.fault_taxonomy import Cause, Classification


class CircuitOpenError(Exception):
    """As libraries with a breaker of their own raise it."""


@tool
def pay(amount: int) -> str:
    """Pay."""
    raise PoolExhaustedError(f"the second of two requests found no connection; {amount} is paid")


@tool
async def transfer(amount: int) -> str:
    """Transfer."""
    raise CircuitOpenError(f"the circuit opened after {amount} was sent")


@tool
async def order(amount: int) -> str:
    """Order, with another tool in the middle of it."""
    return str(await pay.execute(amount=amount))


async def fault_of(called: Any) -> Classification:
    with pytest.raises(Exception, match="failed") as caught:
        await called.execute(amount=3)
    step: Step[Any, Any] = Step("tool", called.name, "clerk", Place(0), {}, None, None)  # type: ignore[arg-type]
    return classify_failure(caught.value, step, (), FaultHandling(), {}, warn=pytest.fail)


@pytest.fixture
async def no_threads(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Our pool without a thread: one call that was given up holds the only one."""
    pool, begun, release = worker_threads.ThreadPool(1, abandoned_limit=0), threading.Event(), threading.Event()
    monkeypatch.setattr(worker_threads, "pool", pool)

    def hang() -> None:
        begun.set()
        release.wait(10)

    hung = asyncio.create_task(pool.run(hang))
    await asyncio.to_thread(begun.wait, 10)
    hung.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hung
    yield
    release.set()


@pytest.mark.parametrize(
    ("called", "cause"), [(pay, Cause.POOL_EXHAUSTED), (transfer, Cause.CIRCUIT_OPEN), (order, Cause.POOL_EXHAUSTED)]
)
async def test_what_a_tool_raises_does_not_prove_that_nothing_was_sent(called: Any, cause: Cause) -> None:
    fault = await fault_of(called)
    assert (fault.cause, fault.effect, fault.repeatable) == (cause, "unknown", False)


@pytest.mark.usefixtures("no_threads")
async def test_a_tool_that_our_pool_had_no_thread_for_was_not_called() -> None:
    fault = await fault_of(pay)
    assert (fault.cause, fault.effect, fault.repeatable) == (Cause.POOL_EXHAUSTED, "not_attempted", True)


@pytest.mark.usefixtures("no_threads")
async def test_nor_does_a_pool_that_refused_a_call_in_the_midst_of_a_tool() -> None:
    fault = await fault_of(order)
    assert (fault.cause, fault.effect, fault.repeatable) == (Cause.POOL_EXHAUSTED, "unknown", False)
