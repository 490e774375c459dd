"""The stop signal: how a drive lets go of its run when the runtime stops."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

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
        self._sessions: dict[RunSession, asyncio.Task[None] | None] = {}
        """Those that are told, each with the task in which its run is let go of."""

    def set(self) -> None:
        super().set()
        for session in self._sessions:
            self._release(session)

    def add(self, session: RunSession) -> None:
        """Let go of the run when this is set, until `remove`."""
        self._sessions[session] = None
        if self.is_set():
            self._release(session)

    def remove(self, session: RunSession) -> None:
        """The run is let go of, or has ended."""
        if (releasing := self._sessions.pop(session)) is not None:
            releasing.cancel()

    def _release(self, session: RunSession) -> None:
        if self._sessions[session] is None:
            releasing = session.ended.get_loop().create_task(_release_run(session, self))
            releasing.add_done_callback(partial(_log_failure, session))
            self._sessions[session] = releasing

    def timeout_s(self, config: ExecutionConfig) -> float:
        """How long, in seconds, the steps that are waited for may take."""
        if self.at_once:
            return 0.0
        return config.change_s if self.whole else config.drain_s


async def _release_run(session: RunSession, stopping: StopSignal) -> None:
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


def _log_failure(session: RunSession, releasing: asyncio.Task[None]) -> None:
    if not releasing.cancelled() and (exc := releasing.exception()) is not None:
        log.error("run %s: it was not let go of", session.lease.run_id, exc_info=exc)


def _open_steps_text(session: RunSession, *, whole: bool) -> str:
    """The steps that a stop waits for, in words."""
    steps = session.state.in_flight if whole or session.tracker.has_unrepeatable_call else []
    return ", ".join(f"{node.agent}: {node.name}" for node in steps)
