"""The way to a runtime on another machine: the user's own OpenSSH, which runs `dial-stdio` there.

Authentication and encryption are ssh's; nothing of ours listens on a network. Rules that a prototype paid for
(`facts/remote.md` section 2): hosts that begin with `-` are refused; ssh gets a session of its own on reconnects, so
that ctrl+c in the console's terminal does not reach it; the child is awaited before it is killed.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from runtime.link.dial_stdio import NO_RUNTIME
from runtime.link.transport import READ_BYTES, Streams, Unreachable

OPTIONS = (
    "-T",
    "-e", "none",
    "-o", "ServerAliveInterval=5",
    "-o", "ServerAliveCountMax=3",
    "-o", "ConnectTimeout=15",
)  # fmt: skip
REMOTE = "orbiter-console"
END_S = 2.0
"""For an ssh whose connection we gave up, before it is killed."""

_HOST = re.compile(
    r"(?:(?P<user>[^@:/\s]+)@)?(?P<host>\[[0-9A-Fa-f:.%\w]+\]|[^@:/\s\[\]]+)(?::(?P<path>.*))?", re.DOTALL
)


class BadHost(ValueError):
    """What was given as a host is none."""


@dataclass(slots=True, frozen=True)
class Host:
    """``[user@]host[:path]``. `path` is the workspace on that machine; empty: the directory in which a login begins."""

    host: str
    user: str = ""
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> Host:
        """Read a host as it is typed.

        Raises:
            BadHost: it is none, or would be taken for an option by ssh.
        """
        found = _HOST.fullmatch(text)
        if found is None or any(not char.isprintable() for char in text):
            raise BadHost(f"{text!r:.200} is no host: write [user@]host[:path]")
        host, user, path = found["host"].strip("[]"), found["user"] or "", found["path"] or ""
        for part in (host, user):
            if part.startswith("-"):
                raise BadHost(f"{text!r:.200}: neither a host nor a user begins with '-'")
        return cls(host, user, path)

    def __str__(self) -> str:
        return f"{self.user}@{self.host}" if self.user else self.host


class SshTransport:
    """The runtime of a workspace on `host`.

    Args:
        host: Where, and in which directory.
        remote: The program there, if it is not in the PATH of a shell that is no login shell; words are kept apart.
        ssh: The ssh program here, with options of the user's.
        viewer: Dial the socket that can only look.
        interactive: Let ssh ask on the terminal for the first connection; call `connect` before Textual takes it.
    """

    def __init__(
        self,
        host: Host,
        *,
        remote: str = REMOTE,
        ssh: Sequence[str] = ("ssh",),
        viewer: bool = False,
        interactive: bool = True,
    ) -> None:
        self.where = f"{host}:{host.path}" if host.path else str(host)
        self.asks = interactive
        """Whether the next connection may ask on the terminal: the app has to be suspended for it."""
        self._host = host
        self._remote = remote
        self._ssh = tuple(ssh)
        self._viewer = viewer
        self._start = False
        self._process: asyncio.subprocess.Process | None = None
        self._stderr: asyncio.Task[str] | None = None

    def command(self) -> list[str]:
        """What is run here."""
        batch = ("-o", "BatchMode=no") if self.asks else ("-o", "BatchMode=yes")
        user = ("-l", self._host.user) if self._host.user else ()
        return [*self._ssh, *OPTIONS, *batch, *user, "--", self._host.host, self.remote_command()]

    def remote_command(self) -> str:
        """What is run there, for the login shell, whatever it is."""
        words = [*shlex.split(self._remote), "dial-stdio"]
        words += ["--viewer"] if self._viewer else []
        words += ["--start"] if self._start else []
        command = f"exec {shlex.join(words)}"
        path = self._host.path
        if not path:
            return command
        # a tilde is the far shell's to expand; all else is quoted
        head, slash, rest = path.partition("/")
        where = head + slash + (shlex.quote(rest) if rest else "") if re.fullmatch(r"~\w*", head) else shlex.quote(path)
        if not where.startswith("~") and path.startswith("-"):
            where = f"./{where}"
        return f"cd {where} && {command}"

    async def connect(self) -> Streams:
        await self._reap()
        own_session = not self.asks  # without its terminal it could not ask
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.command(),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=own_session,
                limit=READ_BYTES,
            )
        except OSError as exc:
            raise Unreachable(f"cannot run {self._ssh[0]}: {exc.strerror or exc}", gone=True) from exc
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._stderr = asyncio.create_task(_last_words(process.stderr))
        return process.stdout, process.stdin

    async def explain(self) -> Unreachable | None:
        """Why the connection that was given last ended without a hello; None if nothing is known of it."""
        process, stderr = self._process, self._stderr
        if process is None or stderr is None:
            return None
        try:
            async with asyncio.timeout(END_S):
                code, said = await process.wait(), await asyncio.shield(stderr)
        except TimeoutError:
            return None
        if code == 0:
            return None
        reason, gone, login = _meaning(code, said, self.where, self._remote)
        if login:
            self.asks = True
        return Unreachable(reason, gone=gone)

    def settled(self) -> None:
        """The runtime spoke: connections that follow ask nothing and start nothing."""
        self.asks = self._start = False

    async def revive(self) -> None:
        """Let the next connection start a runtime over there if there is none. If `asks`, suspend the app around it."""
        self._start = True

    async def close(self) -> None:
        await self._reap()

    async def _reap(self) -> None:
        process, self._process = self._process, None
        stderr, self._stderr = self._stderr, None
        if process is None:
            return
        if process.stdin is not None and not process.stdin.transport.is_closing():
            process.stdin.transport.abort()
        try:
            async with asyncio.timeout(END_S):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if stderr is not None:
            stderr.cancel()
            await asyncio.gather(stderr, return_exceptions=True)


async def _last_words(stderr: asyncio.StreamReader) -> str:
    """The end of what ssh and the far shell say, cleaned by nobody: it goes through the gate where it is shown."""
    kept: deque[bytes] = deque(maxlen=16)
    while data := await stderr.read(4096):
        kept.append(data)
    lines = b"".join(kept).decode(errors="replace").strip().splitlines()
    return lines[-1].strip()[:300] if lines else ""


def _meaning(code: int, said: str, where: str, remote: str) -> tuple[str, bool, bool]:
    """A line for the operator, whether trying again by ourselves is of no use, whether a login is needed."""
    if code == NO_RUNTIME:
        return f"no runtime works on {where}", True, False
    if code == 127:
        lacks = f"{where} has no program {remote!r} in the PATH of a shell that is no login shell"
        return f"{lacks}: set its full path as the remote command", True, False
    if code == 255:
        login = "permission denied" in said.lower() or "host key verification failed" in said.lower()
        words = f"ssh: {said.rstrip('.')}" if said else "ssh failed"
        return (f"{words}. Press r to log in again" if login else words), login, login
    return f"{where}: exit code {code}{f': {said}' if said else ''}", code in {2, 77}, False
