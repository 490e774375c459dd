"""The driving loop ends, whatever user code still does in it."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from runtime.execution.execution_config import ExecutionConfig
from runtime.worker import loop_runner
from runtime.worker.driving_thread import DrivingThread, DrivingThreadError
from tests.patience import PATIENCE_S
from tests.present import present


def _ends(driving: Callable[[], Coroutine[Any, Any, None]]) -> bool:
    thread = threading.Thread(target=lambda: loop_runner.run_to_end(driving()), daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    return not thread.is_alive()


def test_a_task_that_catches_its_cancellation_is_left_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loop_runner, "END_S", 0.05)
    held = []

    async def stubborn() -> None:
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                continue

    async def driving() -> None:
        held.append(asyncio.create_task(stubborn()))
        await asyncio.sleep(0)

    assert _ends(driving)
    assert "are left behind: 1" in caplog.text


def test_a_blocked_thread_of_the_loops_own_is_not_waited_for() -> None:
    release = threading.Event()

    async def driving() -> None:
        asyncio.get_running_loop().run_in_executor(None, release.wait)

    assert _ends(driving)
    release.set()


def test_an_asynchronous_generator_that_does_not_close_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_runner, "END_S", 0.05)
    held = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(3600)

    async def driving() -> None:
        held.append(aiter(numbers()))
        await anext(held[0])

    assert _ends(driving)


@pytest.mark.parametrize("stops", [False, True], ids=["sys.exit", "loop.stop"])
def test_user_code_that_stops_the_loop_as_it_ends_does_not_fail_it(stops: bool) -> None:
    held, errors = [], list[BaseException]()

    async def leaving() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            if not stops:
                sys.exit(3)
            asyncio.get_running_loop().stop()
            await asyncio.sleep(0.01)

    async def driving() -> None:
        held.append(asyncio.create_task(leaving()))
        await asyncio.sleep(0)

    def to_end() -> None:
        try:
            loop_runner.run_to_end(driving())
        except BaseException as exc:
            errors.append(exc)

    thread = threading.Thread(target=to_end, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert errors == []


def test_what_a_task_raises_at_its_end_is_told(caplog: pytest.LogCaptureFixture) -> None:
    held = []

    async def failing() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            raise ValueError("not closed")

    async def driving() -> None:
        held.append(asyncio.create_task(failing()))
        await asyncio.sleep(0)

    assert _ends(driving)
    assert "ValueError: not closed" in caplog.text


def test_a_loop_that_user_code_stops_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    reached = []

    async def driving() -> None:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        reached.append(True)

    assert _ends(driving)
    assert reached
    assert "stopped the event loop" in caplog.text


def test_an_error_of_the_driving_task_itself_is_raised() -> None:
    async def driving() -> None:
        raise RuntimeError("its own")

    with ThreadPoolExecutor(1) as threads, pytest.raises(RuntimeError, match="its own"):
        threads.submit(loop_runner.run_to_end, driving()).result(PATIENCE_S)


def test_an_error_without_words_is_told_by_its_class(tmp_path: Path) -> None:
    host = DrivingThread(tmp_path / ".orbiter", ExecutionConfig(workspace=str(tmp_path)))
    host.start()
    loop = present(host._loop)
    loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
    with pytest.raises(DrivingThreadError, match="CancelledError"):
        host.stop()
