"""A program in a real pseudo-terminal, from outside: keys in, bytes out."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Self

from tests.console.forking import IN_TERMINAL, ForkedProgram
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parent.parent.parent


def _take_terminal() -> None:
    """In the child: the terminal on stdin becomes the controlling one, so that a hang-up reaches the program."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


IDLE_BYTES = 600
"""What a console may send in 12 s in which nothing happens: an age goes on every ten seconds, for 52 bytes."""

_ROUND_TRIP = re.compile(rb"\x1b\[1;1H(?:(?!\x1b\[\d+;\d+H).)*?link \d+ ms(?:(?!\x1b\[\d+;\d+H).)*", re.DOTALL)
"""A paint of the top line with a round trip in it."""


class Terminal:
    """`python *arguments` in a terminal of its own, in a session of its own. A context manager."""

    def __init__(self, *arguments: str, size: tuple[int, int] = (80, 24), cwd: Path = ROOT, **env: str) -> None:
        self.leader, follower = pty.openpty()
        self.resize(*size)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ORBITER_", "TEXTUAL", "NO_COLOR"))
            and name not in {"SSH_CONNECTION", "COLUMNS", "LINES"}  # the size is the terminal's
        }
        colours = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.process = self._start(arguments, follower, cwd, {**kept, **colours, "PYTHONPATH": str(ROOT), **env})
        os.close(follower)
        self.output = b""
        self._at = 0

    def _start(
        self, arguments: tuple[str, ...], follower: int, cwd: Path, env: dict[str, str]
    ) -> subprocess.Popen[bytes] | ForkedProgram:
        return subprocess.Popen(
            [sys.executable, *arguments],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            cwd=cwd,
            env=env,
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - no thread of the tests holds a lock over a fork
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if isinstance(self.process, ForkedProgram):
            self.process.close()
        self.hang_up()

    @property
    def text(self) -> str:
        """All that was written."""
        return self.output.decode("utf-8", "replace")

    @property
    def since_key(self) -> str:
        """What was written since the last key."""
        return self.output[self._at :].decode("utf-8", "replace")

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self.leader, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def press(self, keys: str | bytes, *, then: str = "") -> None:
        """Type; what comes from now on is what `until` looks at. `then`: read until this was written."""
        self.look_from_here()
        os.write(self.leader, keys if isinstance(keys, bytes) else keys.encode())
        self.until(then)

    def click(self, column: int, row: int) -> None:
        """Press and release the left button, as a terminal reports it (SGR); both count from 1."""
        self.press(f"\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m")

    def wheel(self, column: int, row: int, *, down: bool) -> None:
        """Turn the wheel by a notch."""
        self.press(f"\x1b[<{65 if down else 64};{column};{row}M")

    def look_from_here(self) -> None:
        """What was written up to now is looked at no more."""
        self.drain()
        self._at = len(self.output)

    def until(self, words: str, *, seconds: float = PATIENCE_S) -> None:
        """Read until `words` was written since the last key."""
        self.until_any(words, seconds=seconds)

    def until_any(self, *words: str, seconds: float = PATIENCE_S) -> None:
        """Read until one of `words` was written since the last key."""
        deadline = time.monotonic() + seconds
        while not any(word.encode() in self.output[self._at :] for word in words):
            if not self._read(deadline - time.monotonic()):
                tail = self.since_key[-3000:]
                raise AssertionError(f"{words!r} did not come (exit code {self.process.poll()}); the end: {tail!r}")

    def drain(self) -> None:
        """Read what is there."""
        while self._read(0.0):
            pass

    def quiet(self, seconds: float) -> int:
        """Read for `seconds`; how many bytes came."""
        before, deadline = len(self.output), time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._read(left)
        return len(self.output) - before

    def at_rest(self, seconds: float = 12.0) -> int:
        """How many bytes come within `seconds` once the first screen stands.

        All are counted but those of a top line that tells the link's round trip again: on a busy machine it changes.
        """
        deadline = time.monotonic() + PATIENCE_S
        while self.quiet(3.0):  # in the first minute the clocks move once a second
            assert time.monotonic() < deadline, "it never comes to rest"
        count = self.quiet(seconds)
        return count - sum(map(len, _ROUND_TRIP.findall(bytes(self.output[-count:])))) if count else 0

    def ended(self, keys: str | bytes = "", *, seconds: float = PATIENCE_S) -> int:
        """The exit code of the program, read to its end; it ends by itself, or by these keys."""
        if keys:
            self.press(keys)
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            if not self._read(min(0.2, deadline - time.monotonic())) and time.monotonic() > deadline:
                raise AssertionError("the program did not end")
        self.drain()
        return self.process.wait()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def hang_up(self) -> None:
        """Close the terminal under the program."""
        if self.leader >= 0:
            os.close(self.leader)
            self.leader = -1

    def _read(self, seconds: float) -> bool:
        if self.leader < 0:
            time.sleep(max(0.0, min(seconds, 0.05)))
            return False
        ready, _, _ = select.select([self.leader], [], [], max(0.0, seconds))
        if not ready:
            return False
        try:
            data = os.read(self.leader, 65536)
        except OSError as exc:
            if exc.errno != errno.EIO:  # the last one at the other end is gone
                raise
            return False
        self.output += data
        return bool(data)


class ConsoleTerminal(Terminal):
    """`orbiter-console *arguments` in a terminal of its own, forked from a process that has imported its libraries.

    It costs a quarter of what a new interpreter costs. What depends on how the interpreter starts (a locale, what is
    imported) needs `Terminal`.
    """

    def _start(self, arguments: tuple[str, ...], follower: int, cwd: Path, env: dict[str, str]) -> ForkedProgram:
        assert "SSH_CONNECTION" not in env, "Textual is imported with the settings of a console that is near"
        env = {"PYTHONUTF8": "1", **env}
        return ForkedProgram(arguments, (follower,) * 3, cwd=cwd, env=env, kind=IN_TERMINAL)
