"""Blocking calls in threads of our own: bounded, abandonable, and never in the way of the process's end."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from contextvars import ContextVar
from functools import partial
from typing import Any

import pytest

from orbiter._internal.worker_threads import ThreadPool, awaiting_loop
from orbiter.errors import PoolExhaustedError
from tests.present import present

_who: ContextVar[str] = ContextVar("who", default="nobody")


async def test_a_call_returns_its_value_in_a_copy_of_the_context() -> None:
    pool = ThreadPool(2)
    _who.set("caller")

    def call() -> tuple[str, str]:
        seen = _who.get()
        _who.set("thread")
        return seen, threading.current_thread().name

    assert await pool.run(call) == ("caller", "orbiter-tool")
    assert _who.get() == "caller"


@pytest.mark.parametrize("error", [ValueError("no"), KeyError("k"), SystemExit(3)])
async def test_a_call_raises_what_it_raised(error: BaseException) -> None:
    def call() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        await ThreadPool(1).run(call)
    assert caught.value is error


@pytest.mark.parametrize("error", [StopIteration(7), asyncio.CancelledError(), GeneratorExit(), KeyboardInterrupt()])
async def test_errors_that_mean_something_else_to_a_task_arrive_as_errors(error: BaseException) -> None:
    def call() -> None:
        raise error

    with pytest.raises(RuntimeError, match="a blocking call raised"):
        await ThreadPool(1).run(call)


async def test_no_more_calls_run_at_once_than_the_limit() -> None:
    pool = ThreadPool(3)
    lock = threading.Lock()
    running, most = 0, 0
    gate = threading.Barrier(3)

    def call() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gate.wait(10)
        with lock:
            running -= 1

    await asyncio.gather(*(pool.run(call) for _ in range(12)))
    assert most == 3


async def test_a_cancelled_caller_goes_on_at_once_and_the_late_result_is_handed_over() -> None:
    pool = ThreadPool(1)
    begun, release = threading.Event(), threading.Event()
    late: asyncio.Future[tuple[Any, BaseException | None]] = asyncio.get_running_loop().create_future()

    def call() -> str:
        begun.set()
        release.wait(10)
        return "too late"

    task = asyncio.create_task(pool.run(call, on_late=lambda value, error: late.set_result((value, error))))
    await asyncio.to_thread(begun.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # The abandoned call holds its thread, but not the only place.
    assert await pool.run(lambda: "next") == "next"
    release.set()
    assert await late == ("too late", None)


async def test_a_call_that_was_cancelled_while_it_waited_never_runs() -> None:
    pool = ThreadPool(1)
    begun, release = threading.Event(), threading.Event()
    ran: list[int] = []

    def first() -> None:
        begun.set()
        release.wait(10)

    holding = asyncio.create_task(pool.run(first))
    await asyncio.to_thread(begun.wait, 10)
    waiting = asyncio.create_task(pool.run(partial(ran.append, 1)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    release.set()
    await holding
    await pool.run(lambda: None)
    assert ran == []


async def test_a_pool_full_of_calls_that_never_come_back_says_so() -> None:
    pool = ThreadPool(1, abandoned_limit=1)
    release = threading.Event()
    begun = threading.Semaphore(0)

    def hang() -> None:
        begun.release()
        release.wait(10)

    for _ in range(2):
        task = asyncio.create_task(pool.run(hang))
        assert await asyncio.to_thread(begun.acquire, True, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    with pytest.raises(PoolExhaustedError, match="No thread is left") as caught:
        await pool.run(lambda: None)
    assert (caught.value.total, caught.value.abandoned) == (2, 2)
    assert caught.value.hint
    release.set()


async def test_a_waiting_call_is_told_when_the_last_thread_is_lost() -> None:
    pool = ThreadPool(1, abandoned_limit=0)
    begun, release = threading.Event(), threading.Event()

    def hang() -> None:
        begun.set()
        release.wait(10)

    first = asyncio.create_task(pool.run(hang))
    await asyncio.to_thread(begun.wait, 10)
    second = asyncio.create_task(pool.run(lambda: None))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(PoolExhaustedError):
        await second
    release.set()


async def test_a_call_that_waits_for_another_call_does_not_block_it() -> None:
    pool = ThreadPool(1)

    def outer() -> str:
        loop = present(awaiting_loop())
        with pool.waiting():
            return asyncio.run_coroutine_threadsafe(pool.run(lambda: "inner"), loop).result(10)

    assert await pool.run(outer) == "inner"
    assert awaiting_loop() is None
    assert await pool.run(lambda: "after") == "after"


@pytest.mark.parametrize("given_up", [False, True])
async def test_a_call_that_was_set_aside_counts_again_when_it_has_ended(given_up: bool) -> None:
    pool = ThreadPool(1, abandoned_limit=1)
    begun, release = threading.Semaphore(0), threading.Event()

    def hang() -> None:
        begun.release()
        release.wait(10)

    first = asyncio.create_task(pool.run(hang))
    assert await asyncio.to_thread(begun.acquire, True, 10)
    second = asyncio.create_task(pool.run(hang))
    await asyncio.sleep(0)
    pool.set_aside(3600)
    assert (len(pool._running), pool._nested) == (1, 0), "it has not run for an hour"
    pool.set_aside(0)
    assert await asyncio.to_thread(begun.acquire, True, 10), "the second runs beside it"
    pool.set_aside(0)
    assert pool._nested == 2
    if given_up:
        first.cancel()
        await asyncio.sleep(0)
        assert (pool._abandoned, pool._nested) == (1, 1)
    release.set()
    await asyncio.gather(first, second, return_exceptions=True)
    while pool._running:  # noqa: ASYNC110 - the thread of a call that was left tells nothing
        await asyncio.sleep(0)
    assert await pool.run(lambda: "next") == "next"
    assert (pool._threads, pool._abandoned, pool._nested) == (1, 0, 0)


def descend(pool: ThreadPool, depth: int) -> int:
    """A blocking call in a blocking call, and so on; how deep it came."""
    if not depth:
        return 0
    loop = present(awaiting_loop())
    with pool.waiting():
        inner = asyncio.run_coroutine_threadsafe(pool.run(partial(descend, pool, depth - 1)), loop)
        return 1 + inner.result(10)


async def test_calls_that_wait_for_one_another_go_deeper_than_what_was_given_up_may_be_many() -> None:
    pool = ThreadPool(2, abandoned_limit=4)
    assert await pool.run(partial(descend, pool, 150)) == 150
    assert await asyncio.gather(*(pool.run(partial(descend, pool, 20)) for _ in range(8))) == [20] * 8


async def test_where_even_that_ends_the_error_says_what_to_do() -> None:
    pool = ThreadPool(1, nested_limit=3)
    with pytest.raises(PoolExhaustedError, match=r"run\.sync in a tool") as caught:
        await pool.run(partial(descend, pool, 9))
    assert "await run()" in str(caught.value.hint)
    assert await pool.run(lambda: "well again") == "well again"


def test_a_hung_call_does_not_keep_the_process_alive() -> None:
    code = """
import asyncio, threading
from orbiter._internal.worker_threads import run_in_thread
async def main():
    begun = threading.Event()
    task = asyncio.create_task(run_in_thread(lambda: (begun.set(), threading.Event().wait())))
    while not begun.is_set():
        await asyncio.sleep(0.01)
    task.cancel()
asyncio.run(main())
print("out")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "out\n"
