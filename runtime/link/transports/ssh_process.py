"""One ssh child process: bytes over a socket pair, its stderr kept, its end awaited.

A socket pair and a thread, not asyncio's own subprocesses: a login happens before the terminal's loop is there, and
its connection is then used on that loop. Python 3.11's child watchers, which race with `kill`, are out of the way too.
"""

from __future__ import annotations

import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

MAX_KEPT_LINES = 16
"""Lines of what ssh and the far shell said that are kept."""
MAX_LINE_BYTES = 4096
MAX_STDERR_BYTES = 64 * 1024
"""Of what ssh and the far shell say, so much is handed on; the rest is read and dropped."""
END_TIMEOUT_S = 2.0
"""For an ssh whose connection we gave up, before it is killed."""


class SshProcess:
    """See the module.

    Args:
        command: What is run.
        own_session: Without the terminal: ctrl+c in it does not reach ssh, and ssh cannot ask on it.
        says: Is told each line of its stderr as it comes, uncleaned, from a thread; up to `MAX_STDERR_BYTES`.

    Raises:
        OSError: it cannot be run.
    """

    def __init__(self, command: Sequence[str], *, own_session: bool, says: Callable[[str], None] | None = None) -> None:
        self.sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._says = says
        self._said: deque[str] = deque(maxlen=MAX_KEPT_LINES)
        try:
            with theirs:
                end = theirs.fileno()
                self._child = subprocess.Popen(  # noqa: S603 - the user's own ssh
                    command, stdin=end, stdout=end, stderr=subprocess.PIPE, start_new_session=own_session
                )
        except OSError:
            self.sock.close()
            raise
        self._listener = threading.Thread(target=self._listen, name="ssh-stderr", daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        return self._child.pid

    def wait_for_exit(self, timeout: float) -> int | None:
        """Its exit code, once it has ended; None if it has not in time."""
        try:
            code = self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        self._listener.join(
            END_TIMEOUT_S
        )  # a ControlMaster that stays behind holds stderr open: then what came so far counts
        return code

    def stderr_tail(self) -> str:
        """The last line that ssh or the far shell said, as it came: it goes through the sanitiser where it is shown.

        ssh's own words come last, except for what it says of the end of a connection that had been there, or of one
        over a jump host, which has said why it ended before.
        """
        lines = [line for line in self._said if line and not line.startswith("Connection to ")]
        causes = [line for line in lines if "UNKNOWN port" not in line and not line.startswith("kex_exchange_")]
        return (causes or lines)[-1][:300] if lines else ""

    def terminate(self) -> None:
        """Hang up, wait for it, kill it if it stays."""
        self.sock.close()
        try:
            self._child.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                self._child.kill()
            self._child.wait()

    def _listen(self) -> None:
        assert self._child.stderr is not None
        left = MAX_STDERR_BYTES
        with self._child.stderr as stderr:
            while line := stderr.readline(MAX_LINE_BYTES):
                text = line.decode(errors="replace").strip()
                self._said.append(text)
                if self._says is None or not text or left <= 0:
                    continue
                left -= len(line)
                self._says(
                    text if left > 0 else f"the far side has said {MAX_STDERR_BYTES} bytes; the rest is not shown"
                )
