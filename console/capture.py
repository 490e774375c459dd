"""What user code prints in a process of ours: labelled lines through the gate, never raw on the terminal.

Where runs are driven in the foreground (`run`, `demo`, `serve --foreground`, `--embedded`) user code shares our
process.
Its standard streams and the descriptors 0, 1 and 2 are replaced before it is imported: 1 and 2 by a pipe that a thread
reads, 0 by ``/dev/null``, so that ``input()`` takes no key from the operator. What we write goes to `screens.streams`.

The pipe is always emptied: lines wait in a bounded queue for the terminal, and what does not fit is counted. At the end
what was printed before is shown. A process that a tool started and that goes on holds the pipe: ``cat`` empties it from
then on, so that it does not die of printing.
"""

from __future__ import annotations

import fcntl
import io
import os
import queue
import re
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, TextIO

from console.logs import masked
from console.output import note
from screens import streams
from screens.text import clean_line

LABEL: Final = "output: "
LINE_BYTES: Final = 2_000
"""A longer line is shown in pieces."""
PER_SECOND: Final = 200
"""Lines that are shown in a second; of more the number is told."""
_PIPE_BYTES: Final = 1 << 20
_PIECE: Final = 1 << 16
_WAITING: Final = 1_000
_PAUSE_S: Final = 0.3
"""After how long a line that has no end yet is shown."""
_END_S: Final = 2.0
"""How long the end waits for what was printed before it."""
_BREAK: Final = re.compile(rb"\r\n|\n|\r")

Sink = Callable[[str], None]


class Capture:
    """A pipe behind the descriptors 1 and 2, from `begin` to `finish`."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._lines: queue.Queue[str | None] = queue.Queue(_WAITING)
        self._left_out = 0
        self._second, self._shown = 0.0, 0
        self._partial = b""

    def begin(self) -> None:
        """Take the descriptors. For a process whose own streams are apart already (`_own_streams`)."""
        self._reading, writing = os.pipe()
        with suppress(OSError, AttributeError):  # not on macOS; Linux may refuse it to users with many pipes
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._ended, self._ending = os.pipe()
        for descriptor in (1, 2):
            os.dup2(writing, descriptor)
        os.close(writing)
        self._reader = threading.Thread(target=self._read, name="output", daemon=True)
        self._printer = threading.Thread(target=self._print, name="output-lines", daemon=True)
        self._reader.start()
        self._printer.start()

    def finish(self) -> None:
        """Show what was printed before; what comes later goes nowhere."""
        _flush(sys.stdout, sys.stderr)
        _to_nowhere(1, 2)
        os.write(self._ending, b".")
        self._reader.join(2 * _END_S)
        self._printer.join(_END_S)
        if not self._reader.is_alive():
            os.close(self._ended)
            os.close(self._ending)

    def _read(self) -> None:
        ending = 0.0
        while True:
            wait = 0.0 if ending else _PAUSE_S if self._partial or self._left_out else None
            ready = select.select([self._reading] if ending else [self._reading, self._ended], [], [], wait)[0]
            if self._reading in ready:
                piece = os.read(self._reading, _PIECE)
                if not piece:
                    break
                self._take(piece)
            elif ending or not ready:
                self._show_partial()
                self._tell_left_out()
            if ending and (self._reading not in ready or time.monotonic() > ending):
                break
            if not ending and self._ended in ready:
                ending = time.monotonic() + _END_S / 4
        self._show_partial()
        self._tell_left_out()
        with suppress(queue.Full):
            self._lines.put(None, timeout=_END_S)
        self._hand_over()

    def _hand_over(self) -> None:
        """Let whoever still holds the pipe go on."""
        ended = select.select([self._reading], [], [], 0)[0] and not os.read(self._reading, _PIECE)
        if not ended:
            with suppress(OSError):
                emptying = subprocess.Popen(
                    ["cat"],  # noqa: S607 - of the system
                    stdin=self._reading,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
                emptying.returncode = 0  # it outlives us: not to be waited for
        os.close(self._reading)

    def _take(self, piece: bytes) -> None:
        *lines, self._partial = _BREAK.split(self._partial + piece)
        for line in lines:
            self._show(line)
        if len(self._partial) > LINE_BYTES:
            self._show_partial()

    def _show_partial(self) -> None:
        if self._partial:
            self._show(self._partial)
            self._partial = b""

    def _show(self, line: bytes) -> None:
        now = time.monotonic()
        if now - self._second >= 1:
            self._second, self._shown = now, 0
            self._tell_left_out()
        for start in range(0, len(line), LINE_BYTES) or (0,):
            if self._shown >= PER_SECOND:
                self._left_out += 1
                continue
            self._shown += 1
            self._put(line[start : start + LINE_BYTES].decode(errors="replace"))

    def _tell_left_out(self) -> None:
        if self._left_out:
            self._put(f"({self._left_out} more lines are not shown)")
            self._left_out = 0

    def _put(self, line: str) -> None:
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._left_out += 1

    def _print(self) -> None:
        while (line := self._lines.get()) is not None:
            with suppress(OSError):  # the terminal is gone: the run goes on
                self._sink(LABEL + clean_line(masked(line), limit=LINE_BYTES))


def _note(line: str) -> None:
    note(line, framed=True)


_active: list[Capture] = []


@contextmanager
def captured(sink: Sink = _note) -> Iterator[None]:
    """Let what user code prints go to `sink`, line by line. One within another changes nothing."""
    if _active:
        yield
        return
    _take_streams()
    capture = Capture(sink)
    _active.append(capture)
    capture.begin()
    try:
        yield
    finally:
        _active.remove(capture)
        capture.finish()


def _take_streams() -> None:
    """Put our streams on descriptors of their own, once in the life of the process: threads of user code may print as
    long as it lives.
    """
    if streams.are_own():
        return
    _flush(sys.stdout, sys.stderr)
    ours = (_copy(0, sys.stdin), _copy(1, sys.stdout), _copy(2, sys.stderr))
    streams.keep(ours)
    _to_nowhere(0)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)
    sys.excepthook = _say_exception


def give_streams_back() -> None:
    """Undo it all, for another program that takes this process over (`runtime.link.serve.become`)."""
    if not streams.are_own():
        return
    _flush(sys.stdout, sys.stderr, streams.stdout(), streams.stderr())
    for descriptor, stream in enumerate((streams.stdin(), streams.stdout(), streams.stderr())):
        os.dup2(stream.fileno(), descriptor)
    streams.keep(None)
    sys.excepthook = sys.__excepthook__


def _copy(descriptor: int, stream: TextIO) -> TextIO:
    """The stream on a descriptor above the standard ones; on ``/dev/null`` where it is closed."""
    writes = descriptor != 0
    try:
        copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    except OSError:
        copy = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    raw = io.FileIO(copy, "w" if writes else "r", closefd=False)
    buffer: io.BufferedWriter | io.BufferedReader = io.BufferedWriter(raw) if writes else io.BufferedReader(raw)
    encoding, errors = getattr(stream, "encoding", None), getattr(stream, "errors", None)
    return io.TextIOWrapper(buffer, encoding=encoding, errors=errors, line_buffering=writes and os.isatty(copy))


def _flush(*of: TextIO | None) -> None:
    for stream in of:
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()


def _to_nowhere(*descriptors: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for descriptor in descriptors:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _say_exception(kind: type[BaseException], exc: BaseException, tb: object) -> None:
    """An error of our own that nothing caught: Python would write it where user code writes."""
    import traceback

    note("".join(traceback.format_exception(exc)))
