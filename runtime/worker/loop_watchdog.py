"""The watchdog of the driving loop: names the tool that blocks it.

While it does so no run goes on. It cannot be stopped from outside, but its author can be told.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from types import FrameType

from runtime.execution.attempt import Attempt
from runtime.execution.step_execution import StepExecution
from runtime.judgement.reports.tracebacks import is_user_code
from runtime.record.state import events as ev

log = logging.getLogger("runtime.watchdog")

CHECK_S = 2.5
BLOCKED_AFTER_S = 5.0
"""How long, in seconds, the loop may take to answer before an operator is told."""


class LoopWatchdog:
    """Watches the loop of the thread that makes it, from a thread of its own, until `stop`."""

    def __init__(self, *, every_s: float = CHECK_S, patience_s: float = BLOCKED_AFTER_S) -> None:
        self._loop = asyncio.get_running_loop()
        self._watched = threading.get_ident()
        self._every_s = every_s
        self._patience_s = patience_s
        self._ended = threading.Event()
        self.blocked: tuple[str, str, datetime] | None = None
        """While the loop is blocked: the run at fault, if one is, what blocks it in words, and since when. For any
        thread.
        """
        self._thread = threading.Thread(target=self._watch, name="orbiter-watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(self._every_s):
            answered = threading.Event()
            try:
                self._loop.call_soon_threadsafe(answered.set)
                if answered.wait(self._patience_s):
                    continue
                self._report()
            except RuntimeError:  # the loop is closed
                return
            while not answered.wait(self._every_s) and not self._ended.is_set():
                pass
            self.blocked = None

    def _report(self) -> None:
        frames = list(_stack(sys._current_frames().get(self._watched)))
        if not frames:
            return
        written = next((frame for frame in frames if is_user_code(frame.f_code.co_filename)), frames[0])
        at = f"{written.f_code.co_filename}, line {written.f_lineno}"
        blocking = next((found for found in map(_step_of_frame, frames) if found is not None), None)
        if blocking is None:
            text = f"nothing is driven: the loop has been blocked for {self._patience_s:g} s at {at}"
            self.blocked = ("", text, ev.utc_now())
            log.warning("%s", text)
            return
        what = f"{blocking.step.name!r} of agent {blocking.step.agent!r}"
        advice = "write it as a plain def, which gets a thread, or await what it waits for"
        text = f"{what} has blocked every run for {self._patience_s:g} s, at {at}: {advice}"
        self.blocked = (blocking.session.state.id, text, ev.utc_now())
        log.warning("run %s: %s", blocking.session.state.id, text)
        warned = ev.Warned(node_id=blocking.node_id, parent_id=blocking.parent_id, text=text)
        self._loop.call_soon_threadsafe(
            blocking.session.record_soon, warned
        )  # where operators look, as soon as it goes on


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _step_of_frame(frame: FrameType) -> StepExecution | None:
    """The step whose call this frame makes (`runtime.execution.attempt`)."""
    found = frame.f_locals.get("self")
    return found.execution if isinstance(found, Attempt) else None
