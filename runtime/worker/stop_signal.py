"""The stop signal: how a drive lets go of its run when the runtime stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.run_session import RunSession

log = logging.getLogger("runtime.drive")

_POLL_S = 0.02


class StopSignal(asyncio.Event):
    """Set when runs are to be let go of.

    `whole`: not only what must not be begun twice comes to its end first, but every step under way. For a stop that
    is not waited for; a person who waits takes it back. `at_once`: no step is waited for, for another process works
    here.
    """

    whole = False
    at_once = False

    def __init__(self) -> None:
        super().__init__()
        self._calls: set[Callable[[], None]] = set()

    def set(self) -> None:
        super().set()
        for call in tuple(self._calls):
            call()

    def call_when_set(self, call: Callable[[], None]) -> None:
        """Call `call` when the signal is set; now, if it is. A task for each run that only waits for it costs more."""
        self._calls.add(call)
        if self.is_set():
            call()

    def forget(self, call: Callable[[], None]) -> None:
        """Call it no more."""
        self._calls.discard(call)

    def timeout_s(self, config: ExecutionConfig) -> float:
        """How long, in seconds, the steps that are waited for may take."""
        if self.at_once:
            return 0.0
        return config.change_s if self.whole else config.drain_s


async def release_run(session: RunSession, stopping: StopSignal) -> None:
    """Let go of the run: nothing new begins, and what must not be begun twice comes to its end, if it does so soon."""
    waits = session.tracker.idle_waits()  # before everything else waits, too
    session.tracker.pause()
    if under_way := _open_steps_text(session, whole=stopping.whole):
        log.info("run %s: waits for the end of %s", session.state.id, under_way)
    try:
        async with asyncio.timeout(stopping.timeout_s(session.config)):
            while session.tracker.has_unrepeatable_call or (stopping.whole and session.state.in_flight):  # noqa: ASYNC110 - flags of many, asked at a stop only
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        log.warning("run %s: cuts off %s", session.state.id, _open_steps_text(session, whole=stopping.whole))
    if waits:
        session.park(waits)
    else:
        session.end("stop")


def _open_steps_text(session: RunSession, *, whole: bool) -> str:
    """The steps that a stop waits for, in words."""
    steps = session.state.in_flight if whole or session.tracker.has_unrepeatable_call else []
    return ", ".join(f"{node.agent}: {node.name}" for node in steps)
