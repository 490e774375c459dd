"""Captures what user code prints: labelled and sanitised lines, never raw on the terminal.

Where runs are driven in the foreground (`run`, `demo`, `serve --foreground`, `--embedded`) user code shares our
process. Its standard streams and the descriptors 0, 1 and 2 are replaced before it is imported: 1 and 2 by a pipe that
a thread reads, 0 by ``/dev/null``, so that ``input()`` takes no key from the operator. What we write goes to
`screens.shell.streams`.

User code that prints faster than the terminal takes it waits, as it would without the pipe: no line is dropped.
"""

from __future__ import annotations

import atexit
import codecs
import fcntl
import io
import os
import re
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, TextIO

from console.logs import mask_text
from console.output import print_note
from screens.render.sanitize import sanitize_line
from screens.shell import streams

LABEL: Final = "output: "
MAX_LINE_CHARS: Final = 1_900
"""Characters of a line, with the label; a longer one is shown in pieces, each with the label."""
_READ_BYTES: Final = 1 << 16
_MAX_HELD_BYTES: Final = 1 << 16
"""How much of a line that has no end yet is held back, so that a secret in it is not halved."""
_EXPANDED: Final = 12
"""How many characters at most stand for one that cannot be shown as it is."""
_PAUSE_S: Final = 0.3
"""After how long a line that has no end yet is shown."""
_DRAIN_S: Final = 2.0
"""How long an end waits for what was printed before it, while more is printed."""
_BREAK: Final = re.compile(r"\r\n|\n|\r(?!\Z)")

Sink = Callable[[str], None]


class Capture:
    """A pipe behind the descriptors 1 and 2, and the thread that reads it."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._partial = ""
        self._drained = threading.Event()
        self._ending = False
        self._ended = False

    def begin(self) -> None:
        """Take the descriptors. Our own streams are elsewhere already (`_take_streams`)."""
        self._reading, writing = os.pipe()
        self._requests, self._request = os.pipe()
        for descriptor in (1, 2):
            os.dup2(writing, descriptor)
        os.close(writing)
        self._reader = threading.Thread(target=self._read, name="output", daemon=True)
        self._reader.start()

    def drain(self) -> None:
        """Return when all that was printed so far is shown."""
        _flush(sys.stdout, sys.stderr)
        self._drained.clear()
        if not self._ended:  # set before the last time that it is drained
            os.write(self._request, b".")
            self._drained.wait(2 * _DRAIN_S)

    def finish(self) -> None:
        """Show what was printed so far and stop; what is printed later goes to ``/dev/null``."""
        _flush(sys.stdout, sys.stderr)
        _redirect_to_null(1, 2)
        self._ending = True
        self.drain()
        self._reader.join(_DRAIN_S)

    def _read(self) -> None:
        limit = 0.0  # of the drain that was asked for, if one was
        while not (limit and self._ending):
            ready = select.select([self._reading, self._requests], [], [], _PAUSE_S if self._partial else None)[0]
            if self._requests in ready:
                os.read(self._requests, 1)
                limit = time.monotonic() + _DRAIN_S
            open_ended = self._take_all(limit) if limit or self._reading in ready else True
            if limit or not ready:
                self._show_partial()
            if not open_ended:
                break
            if limit and not self._ending:
                self._drained.set()
                limit = 0.0
        self._show_partial()
        self._ended = True
        self._drained.set()
        self._hand_over()

    def _take_all(self, limit: float) -> bool:
        """Show what the pipe holds, or, without a limit, a piece of it. False: every writer has closed it."""
        while select.select([self._reading], [], [], 0)[0]:
            piece = os.read(self._reading, _READ_BYTES)
            if not piece:
                return False
            self._take(piece)
            if time.monotonic() > limit:
                break
        return True

    def _hand_over(self) -> None:
        """A process that a tool started may go on and print: ``cat`` empties the pipe for it from now on."""
        if not (select.select([self._reading], [], [], 0)[0] and not os.read(self._reading, _READ_BYTES)):
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
        *lines, self._partial = _BREAK.split(self._partial + self._decode(piece))
        if lines:
            self._show("\n".join(lines))
        if len(self._partial) > _MAX_HELD_BYTES:
            self._show_partial()

    def _show_partial(self) -> None:
        partial, self._partial = self._partial.removesuffix("\r"), ""
        if partial:
            self._show(partial)

    def _show(self, lines: str) -> None:
        room = MAX_LINE_CHARS - len(LABEL)
        for line in mask_text(lines).split("\n"):
            shown = sanitize_line(line, limit=_EXPANDED * (len(line) + 1))
            for start in range(0, len(shown), room) or (0,):
                with suppress(OSError):  # the terminal is gone: the run goes on
                    self.sink(LABEL + shown[start : start + room])


def _note(line: str) -> None:
    print_note(line, framed=True)


_of_process: list[Capture] = []
"""At most one: it lasts until the interpreter ends, so that what user code prints at exit is shown too."""


@contextmanager
def capture_output(sink: Sink = _note) -> Iterator[None]:
    """Let `sink` have what user code prints, line by line; at the end all of it is shown.

    The streams are taken once in the life of the process: a thread of user code may print as long as it lives, and
    `sink` has its lines until another takes its place.
    """
    if not _of_process:
        _take_streams()
        capture = Capture(sink)
        capture.begin()
        _of_process.append(capture)
        atexit.register(_finish)  # before user code is imported, so that it is called after user code's own
    _of_process[0].sink = sink
    try:
        yield
    finally:
        _of_process[0].drain()


def _finish() -> None:
    while _of_process:
        _of_process.pop().finish()


def _take_streams() -> None:
    """Put our streams on descriptors of their own, once in the life of the process: threads of user code may print as
    long as it lives.
    """
    if streams.are_own():
        return
    _flush(sys.stdout, sys.stderr)
    ours = (_copy(0, sys.stdin), _copy(1, sys.stdout), _copy(2, sys.stderr))
    streams.set_streams(ours)
    _redirect_to_null(0)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(line_buffering=True)
    sys.excepthook = _say_exception


def give_streams_back() -> None:
    """Undo it all, for another program that takes this process over (`runtime.service.serve.exec_program`)."""
    if not streams.are_own():
        return
    _finish()
    _flush(streams.stdout(), streams.stderr())
    for descriptor, stream in enumerate((streams.stdin(), streams.stdout(), streams.stderr())):
        os.dup2(stream.fileno(), descriptor)
    streams.set_streams(None)
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


def _redirect_to_null(*descriptors: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for descriptor in descriptors:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _say_exception(kind: type[BaseException], exc: BaseException, tb: object) -> None:
    """An error of our own that nothing caught: Python would write it where user code writes."""
    import traceback

    print_note("".join(traceback.format_exception(exc)))
