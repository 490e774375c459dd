"""The driving thread inside this process (`run`, `--embedded`), while it holds the workspace's lock.

Who holds the workspace's lock drives. Where another process does, this one lets it, and takes over when the lock is
free: two `run`s in one directory both come to their end, whichever ends first.
"""

from __future__ import annotations

import asyncio
import os

from console.driver import Driver
from console.workspace import Workspace
from runtime.config.loader import load_configuration
from runtime.daemon.log_file import log_path, open_log, rotate_log
from runtime.record.state.events import utc_now
from runtime.record.workspace_lock import RUN_PROGRAM, Locked
from runtime.worker.driving_thread import DrivingThread

POLL_S = 0.5
"""How often the lock is asked for while another process holds it, and the thread for whether it lives."""


def log_line(place: Workspace, line: str) -> None:
    """Write a line to the log that a runtime in the background would write."""
    path = log_path(place.state)
    rotate_log(path)
    descriptor = open_log(path)
    try:
        os.write(descriptor, f"{utc_now():%Y-%m-%d %H:%M:%S} {line}\n".encode(errors="backslashreplace"))
    finally:
        os.close(descriptor)


class EmbeddedDriver(Driver):
    """Sees to it that the workspace's runs are driven while its ``async with`` lasts.

    `grace_s` is how long a run in which everything waits stays in memory before it is parked.

    Raises:
        InvalidConfiguration: an `orbiter.toml` that cannot be used.
    """

    def __init__(self, workspace: Workspace, *, grace_s: float = 60.0) -> None:
        super().__init__()
        config = load_configuration(workspace.root).execution_config(grace_s=grace_s)
        self._driving_thread = DrivingThread(workspace.state, config, program=RUN_PROGRAM)

    async def _drive(self) -> None:
        while True:
            try:
                self._driving_thread.start()
                break
            except Locked:
                await asyncio.sleep(POLL_S)
        while self._driving_thread.is_alive:  # noqa: ASYNC110 - a thread that dies sets nothing
            await asyncio.sleep(POLL_S)
        self._driving_thread.stop()  # raises what ended it

    async def _stop(self) -> None:
        await asyncio.to_thread(self._driving_thread.stop)
