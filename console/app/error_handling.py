"""Errors in the console itself: never a traceback over the screen.

A handler that failed is a line, and the screen stands. A screen that failed while it was made or painted is closed, and
the inbox says so. Where nothing is left to stand on, the console ends: the terminal is given back, one line says why
(`broke`), and all else is in the console's log. The runs do not notice.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import monotonic
from typing import Any, Final
from weakref import WeakSet

from textual.app import App
from textual.screen import Screen

from console.app.messages import ShowMessage
from console.terminal.error_patch import is_ending, screen_at_work

log = logging.getLogger(__name__)

MAX_CLOSED_SCREENS: Final = 3
CLOSED_WITHIN_S: Final = 60.0
"""So many screens may be closed within so many seconds: more would not help."""


class ErrorBoundary:
    """Decides how the app that owns it goes on after a mishap, as far as that is possible.

    Args:
        app: The app.
        leave: Closes a screen that cannot be used, and says so where the operator then is.
        show: Says what did not work.

    Attributes:
        broke: Why the console had to end; empty if it did not.
        log_file: What the lines send the reader to.
    """

    def __init__(self, app: App[Any], leave: Callable[[Screen[Any], str], None], show: ShowMessage) -> None:
        self.broke = ""
        self.log_file = ""
        self._app = app
        self._leave = leave
        self._show = show
        self._given_up: WeakSet[Screen[Any]] = WeakSet()
        self._closed_at: deque[float] = deque(maxlen=MAX_CLOSED_SCREENS)

    def log_hint(self) -> str:
        """Where all of it can be read."""
        return f"; all of it: {self.log_file}" if self.log_file else ""

    def report(self, error: BaseException) -> None:
        """Say and log that something did not work: a handler, an action, work in the background. All else stands."""
        log.error("what was asked for failed", exc_info=error)
        self._show(f"This did not work, please report it: {_what(error)}{self.log_hint()}", "error")

    def goes_on(self, error: Exception) -> bool:
        """Whether the app goes on after an error of a screen that is made or painted, of a widget, of a timer: the
        screen that failed is closed. Where False, the app has to end.
        """
        log.error("the console failed", exc_info=error)
        screen = screen_at_work(self._app)
        if screen is not None and screen in self._given_up:
            return True
        if screen is not None and screen in self._app.screen_stack[1:] and self._can_go_on():
            self._given_up.add(screen)
            words = f"A screen failed and was closed, please report it: {_what(error)}{self.log_hint()}"
            self._app.call_later(self._leave, screen, words)
            return True
        self.broke = self.broke or _what(error)
        return False

    def _can_go_on(self) -> bool:
        now = monotonic()
        if len(self._closed_at) == MAX_CLOSED_SCREENS and now - self._closed_at[0] < CLOSED_WITHIN_S:
            return False
        self._closed_at.append(now)
        return not is_ending(self._app)


@contextmanager
def suspended(suspension: AbstractContextManager[None]) -> Iterator[None]:
    """Textual's suspension of an app, which would leave the terminal for good if what has it meanwhile fails."""
    failed: Exception | None = None
    with suspension:
        try:
            yield
        except Exception as exc:
            failed = exc
    if failed is not None:
        raise failed


def _what(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
