"""The embedded runtime, from the console's side: what dials while it ends is told so."""

from __future__ import annotations

import asyncio
import socket
import threading
from pathlib import Path

import pytest

from runtime.link.transports.transport import Unreachable
from runtime.service.embedded import EmbeddedRuntime
from runtime.service.serve import build_execution_config


async def test_a_console_that_dials_while_the_loop_ends_is_told_and_does_not_wait(tmp_path: Path) -> None:
    """The loop takes the call and runs no more: the end of the thread ends the wait."""
    runtime = EmbeddedRuntime(tmp_path / ".orbiter", build_execution_config(tmp_path, {}), driving=False)
    runtime.start()
    stopped = asyncio.new_event_loop()
    try:
        running, runtime._loop = runtime._loop, stopped
        assert running is not None
        assert runtime._runtime is not None
        dialling = asyncio.create_task(runtime.transport().connect())
        while not runtime._adopting:  # noqa: ASYNC110 - until it has dialled; a set has no event
            await asyncio.sleep(0)
        running.call_soon_threadsafe(runtime._runtime.stop)
        async with asyncio.timeout(30):
            with pytest.raises(Unreachable, match="has ended") as caught:
                await dialling
        assert caught.value.gone
        runtime._loop = running
        with pytest.raises(Unreachable, match="has ended"):
            await runtime.transport().connect()
    finally:
        runtime.close()
        stopped.close()


async def test_a_console_that_dials_after_the_service_ended_leaves_no_task_behind(tmp_path: Path) -> None:
    """The loop still turns for what asyncio ends after the service: what it would begin there has no time to end."""
    runtime = EmbeddedRuntime(tmp_path / ".orbiter", build_execution_config(tmp_path, {}), driving=False)
    runtime.start()
    try:
        assert runtime._loop is not None
        assert runtime._runtime is not None
        here, transport, stop = asyncio.get_running_loop(), runtime.transport(), runtime._runtime.stop
        begun, dialled = asyncio.Event(), threading.Event()

        async def hold() -> None:
            """Runs when the service has ended: the end of the loop cancels it, and it dials then."""
            try:
                await asyncio.Event().wait()
            finally:
                here.call_soon_threadsafe(begun.set)
                dialled.wait()

        asyncio.run_coroutine_threadsafe(hold(), runtime._loop)
        runtime._loop.call_soon_threadsafe(stop)
        async with asyncio.timeout(30):
            await begun.wait()
            dialling = asyncio.ensure_future(transport.connect())
            while not runtime._adopting:  # noqa: ASYNC110 - until it has dialled; a set has no event
                await asyncio.sleep(0)
            dialled.set()
            with pytest.raises(Unreachable, match="has ended"):
                await dialling
        assert runtime._tasks == set()
    finally:
        runtime.close()


async def test_a_console_that_gives_up_while_the_loop_ends_leaves_no_socket_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop was given the socket and runs no more, and who dialled does not wait for its answer."""
    handed: list[socket.socket] = []
    dup = socket.socket.dup

    def kept(sock: socket.socket) -> socket.socket:
        handed.append(dup(sock))
        return handed[-1]

    monkeypatch.setattr(socket.socket, "dup", kept)
    runtime = EmbeddedRuntime(tmp_path / ".orbiter", build_execution_config(tmp_path, {}), driving=False)
    runtime.start()
    stopped = asyncio.new_event_loop()
    try:
        running, runtime._loop = runtime._loop, stopped
        dialling = asyncio.create_task(runtime.transport().connect())
        while not runtime._adopting:  # noqa: ASYNC110 - until it has dialled; a set has no event
            await asyncio.sleep(0)
        dialling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dialling
        runtime._loop = running
    finally:
        runtime.close()
        stopped.close()
    assert [each.fileno() for each in handed] == [-1]
