"""The embedded runtime: inside the console's process, on threads and loops of its own, over a socket pair.

For containers, tests and one-shot use. It ends with the process: the runs go on when the next runtime starts.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from runtime.execution.execution_config import ExecutionConfig
from runtime.link.transports.transport import PairTransport, Unreachable
from runtime.record.state.operator_terms import Role
from runtime.service.runtime import Runtime


class EmbeddedRuntime:
    """A runtime on a thread. `start` before `transport`; `close` at the end. May be used as a ``with``.

    `listening` and `driving` as for `Runtime`.
    """

    def __init__(
        self, state_dir: Path, config: ExecutionConfig, *, listening: bool = True, driving: bool = True
    ) -> None:
        self._state_dir = state_dir
        self._config = config
        self._listening = listening
        self._driving = driving
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runtime: Runtime | None = None
        self._ready = threading.Event()
        self._ended = threading.Event()
        self._adopting: set[Future[None]] = set()
        """Dials that wait for the runtime to take their console."""
        self._tasks: set[asyncio.Task[None]] = set()
        """The same on the runtime's loop."""
        self._takes_consoles = True
        self._failed: BaseException | None = None

    def start(self) -> None:
        """Begin to drive and to serve; returns once both do. Raises as `Runtime.start`."""
        self._thread = threading.Thread(target=self._work, name="orbiter-serving")
        self._thread.start()
        self._ready.wait()
        if self._runtime is None:
            self._thread.join()
            self._thread = None
            assert self._failed is not None
            raise self._failed

    def transport(self, role: Role = "operator") -> PairTransport:
        """The way to it, for a `LinkClient` on any loop."""
        return PairTransport(partial(self._adopt, role))

    def close(self) -> None:
        """Stop it, from any other thread. Raises what had ended it, if something had."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if self._loop is not None and self._runtime is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._runtime.stop)
        thread.join()
        if self._failed is not None:
            raise self._failed

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def _work(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as exc:
            self._failed = exc
        finally:
            self._ready.set()
            self._ended.set()
            for adopting in list(self._adopting):  # asked of a loop that runs no more: it would never answer
                adopting.cancel()

    async def _serve(self) -> None:
        made = Runtime(self._state_dir, self._config, listening=self._listening, driving=self._driving)
        try:
            async with made as runtime:
                self._loop, self._runtime = asyncio.get_running_loop(), runtime
                self._ready.set()
                await runtime.wait_for_end()
        finally:
            self._takes_consoles = False
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _adopt(self, role: Role, sock: socket.socket) -> None:
        if self._loop is None or self._runtime is None or self._thread is None or self._ended.is_set():
            raise self._gone()
        with sock:  # the runtime has its own: who dials may give up, and close this one, at any moment
            own = sock.dup()
        adopting: Future[None] = Future()
        try:
            self._loop.call_soon_threadsafe(self._take_console, role, own, adopting)
        except RuntimeError as exc:  # the loop was closed since
            own.close()
            raise self._gone() from exc
        self._adopting.add(adopting)
        adopting.add_done_callback(self._adopting.discard)
        adopting.add_done_callback(partial(_close_refused, own))
        if self._ended.is_set():
            adopting.cancel()
        try:
            await asyncio.shield(asyncio.wrap_future(adopting))
        except asyncio.CancelledError as exc:
            if not adopting.cancelled():
                raise
            raise self._gone() from exc

    def _take_console(self, role: Role, sock: socket.socket, adopting: Future[None]) -> None:
        """Serve the console of a dial, on the runtime's loop: a task that the loop's end waits for, or a refusal."""
        if not self._takes_consoles or self._runtime is None:
            adopting.cancel()
            return
        task = asyncio.get_running_loop().create_task(self._runtime.adopt(sock, role))
        self._tasks.add(task)

        def settle(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if task.cancelled():
                adopting.cancel()
            elif (failed := task.exception()) is not None:
                adopting.set_exception(failed)
            else:
                adopting.set_result(None)

        task.add_done_callback(settle)

    def _gone(self) -> Unreachable:
        why = f" ({self._failed})" if self._failed is not None else ""
        return Unreachable(f"the runtime in this console has ended{why}: open the console again", gone=True)


def _close_refused(sock: socket.socket, adopting: Future[None]) -> None:
    """Close what the runtime did not take, also where who dialled waits no more."""
    if adopting.cancelled() or adopting.exception() is not None:
        sock.close()
