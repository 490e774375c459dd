"""The Unix sockets of a workspace's runtime, one for each role, in a private directory.

`operator.sock` may act, `viewer.sock` may look: the role comes from which one is dialled. The directory is in the
state directory, or, where that path is too long for a socket or its file system knows none, in a place of ours named
by the state directory's digest; who dials looks in all of them, since `$XDG_RUNTIME_DIR` is set in one login and not in
another. Standard library only: `dial-stdio` must start fast.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from runtime.record.state.operator_terms import Role
from runtime.record.user_directories import shared_state

ROLES: tuple[Role, ...] = ("operator", "viewer")

MAX_PATH_BYTES = 107 if sys.platform == "linux" else 103
"""The longest path of a Unix socket, without its end (measured: `facts/remote.md` section 3)."""
DIAL_TIMEOUT_S = 5.0
BACKLOG = 1024
"""Dials that may wait to be accepted; systems cut it to a limit of their own (4096 on Linux, 128 on macOS)."""
DIAL_RETRY_S = 0.02
"""Seconds between two dials of a socket whose backlog is full."""


class SocketError(OSError):
    """The sockets cannot be made or must not be trusted; the message says what to do about it."""


class RuntimeNotRunning(SocketError):
    """No process listens: no runtime works on this workspace."""


class Sockets(Struct):
    """Listening sockets, by role. `close` takes their files and the directory away; the lock is still held then."""

    directory: Path
    by_role: dict[Role, socket.socket]
    files: dict[Role, os.stat_result] = {}

    def close(self) -> None:
        for role, sock in self.by_role.items():
            sock.close()
            path = socket_path(self.directory, role)
            with suppress(FileNotFoundError, NotADirectoryError, KeyError):
                if os.path.samestat(path.lstat(), self.files[role]):  # else it is another runtime's by now
                    path.unlink()
        with suppress(OSError):  # something else is in it
            self.directory.rmdir()


def socket_path(directory: Path, role: Role) -> Path:
    return directory / f"{role}.sock"


def socket_directories(state_dir: str | Path) -> Iterator[Path]:
    """Directories in which the runtime's sockets may be, best first."""
    for place in _directories(Path(os.path.realpath(state_dir))):
        if len(os.fsencode(socket_path(place, "operator"))) <= MAX_PATH_BYTES:
            yield place


def _directories(state: Path) -> Iterator[Path]:
    yield state / "run"
    import hashlib  # the first is almost always the one

    name = hashlib.sha256(os.fsencode(state)).hexdigest()[:16]
    with suppress(RuntimeError):  # an account without a home
        yield shared_state() / "run" / name
    # Behind the home: systemd clears it at the last logout, which a runtime in the background is there to outlive.
    login = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    if login.is_dir():
        yield login / "orbiter" / name
    yield Path("/tmp") / f"orbiter-{os.getuid()}" / name  # noqa: S108 - checked to be ours before use


def listen(state_dir: str | Path) -> Sockets:
    """Bind both sockets in the first place that takes them. The caller holds the workspace's lock.

    Raises:
        SocketError: no place takes them, or one of ours is not ours alone.
    """
    refusals: list[str] = []
    for place in socket_directories(state_dir):
        try:
            make_private_directory(place, Path(os.path.realpath(state_dir)))
            return _bind(place)
        except SocketError:
            raise
        except OSError as exc:  # a file system without sockets, a home that cannot be written, …
            refusals.append(f"{place}: {exc.strerror or exc}")
    raise SocketError(f"no place for the runtime's sockets: {'; '.join(refusals)}. Choose another one with --state")


def dial(state_dir: str | Path, role: Role = "operator") -> socket.socket:
    """A connection to the workspace's runtime.

    Raises:
        RuntimeNotRunning: no process listens.
        SocketError: the socket's directory is not ours alone, or it does not answer, or another user's process does.
    """
    for place in socket_directories(state_dir):
        path = socket_path(place, role)
        if not os.path.lexists(path):
            continue
        check_private_directory(place)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(DIAL_TIMEOUT_S)
        try:
            _connect(sock, path)
        except (ConnectionRefusedError, FileNotFoundError):
            sock.close()
            continue
        except BlockingIOError as exc:
            sock.close()
            raise SocketError(
                f"{path}: too many connect at once: the runtime did not answer within {DIAL_TIMEOUT_S:g} s; try again"
            ) from exc
        except OSError as exc:
            sock.close()
            raise SocketError(f"{path} does not answer: {exc.strerror or exc}") from exc
        if (uid := peer_uid(sock)) != os.getuid():
            sock.close()
            raise SocketError(f"{path} is served by another user (uid {uid}): do not trust it")
        sock.settimeout(None)
        return sock
    raise RuntimeNotRunning(errno.ECONNREFUSED, f"no runtime works on {os.path.realpath(state_dir)}")


def _connect(sock: socket.socket, path: Path) -> None:
    """Connect. While the backlog is full (EAGAIN on Linux), try again until `DIAL_TIMEOUT_S` have passed."""
    until = time.monotonic() + DIAL_TIMEOUT_S
    while True:
        try:
            sock.connect(os.fspath(path))
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
            time.sleep(DIAL_RETRY_S)
        else:
            return


def peer_uid(sock: socket.socket) -> int:
    """Whose process is at the other end of a Unix socket.

    Where the system cannot tell, our own: only we can enter the socket's directory.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return os.getuid()
    _pid, uid, _gid = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return int(uid)


def make_private_directory(directory: Path, state: Path) -> None:
    """Make `directory` with mode 0700, and those above it that are ours, and check it. `state` may be as it is.

    Raises:
        SocketError: it is there and is not ours alone.
    """
    if directory.parent == state:
        state.mkdir(parents=True, exist_ok=True, mode=0o700)
    else:
        directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        check_private_directory(directory.parent)
    with suppress(FileExistsError):
        directory.mkdir(mode=0o700)
    check_private_directory(directory)


def check_private_directory(directory: Path) -> None:
    """Raise `SocketError` unless `directory` is a real directory of ours that no other user can enter."""
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode):
        kind = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a directory"
        raise SocketError(f"{directory} is {kind}: remove it, the runtime's sockets need a directory of their own")
    if found.st_uid != os.getuid():
        raise SocketError(f"{directory} belongs to uid {found.st_uid}, not to you: nothing in it can be trusted")
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise SocketError(
            f"{directory} is open to others (mode {mode:04o}): find out who opened it, then: chmod 700 {directory}"
        )


def _bind(directory: Path) -> Sockets:
    sockets = Sockets(directory, {})
    try:
        for role in ROLES:
            sockets.by_role[role] = _bind_one(socket_path(directory, role))
            sockets.files[role] = socket_path(directory, role).lstat()
    except BaseException:
        sockets.close()
        raise
    return sockets


def _bind_one(path: Path) -> socket.socket:
    if os.path.lexists(path):
        _remove_stale(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(os.fspath(path))
        path.chmod(0o600)
        sock.listen(BACKLOG)
    except BaseException:
        sock.close()
        raise
    return sock


def _remove_stale(path: Path) -> None:
    """Take away the socket file of a runtime that died; `connect` tells it from a live one's."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(DIAL_TIMEOUT_S)
        try:
            probe.connect(os.fspath(path))
        except FileNotFoundError:
            return
        except BlockingIOError:
            pass  # its backlog is full: it listens
        except OSError as exc:
            if exc.errno not in {errno.ECONNREFUSED, errno.ENOTSOCK, errno.EPROTOTYPE}:
                raise SocketError(f"{path} does not answer: {exc.strerror or exc}") from exc
            path.unlink(missing_ok=True)
            return
    advice = "attach to it (orbiter-console), or stop it (orbiter-console stop)"
    raise SocketError(f"another runtime listens on {path}: {advice}")
