"""Starts, asks and stops the background runtime of a workspace (the daemon).

It outlives the console, its terminal and its login: a session of its own, stdin from /dev/null, output to a log file.
The process that starts it waits until it says on a pipe that its sockets are open, or until the pipe closes because it
died; nothing is guessed from time. Standard library only (but for the lock), and only the two messages of the link
(`status`, `stop`) that every later version goes on to understand: one program version must be able to stop another's
runtime.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from runtime.config.environment import find_interpreter
from runtime.daemon import sockets
from runtime.daemon.errors import DaemonError
from runtime.daemon.line_client import LineClient
from runtime.daemon.log_file import log_path, open_log, rotate_log

if TYPE_CHECKING:
    from runtime.operations.requests.reports import RuntimeStatus

START_TIMEOUT_S = 30.0
REPLY_TIMEOUT_S = 10.0


class RunningRuntime(Struct, frozen=True):
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
    from runtime.daemon.launch import launch, start_failure  # only here: most verbs start none

    root = Path(workspace) if workspace is not None else state.parent
    interpreter = find_interpreter(root, python)
    arguments = ["--state", str(state), "--workspace", str(root)]
    if env_file is not None:
        arguments += ["--env-file", str(env_file)]
    if settings:
        arguments += ["--settings", json.dumps(dict(settings))]
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
        said = launch(interpreter, arguments, root, output, until)
    finally:
        os.close(output)
    if said is not None:
        return RunningRuntime(int(said["pid"]), str(said.get("program", "")), started=True)
    # It died, or it is late. If another process started a runtime meanwhile, that one is as good.
    found = _runtime_of_another(state, until)
    if found is not None:
        return found
    raise DaemonError(
        start_failure(log, begin, f"no runtime came up within {timeout:g} s" if time.monotonic() >= until else "")
    )


def _runtime_of_another(state: Path, until: float) -> RunningRuntime | None:
    """The runtime that another process has started, or is just starting; None if none holds the workspace."""
    from runtime.record import workspace_lock  # see `_wait_until_gone`

    while (found := running_runtime(state)) is None and time.monotonic() < until:
        held = workspace_lock.holder(state)
        if held is None or held.program == workspace_lock.RUN_PROGRAM:
            return None
        time.sleep(0.05)
    return found


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


def status(state_dir: str | Path) -> RuntimeStatus | None:
    """What the runtime says of itself; None if there is none.

    Raises:
        DaemonError: something is there and does not answer, or not in words that can be read.
        SocketError: its socket must not be trusted.
    """
    try:
        reply = _request(state_dir, "status")
    except sockets.RuntimeNotRunning:
        return None
    from runtime.operations.requests.codec import InvalidField, decode_struct
    from runtime.operations.requests.reports import RuntimeStatus

    try:
        return decode_struct(RuntimeStatus, reply.get("result") or {})
    except InvalidField as exc:
        raise DaemonError(f"what the runtime says of itself cannot be read: {exc}") from exc


def stop(state_dir: str | Path, *, timeout: float = START_TIMEOUT_S) -> bool:
    """Let the runtime end: it lets go of its runs, each is found as it was. Returns once it is gone; False if none was.

    One that lets go already, and answers no console any more, is waited for.

    Raises:
        DaemonError: it does not answer, refuses, or is not gone in time.
    """
    try:
        sock = sockets.dial(state_dir)
    except sockets.RuntimeNotRunning:
        return _wait_until_gone(Path(state_dir), timeout)
    with sock:
        conversation = LineClient(sock, timeout)
        reply = conversation.request("stop")
        if not reply.get("ok"):
            raise DaemonError(f"the runtime does not stop: {reply.get('message') or reply.get('error')}")
        if not conversation.wait_for_hangup():
            raise DaemonError(f"the runtime (pid {conversation.hello.get('pid')}) is not gone after {timeout:g} s")
    return True


def _foreground_run_text(state: Path) -> str:
    """What to say where a `run` drives the workspace in its own terminal without serving consoles; else empty."""
    try:
        written = (state / "runtime.lock").read_bytes()
    except OSError:
        return ""
    if b'"orbiter-console run"' not in written:
        return ""
    from runtime.record import workspace_lock  # see `_wait_until_gone`

    held = workspace_lock.holder(state)
    if held is None or held.program != workspace_lock.RUN_PROGRAM:
        return ""  # it has ended; what it wrote there stays
    return (
        f"{state} is in use by {held}, which drives its runs in its own terminal and serves no console. Meanwhile "
        "orbiter-console runs, show, incidents and answer work; when it has ended (ctrl+c there) the console opens"
    )


def _wait_until_gone(state: Path, timeout: float) -> bool:
    """Wait until no process holds the workspace; False if none did. No socket is served there."""
    from runtime.record import (
        workspace_lock,  # only here: it brings the events along, and the start of a runtime is in a hurry
    )

    held = holder = workspace_lock.holder(state)
    until = time.monotonic() + timeout
    while holder is not None and holder.program != workspace_lock.RUN_PROGRAM and time.monotonic() < until:
        time.sleep(0.05)
        holder = workspace_lock.holder(state)
    if holder is not None:
        raise DaemonError(
            f"{state} is held by {holder}, which serves no console: "
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
        conversation = LineClient(sock, REPLY_TIMEOUT_S)
        return conversation.request(verb) if verb is not None else conversation.hello
