"""The driving loop ends, whatever user code still does in it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from runtime.worker import loop_runner
from tests.patience import PATIENCE_S


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
