"""A byte pump between stdin, stdout and the workspace's runtime: what `ssh host orbiter-console dial-stdio` runs.

It looks at nothing that it carries. Standard library only, and little of it: a console waits for this start on every
connection (`facts/remote.md` section 2: 0.12 s, against 0.76 s with Textual and pydantic).
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from pathlib import Path

from runtime.daemon import sockets
from runtime.record.state.operator_terms import Role

EXIT_NO_RUNTIME = 69
"""EX_UNAVAILABLE: no runtime answers here."""
EXIT_REFUSED = 77
"""EX_NOPERM: the sockets must not be trusted."""
CHUNK_BYTES = 64 * 1024


def dial_stdio(state_dir: Path, *, role: Role = "operator", name: str = "", start_in: Path | None = None) -> int:
    """Pump until either side ends; the exit code. Reasons for not connecting go to stderr.

    Args:
        state_dir: The workspace's state directory.
        role: `viewer` can do nothing but look.
        name: Who is at the far end, for the audit: said before anything that comes from there.
        start_in: Start a runtime in this workspace if there is none, with what its `orbiter.toml` says: on this side,
            for a connection brings no keys along.
    """
    try:
        sock = _dial(state_dir, role, start_in)
    except sockets.RuntimeNotRunning as exc:
        _print_error(str(exc.strerror))
        return EXIT_NO_RUNTIME
    except (OSError, ValueError) as exc:  # sockets not to be trusted, a runtime that does not come up, bad settings
        _print_error(str(exc))
        return EXIT_REFUSED
    with sock:
        if name:
            shown = name.encode(errors="replace").decode()  # an argument need not be UTF-8, a message must
            sock.sendall(json.dumps({"t": "as", "name": shown[:100]}).encode() + b"\n")
        threading.Thread(target=_pump_to_runtime, args=(sock,), daemon=True).start()
        _pump_to_stdout(sock)
    return 0


def _dial(state_dir: Path, role: Role, start_in: Path | None) -> socket.socket:
    try:
        return sockets.dial(state_dir, role)
    except sockets.RuntimeNotRunning:
        if start_in is None:
            raise
    from runtime.daemon.daemon import ensure_runtime

    ensure_runtime(state_dir, workspace=start_in)
    return sockets.dial(state_dir, role)


def _pump_to_runtime(sock: socket.socket) -> None:
    """From stdin to the runtime. The end of stdin is passed on; the runtime then hangs up, and that ends us."""
    try:
        while data := os.read(0, CHUNK_BYTES):
            sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
    except OSError as exc:
        _print_error(str(exc))


def _pump_to_stdout(sock: socket.socket) -> None:
    """From the runtime to stdout."""
    try:
        while data := sock.recv(CHUNK_BYTES):
            while data:
                data = data[os.write(1, data) :]
    except BrokenPipeError:
        return  # the reader has gone
    except OSError as exc:
        _print_error(str(exc))


def _print_error(why: str) -> None:
    """To stderr, which may be a terminal: paths and settings are quoted there, and what is not a printable character is
    escaped.
    """
    shown = "".join(char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in why)
    print(f"orbiter-console: {shown}", file=sys.stderr)
