"""The terminal driver for Linux and macOS: Textual's, with our reader and a measure of how slowly the terminal reads.

That of Textual 8.2.8 shows a traceback on a terminal that is gone, and asks descriptor 1 for the size
(`textual/drivers/linux_driver.py`).
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from textual.drivers.linux_driver import LinuxDriver

from console.terminal.escape_sequences import RESTORE_TITLE, SAVE_TITLE
from console.terminal.input_reader import read_input
from console.terminal.partial_update_patch import install_partial_update_patch
from console.terminal.style_cache_patch import install_style_cache_patch
from console.terminal.style_changes import shorten_styles
from screens.shell import streams

if TYPE_CHECKING:
    from screens.shell.frame_rate import FrameRateGovernor


HANDOVER_S = 0.001
"""Seconds that the loop waits at most for the thread that writes, once a frame is handed to it. A thread of Python gets
far only while the others wait: what the loop does next would go first.
"""


class TimedFile:
    """The terminal as the writing thread sees it. Styles are written short; each write and flush is timed.

    What is written to a terminal that is gone is dropped, and `gone` is called: the writing thread must outlive it, for
    the event loop waits where its queue is not emptied. What is left in the buffer of `file` then goes to /dev/null:
    Python would try it again when it ends, and end with 120.
    """

    def __init__(self, file: TextIO, governor: FrameRateGovernor, gone: Callable[[], None]) -> None:
        self._file = file
        self._governor = governor
        self._gone = gone
        self.is_written = True
        """Whether all that was handed over before is written. It has no lock: the handler of a signal writes as well,
        and would wait for one that the interrupted code holds.
        """

    def write(self, text: str) -> int:
        shorter = shorten_styles(text)
        self._governor.begin()
        try:
            return self._file.write(shorter)
        except OSError:
            self._drop()
            return len(text)
        finally:
            self._governor.end()

    def flush(self) -> None:
        self._governor.begin()
        try:
            self._file.flush()
        except OSError:
            self._drop()
        finally:
            self._governor.end()
            self.is_written = True

    def _drop(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._file.fileno())
        os.close(nowhere)
        self._gone()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class TimedDriver(LinuxDriver):
    """Tells the app's `governor` of every write; puts the title of the terminal back at the end.

    Textual paints on stderr; where that is a file (`2>errors.txt`), the terminal is stdout.
    """

    def __init__(self, app: Any, **given: Any) -> None:
        install_partial_update_patch()
        install_style_cache_patch()
        super().__init__(app, **given)
        self._titled = bool(app.titled)
        painted: TextIO | None = sys.__stderr__
        other: TextIO | None = sys.__stdout__
        if streams.are_own():
            painted, other = streams.stderr(), streams.stdout()
            self.fileno, self.input_tty = streams.stdin().fileno(), streams.stdin().isatty()
        if painted is None or not painted.isatty():
            painted = other
        assert painted is not None  # nothing opens the console without a terminal to write to
        self._file: Any = TimedFile(painted, app.governor, self._gone)

    def write(self, data: str) -> None:
        """Hand text to the thread that writes."""
        self._file.is_written = False
        super().write(data)

    def flush(self) -> None:
        """A frame is handed over: let it be written first, where the terminal takes it at once."""
        end = time.monotonic() + HANDOVER_S
        while not self._file.is_written and time.monotonic() < end:
            time.sleep(HANDOVER_S / 10)

    def _gone(self) -> None:
        """The terminal is not there any more, as a thread of ours has just found: end as after a hang-up."""
        with suppress(RuntimeError):  # the loop is closed: we are ending already
            self._loop.call_soon_threadsafe(self._app.terminal_gone)  # type: ignore[attr-defined]

    def _get_terminal_size(self) -> tuple[int, int]:
        """The size of the terminal that is painted; 80 by 25 once it is gone, where a signal handler still asks.

        Textual asks descriptor 1, which belongs to user code where user code runs in this process.
        """
        try:
            size = os.get_terminal_size(self._file.fileno())
        except OSError:
            size = os.terminal_size((80, 25))
        return shutil.get_terminal_size((size.columns or 80, size.lines or 25))

    def _run_input_thread(self) -> None:
        """Textual's shows a traceback when the terminal goes away, and never sees the end of its input."""
        try:
            self.run_input_thread()
        except (OSError, EOFError):
            self._gone()
        except Exception as exc:
            self._app.call_later(self._app._handle_exception, exc)

    def run_input_thread(self) -> None:
        """Hand on what is typed, until the input is disabled."""
        read_input(self.fileno, self.exit_event, self.process_message)

    def start_application_mode(self) -> None:
        """Take the terminal; its title is kept for later, if it is to be ours."""
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if self._titled:
            self.write(SAVE_TITLE)

    def stop_application_mode(self) -> None:
        """Give it back, with the title that it had."""
        if self._titled:
            self.write(RESTORE_TITLE)
        super().stop_application_mode()
