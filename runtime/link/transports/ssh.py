"""The way to a runtime on another machine: the user's own OpenSSH, which runs `dial-stdio` there.

Authentication and encryption are ssh's; nothing of ours listens on a network. Rules that a prototype paid for
(`facts/remote.md` section 2): hosts that begin with `-` are refused; whatever ssh has to ask, it asks before the app
takes the terminal, or while the app is suspended (`login`, `revive`); every other connection is made in batch mode and
in a session of its own, so that ctrl+c in the console's terminal does not reach it.
"""

from __future__ import annotations

import asyncio
import re
import select
import shlex
import threading
from collections.abc import Callable, Sequence

from runtime.link.transports.dial_stdio import EXIT_NO_RUNTIME, EXIT_REFUSED
from runtime.link.transports.handshake import MAX_NOISE_BYTES, hello_in_line
from runtime.link.transports.ssh_host import SshHost
from runtime.link.transports.ssh_process import END_TIMEOUT_S, SshProcess
from runtime.link.transports.transport import CONNECT_TIMEOUT_S, Streams, Unreachable
from runtime.link.wire.framing import READ_BYTES, FramingError, LineReader

SSH_OPTIONS = (
    "-T", "-a", "-x",
    "-e", "none",
    "-o", "Compression=yes",
    "-o", "ClearAllForwardings=yes",
    "-o", "PermitLocalCommand=no",
    "-o", "RemoteCommand=none",
    "-o", "ServerAliveInterval=5",
    "-o", "ServerAliveCountMax=3",
    "-o", "ConnectTimeout=15",
)  # fmt: skip
"""A pipe and nothing else: no terminal, no agent, no forwarding, whatever the user's configuration says of the host.
Compressed, which costs next to nothing and leaves a third of the bytes (`facts/remote.md` section 2)."""
REMOTE_PROGRAM = "orbiter-console"
SSH_RETRY_DELAYS_S = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
"""Each attempt is a whole ssh: longer than what a socket of this machine is asked again after."""
START_TIMEOUT_S = 120.0
"""For the first message of a runtime that is started over there first."""
LOGIN_ADVICE = "a login is needed"


class SshTransport:
    """The runtime of a workspace on `host`.

    Args:
        host: Where, and in which directory.
        remote: The program there, if it is not in the PATH of a shell that is not a login shell; words are kept apart.
        ssh: The ssh program here, with options of the user's, which win over ours.
        viewer: Dial the socket that can only look.
        says: Is told each line that ssh says during a login, uncleaned, from a thread.
    """

    backoff: Sequence[float] = SSH_RETRY_DELAYS_S

    def __init__(
        self,
        host: SshHost,
        *,
        remote: str = REMOTE_PROGRAM,
        ssh: Sequence[str] = ("ssh",),
        viewer: bool = False,
        says: Callable[[str], None] | None = None,
    ) -> None:
        self.where = f"{host}:{host.path}" if host.path else str(host)
        self._login_reason = ""
        """Why a login is needed; empty: it is not, as far as is known."""
        self._host = host
        self._remote = remote
        self._ssh = tuple(ssh)
        self._viewer = viewer
        self._says = says
        self._start = False
        self._process: SshProcess | None = None
        self._ready: tuple[SshProcess, bytes] | None = None
        self._busy = threading.Lock()
        self._closed = False

    @property
    def needs_login(self) -> bool:
        """Whether a login is needed: no connection is tried before `login`."""
        return bool(self._login_reason)

    @property
    def hello_timeout_s(self) -> float:
        return START_TIMEOUT_S if self._start else CONNECT_TIMEOUT_S

    def command(self, *, batch: bool = True) -> list[str]:
        """What is run here."""
        asking = ("-o", "BatchMode=yes") if batch else ("-o", "BatchMode=no")
        user = ("-l", self._host.user) if self._host.user else ()
        return [*self._ssh, *SSH_OPTIONS, *asking, *user, "--", self._host.host, self.remote_command()]

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

    def login(self, *, start: bool = False) -> None:
        """Connect while ssh may ask on the terminal, and wait until the runtime speaks. `connect` then hands out this
        connection, on whichever loop. Blocks for as long as the person takes.

        Args:
            start: Start a runtime over there if there is none.

        Raises:
            Unreachable: with the reason, in a line; the terminal was ssh's until then.
        """
        with self._busy:
            self._drop()
            self._start, self._login_reason = start, ""
            process = self._spawn(batch=False)
            try:
                heard, said_hello = _read_until_hello(process, self._still_silent)
            except BaseException:
                process.terminate()
                raise
            if not said_hello:
                printed = heard.decode(errors="replace").strip()
                reason = self._reason(process, printed=printed, asked=True)
                raise reason or Unreachable("the far side hung up before it said a word")
            self._ready = process, heard

    def _still_silent(self) -> None:
        """Whether a person is thinking or the far side is silent cannot be told from here: both may go on."""
        if self._says is not None:
            self._says(f"nothing was heard from {self.where} for {CONNECT_TIMEOUT_S:g} seconds; ctrl+c gives up")

    async def connect(self) -> Streams:
        process, heard = await asyncio.to_thread(self._connected)
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=READ_BYTES, loop=loop)
        if heard:
            reader.feed_data(heard)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        # a copy: the transport closes what it was given, and we hang up on ssh in our own time
        transport, _ = await loop.create_unix_connection(lambda: protocol, sock=process.sock.dup())
        process.sock.close()
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    async def explain(self) -> Unreachable | None:
        """Why the connection that was given last ended without a hello; None if nothing is known of it."""
        process = self._process
        return await asyncio.to_thread(self._reason, process) if process is not None else None

    def hello_received(self) -> None:
        """The runtime spoke: connections that follow ask nothing and start nothing."""
        self._login_reason, self._start = "", False

    async def revive(self) -> None:
        """Let the next connection start a runtime there if none works. Raises `Unreachable` if that needs a login."""
        if self.needs_login:
            raise Unreachable(self._login_reason, gone=True)
        self._start = True

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._busy:
            self._closed = True
            self._drop()

    def _connected(self) -> tuple[SshProcess, bytes]:
        with self._busy:
            if self._ready is not None:
                ready, self._ready = self._ready, None
                return ready
            if self._closed:
                raise Unreachable(f"the link to {self.where} is closed", gone=True)
            if self.needs_login:
                raise Unreachable(self._login_reason, gone=True)
            self._drop()
            return self._spawn(batch=True), b""

    def _spawn(self, *, batch: bool) -> SshProcess:
        command = self.command(batch=batch)
        try:
            # during a login: within the terminal's session, else it could not ask there
            self._process = SshProcess(command, own_session=batch, says=None if batch else self._says)
        except OSError as exc:
            raise Unreachable(f"cannot run {self._ssh[0]}: {exc.strerror or exc}", gone=True) from exc
        return self._process

    def _drop(self) -> None:
        self._ready = None
        process, self._process = self._process, None
        if process is not None:
            process.terminate()

    def _reason(self, process: SshProcess, *, printed: str = "", asked: bool = False) -> Unreachable | None:
        """Why it ended; `printed` is what came over the pipe in place of a hello. `asked`: during a login, of which to
        say that one is needed would not help.
        """
        code = process.wait_for_exit(END_TIMEOUT_S)
        if not code:
            return None
        reason, gone, needs_login = _explain_exit(code, process.stderr_tail(), self.where, self._remote)
        self._login_reason = reason if needs_login else ""
        if asked:
            reason = reason.removesuffix(f": {LOGIN_ADVICE}")
        if printed and code not in _KNOWN_FAILURES:
            reason += f"; it printed: {' / '.join(printed.splitlines())[:300]}"
        return Unreachable(reason, gone=gone, absent=code == EXIT_NO_RUNTIME)


_KNOWN_FAILURES = (EXIT_NO_RUNTIME, EXIT_REFUSED, 127, 255)
"""Exit codes that say all by themselves."""


def _read_until_hello(process: SshProcess, still_silent: Callable[[], None]) -> tuple[bytes, bool]:
    """What came up to the runtime's first message, that one included, or up to the end; whether the message came."""
    heard, lines = bytearray(), LineReader()
    while True:
        if not select.select([process.sock], [], [], CONNECT_TIMEOUT_S)[0]:
            still_silent()
            continue
        data = process.sock.recv(READ_BYTES)
        if not data:
            return bytes(heard), False
        heard += data
        try:
            found = lines.feed(data)
        except FramingError as exc:
            raise Unreachable(f"the far side said no hello: {exc}", gone=True) from exc
        if any(hello_in_line(line) for line in found):
            return bytes(heard), True
        if len(heard) > MAX_NOISE_BYTES:
            raise Unreachable(f"the far side said no hello in {MAX_NOISE_BYTES} bytes", gone=True)


def _explain_exit(code: int, said: str, where: str, remote: str) -> tuple[str, bool, bool]:
    """A line for the operator, whether trying again by ourselves is of no use, whether a login is needed."""
    if code == EXIT_NO_RUNTIME:
        return f"no runtime works on {where}", True, False
    if code == EXIT_REFUSED:
        return f"{where}: {said}", True, False
    if code == 127:
        lacks = f"{where} has no program {remote!r} in the PATH of a shell that is not a login shell"
        return f"{lacks}: give its full path as command of [hosts.NAME] in your own orbiter.toml", True, False
    if code == 255:
        login = any(words in said.lower() for words in _LOGIN_WORDS)
        words = f"ssh: {said.removeprefix('ssh: ').rstrip('.')}" if said else "ssh failed"
        return (f"{words}: {LOGIN_ADVICE}" if login else words), login, login
    return f"{where}: exit code {code}{f': {said}' if said else ''}", True, False


_LOGIN_WORDS = ("permission denied", "host key verification failed", "too many authentication failures")
"""What ssh says, in batch mode, where it would have had to ask a person (OpenSSH 9.2, sshconnect.c, sshconnect2.c)."""
