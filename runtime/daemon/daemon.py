"""Starts, asks and stops the background runtime of a workspace (the daemon).

It outlives the console, its terminal and its login: a session of its own, stdin from /dev/null, output to a log file.
Whoever starts it waits until it says on a pipe that its sockets are open, or until the pipe closes because it died;
nothing is guessed from time. Standard library only (but for the lock), and only the two messages of the link (`status`,
`stop`) that every later version goes on to understand: one program version must be able to stop another's runtime.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import select
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.config.environment import find_interpreter
from runtime.daemon import sockets
from runtime.daemon.log_file import (
    last_lines,
    log_path,
    open_log,
    rotate_log,
)

START_TIMEOUT_S = 30.0
REPLY_TIMEOUT_S = 10.0

_BOOT_CODE = """
import os, sys
if sys.version_info < (3, 11):
    sys.exit("%s is Python %d.%d; orbiter-console needs 3.11 or newer there: name another one in the setting 'python'"
             % (sys.executable, sys.version_info[0], sys.version_info[1]))
if os.fork():
    os._exit(0)
try:
    from runtime.service.serve import main
except ModuleNotFoundError as exc:
    sys.exit("%s cannot run orbiter-console (%s). This helps: %s -m pip install orbiter-console"
             % (sys.executable, exc, sys.executable))
sys.exit(main())
"""


_ERROR_LINE = re.compile(r"[\d-]+ [\d:,]+ ERROR [\w.]+: (.+)")
"""A log of one line: what kept the runtime from coming up, in a sentence."""


class DaemonError(OSError):
    """The runtime cannot be started, asked or stopped. The message has the reason, and the end of its log."""


@dataclass(slots=True, frozen=True)
class RunningRuntime:
    """A runtime that answers. `started`: by this call."""

    pid: int
    program: str
    started: bool = False


def ensure_runtime(
    state_dir: str | Path,
    *,
    workspace: str | Path | None = None,
    python: str = "",
    env_file: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    timeout: float = START_TIMEOUT_S,
) -> RunningRuntime:
    """The workspace's runtime: the one that is there, or a new one in the background.

    Args:
        state_dir: Where journal, lock and log are.
        workspace: The directory in which swarms work; by default the one that holds `state_dir`.
        python: The setting of that name; see `runtime.config.environment.find_interpreter`.
        env_file: Variables for the runtime, keys above all.
        settings: As `runtime.service.serve` takes them, as JSON.
        timeout: Seconds in which it has to say that it is there.

    Raises:
        DaemonError: it did not come up; with the last lines of its log.
        InvalidEnvironment: the interpreter that was chosen is not there.
    """
    state = Path(os.path.abspath(state_dir))  # noqa: PTH100 - `resolve` would follow links, which the user may have meant
    found = running_runtime(state)
    if found is not None:
        return found
    if held := _foreground_run_text(state):
        raise DaemonError(held)
    root = Path(workspace) if workspace is not None else state.parent
    command = [str(find_interpreter(root, python)), "-c", _BOOT_CODE, "--state", str(state), "--workspace", str(root)]
    if env_file is not None:
        command += ["--env-file", str(env_file)]
    if settings:
        command += ["--settings", json.dumps(dict(settings))]
    until = time.monotonic() + timeout
    log = log_path(state)
    try:
        rotate_log(log)
        output = open_log(log)
    except OSError as exc:
        raise DaemonError(
            f"cannot write the log {log}: {exc.strerror or exc}; choose another place with --state"
        ) from exc
    try:
        begin = os.fstat(output).st_size
        said = _launch(command, root, output, until)
    finally:
        os.close(output)
    if said is not None:
        return RunningRuntime(int(said["pid"]), str(said.get("program", "")), started=True)
    # It died, or it is late. If somebody else's runtime came up meanwhile, that one is as good.
    found = running_runtime(state)
    if found is not None:
        return found
    raise DaemonError(
        _start_failure(log, begin, f"no runtime came up within {timeout:g} s" if time.monotonic() >= until else "")
    )


def running_runtime(state_dir: str | Path) -> RunningRuntime | None:
    """The runtime that answers for this workspace; None if none does.

    Raises:
        DaemonError: something is there and does not answer.
        SocketError: its socket must not be trusted.
    """
    try:
        hello = _request(state_dir, None)
    except sockets.RuntimeNotRunning:
        return None
    return RunningRuntime(int(hello.get("pid", 0)), str(hello.get("program", "")))


def status(state_dir: str | Path) -> dict[str, Any] | None:
    """What the runtime says of itself; None if there is none. Raises as `running`."""
    try:
        reply = _request(state_dir, "status")
    except sockets.RuntimeNotRunning:
        return None
    return dict(reply.get("result") or {})


def stop(state_dir: str | Path, *, timeout: float = START_TIMEOUT_S) -> bool:
    """Let the runtime end: it lets go of its runs, each is found as it was. Returns once it is gone; False if none was.

    One that lets go already, and answers nobody any more, is waited for.

    Raises:
        DaemonError: it does not answer, refuses, or is not gone in time.
    """
    try:
        sock = sockets.dial(state_dir)
    except sockets.RuntimeNotRunning:
        return _wait_until_gone(Path(state_dir), timeout)
    with sock:
        conversation = _LineClient(sock, timeout)
        reply = conversation.request("stop")
        if not reply.get("ok"):
            raise DaemonError(f"the runtime does not stop: {reply.get('message') or reply.get('error')}")
        if not conversation.wait_for_hangup():
            raise DaemonError(f"the runtime (pid {conversation.hello.get('pid')}) is not gone after {timeout:g} s")
    return True


def _foreground_run_text(state: Path) -> str:
    """What to say where a `run` drives the workspace in its own terminal, and serves nobody; empty where none does."""
    try:
        written = (state / "runtime.lock").read_bytes()
    except OSError:
        return ""
    if b'"orbiter-console run"' not in written:
        return ""
    from runtime.record import workspace_lock  # see `_gone`

    held = workspace_lock.holder(state)
    if held is None or held.program != workspace_lock.RUN_PROGRAM:
        return ""  # it has ended; what it wrote there stays
    return (
        f"{state} is in use by {held}, which drives its runs in its own terminal and serves no console. Meanwhile "
        "orbiter-console runs, show, incidents and answer work; when it has ended (ctrl+c there) the console opens"
    )


def _wait_until_gone(state: Path, timeout: float) -> bool:
    """Wait until nobody holds the workspace; False if nobody did. Nobody listens there."""
    from runtime.record import (
        workspace_lock,  # only here: it brings the events along, and whoever starts a runtime is in a hurry
    )

    held = holder = workspace_lock.holder(state)
    until = time.monotonic() + timeout
    while holder is not None and holder.program != workspace_lock.RUN_PROGRAM and time.monotonic() < until:
        time.sleep(0.05)
        holder = workspace_lock.holder(state)
    if holder is not None:
        raise DaemonError(
            f"{state} is held by {holder}, which listens to nobody: "
            + (
                "end it in its terminal, with ctrl+c"
                if holder.program == workspace_lock.RUN_PROGRAM
                else f"if it does not end by itself, kill -9 {holder.pid} does; no run is lost by that"
            )
        )
    return held is not None


def _request(state_dir: str | Path, verb: str | None) -> dict[str, Any]:
    """The runtime's hello, or its reply to `verb`."""
    with sockets.dial(state_dir) as sock:
        conversation = _LineClient(sock, REPLY_TIMEOUT_S)
        return conversation.request(verb) if verb is not None else conversation.hello


class _LineClient:
    """Lines of JSON over a socket, blocking, with one deadline for all of it."""

    def __init__(self, sock: socket.socket, timeout: float) -> None:
        self._sock = sock
        self._until = time.monotonic() + timeout
        self._read = b""
        self.hello = self._read_message("hello")

    def request(self, verb: str) -> dict[str, Any]:
        number = secrets.token_hex(12)
        line = json.dumps({"t": "command", "id": number, "verb": verb, "args": {}, "channel": "cli"})
        try:
            self._sock.sendall(line.encode() + b"\n")
        except OSError as exc:
            raise DaemonError(f"the runtime hung up: {exc}") from exc
        reply = self._read_message("reply")
        while reply.get("id") != number:
            reply = self._read_message("reply")
        return reply

    def wait_for_hangup(self) -> bool:
        """Wait for the runtime to hang up. False if it has not in time."""
        while time.monotonic() < self._until:
            try:
                if not self._receive():
                    return True
            except TimeoutError:
                return False
            except OSError:
                return True
        return False

    def _read_message(self, kind: str) -> dict[str, Any]:
        while True:
            while b"\n" in self._read:
                line, self._read = self._read.split(b"\n", 1)
                try:
                    message = json.loads(line)
                except ValueError:
                    continue
                if isinstance(message, dict) and message.get("t") == kind:
                    return message
            try:
                data = self._receive()
            except TimeoutError as exc:
                raise DaemonError("a runtime is there but does not answer") from exc
            except OSError as exc:
                raise DaemonError(f"the runtime hung up: {exc}") from exc
            if not data:
                raise DaemonError("the runtime hung up before it answered")
            self._read += data

    def _receive(self) -> bytes:
        self._sock.settimeout(max(0.001, self._until - time.monotonic()))
        return self._sock.recv(65536)


def _launch(command: list[str], root: Path, output: int, until: float) -> dict[str, Any] | None:
    """Start the runtime with its log on `output`; what it says when it is ready, None if it died or is late."""
    ready, its_end = os.pipe()
    try:
        try:
            # -c must not find the workspace's modules before ours: a swarm's `runtime.py` would be taken for us.
            environment = {**os.environ, "PYTHONSAFEPATH": "1"}
            with subprocess.Popen(  # noqa: S603 - the user's own interpreter
                [*command, "--ready-fd", str(its_end)],
                cwd=root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                pass_fds=(its_end,),
                env=environment,
            ):
                pass  # it forks and ends at once; the runtime is nobody's child
        except OSError as exc:
            raise DaemonError(f"cannot start {command[0]}: {exc.strerror or exc}") from exc
        finally:
            os.close(its_end)
        return _read_ready_line(ready, until)
    finally:
        os.close(ready)


def _read_ready_line(descriptor: int, until: float) -> dict[str, Any] | None:
    read = b""
    while not read.endswith(b"\n"):
        left = until - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            return None
        data = os.read(descriptor, 4096)
        if not data:
            return None
        read += data
    said = json.loads(read)
    return said if isinstance(said, dict) else None


def _start_failure(log: Path, begin: int, reason: str) -> str:
    fresh = log.exists() and log.stat().st_size > begin
    end = last_lines(log, since=begin) if fresh else ""
    words = [reason or "the runtime ended before it was ready"]
    said = _ERROR_LINE.fullmatch(end)
    if said is not None and not reason:
        words = [f"no runtime can work here: {said[1]}"]
    elif end:
        words.append(f"its log ({log}) ends with:\n{end}")
    else:
        words.append(f"it wrote nothing to its log ({log})")
    return ": ".join(words)
