"""Errors in the console itself: never a traceback over the screen.

A handler that failed is a line, and the screen stands. A screen that failed while it was made or painted is closed, and
the inbox says so. Where nothing is left to stand on, the console ends: the terminal is given back, one line says why
(`broke`), and all else is in the console's log. The runs do not notice.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Final
from weakref import WeakSet

from textual._context import active_message_pump
from textual.dom import DOMNode, NoScreen
from textual.message import Message
from textual.screen import Screen
from textual.widget import AwaitMount
from textual.worker import Worker, WorkerState

from console.app.exporting import ExportingApp

log = logging.getLogger(__name__)

MAX_CLOSED_SCREENS: Final = 3
CLOSED_WITHIN_S: Final = 60.0
"""So many screens may be closed within so many seconds: more, and it is no use."""


class ErrorHandlingApp(ExportingApp):
    """Goes on after a mishap, as far as that is possible. `log_file` is what its lines send the reader to."""

    broke = ""
    """Why the console had to end; empty if it did not."""
    log_file = ""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self._given_up: WeakSet[Screen[Any]] = WeakSet()
        self._closed_at: deque[float] = deque(maxlen=MAX_CLOSED_SCREENS)

    def leave_broken(self, screen: Screen[Any], words: str) -> None:
        """Close a screen that cannot be used, and say so where the operator then is."""
        raise NotImplementedError

    def log_hint(self) -> str:
        """Where all of it can be read."""
        return f"; all of it: {self.log_file}" if self.log_file else ""

    # -- what Textual tells -------------------------------------------------------------------------------------

    async def _dispatch_message(self, message: Message) -> None:
        """The app's own handlers, and the actions behind keys, which it carries out: after one that failed Textual
        would end the app.
        """
        try:
            await super()._dispatch_message(message)
        except Exception as exc:
            if not self._is_mounted or self._closing:
                raise
            log.exception("what was asked for failed")
            self._show_message(f"This did not work, please report it: {_what(exc)}{self.log_hint()}", "error")

    def _handle_exception(self, error: Exception) -> None:
        """What nobody caught: of a screen that is made or painted, of a widget, of a timer. Textual would end the app
        with a traceback on the terminal.
        """
        log.error("the console failed", exc_info=error)
        screen = self._at_work()
        if screen is not None and screen in self._given_up:
            return
        if screen is not None and screen in self.screen_stack[1:] and self._can_go_on():
            self._given_up.add(screen)
            words = f"A screen failed and was closed, please report it: {_what(error)}{self.log_hint()}"
            self.call_later(self.leave_broken, screen, words)
            return
        self.broke = self.broke or _what(error)
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()

    def _get_screen(self, screen: Screen[Any] | str) -> tuple[Screen[Any], AwaitMount]:
        """A screen's style sheet is read before anything is changed for it: a wrong one is none for all the others."""
        before = self.stylesheet.copy()
        try:
            self._load_screen_css(self.get_screen(screen))
        except Exception:
            before.parse()
            self.stylesheet = before
            raise
        return super()._get_screen(screen)

    @contextmanager
    def suspend(self) -> Iterator[None]:
        """As Textual's, which would leave the terminal for good if what has it meanwhile fails."""
        failed: Exception | None = None
        with super().suspend():
            try:
                yield
            except Exception as exc:
                failed = exc
        if failed is not None:
            raise failed

    def on_worker_state_changed(self, message: Worker.StateChanged) -> None:
        """Work of the app's own, which goes on when the screen that began it is closed."""
        if message.state is WorkerState.ERROR and message.worker.error is not None:
            log.error("work in the background failed", exc_info=message.worker.error)
            self._show_message(
                f"This did not work, please report it: {_what(message.worker.error)}{self.log_hint()}", "error"
            )

    # -- whose fault it is -----------------------------------------------------------------------------------------

    def _at_work(self) -> Screen[Any] | None:
        """The screen that is at work now, or part of which is."""
        pump = active_message_pump.get(None)
        try:
            return pump.screen if isinstance(pump, DOMNode) and pump is not self else None
        except NoScreen:
            return None

    def _can_go_on(self) -> bool:
        now = monotonic()
        if len(self._closed_at) == MAX_CLOSED_SCREENS and now - self._closed_at[0] < CLOSED_WITHIN_S:
            return False
        self._closed_at.append(now)
        return self.is_running and not self._closing


def _what(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
