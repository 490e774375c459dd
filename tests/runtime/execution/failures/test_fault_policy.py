"""Only what proves that a tool was not called says so: not the class of an error, which its own code may raise."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from orbiter import FunctionTool, tool
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
    step: Step[Any, Any] = Step("tool", called.name, "clerk", Place(0), SimpleNamespace(tool=called), None, None)  # type: ignore[arg-type]
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


def under_the_same_name(inner: Any, sent: list[int]) -> Any:
    """A tool of the name of another one, which it calls after an act of its own."""

    @tool(name=inner.name)
    async def audited(amount: int) -> str:
        """Audit, then pay."""
        sent.append(amount)
        return str(await inner.execute(amount=amount))

    return audited


@tool
def again(amount: int) -> str:
    """Call itself in its midst, when it is called first."""
    if amount > 1:
        return str(asyncio.run(again.execute(amount=1)))
    return "done"


class Audited(FunctionTool[..., str]):
    """With an act before the call."""

    async def execute(self, /, **kwargs: Any) -> Any:
        return await super().execute(**kwargs)


@pytest.mark.usefixtures("no_threads")
async def test_nor_does_one_that_refused_a_tool_of_the_same_name_in_it() -> None:
    sent: list[int] = []
    fault = await fault_of(under_the_same_name(pay, sent))
    assert (sent, fault.effect, fault.repeatable) == ([3], "unknown", False)


@pytest.mark.usefixtures("no_threads")
async def test_nor_does_one_that_refused_a_tool_with_acts_of_its_own_before_the_call() -> None:
    fault = await fault_of(Audited(pay._fn))
    assert (fault.effect, fault.repeatable) == ("unknown", False)


async def test_nor_does_one_that_refused_the_tool_itself_in_its_midst(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = worker_threads.ThreadPool(1, abandoned_limit=0, nested_limit=0)
    monkeypatch.setattr(worker_threads, "pool", pool)

    def refuse(self: Any) -> bool:
        return bool(getattr(worker_threads._current_job, "pool", None))

    monkeypatch.setattr(worker_threads.ThreadPool, "_exhausted", refuse)
    fault = await fault_of(again)
    assert (fault.cause, fault.effect, fault.repeatable) == (Cause.POOL_EXHAUSTED, "unknown", False)
