"""The lock file of a workspace: one driving process at a time.

`flock`, not `fcntl` record locks: those are dropped when the process closes *any* descriptor of the file. The kernel
gives the lock back when its holder dies, however it dies; the file itself stays, for removing it would race.

A state directory can be removed while it is in use, and the lock file with it. So a holder also locks a file outside of
it, in the home directory, named by the digest of the state directory's path: as long as the holder lives, no other
process of this user takes the lock of a directory that was made again at the same path.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import socket
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct
from msgspec.structs import asdict

from runtime.record.journal import JournalError
from runtime.record.user_directories import shared_state

log = logging.getLogger(__name__)

LOCK_NAME = "runtime.lock"
RUN_PROGRAM = "orbiter-console run"
"""The program of a holder that serves no console: a `run` that drives by itself, in its terminal."""
_ADVICE = "attach to it (orbiter-console), or stop it (orbiter-console stop)"
_LOCK_TIMEOUT_S = 0.2
"""How long a holder that is just letting go, or just a reader of `holder`, is waited for."""


class Holder(Struct, frozen=True):
    """Who holds the lock. `since` is UTC, ISO 8601; all empty where a holder has not yet said."""

    pid: int = 0
    host: str = ""
    since: str = ""
    program: str = ""

    def __str__(self) -> str:
        if not self.pid:
            return "another process"
        return f"{self.program or 'a process'} (pid {self.pid} on {self.host}, since {self.since})"


class Locked(JournalError):
    """Another process drives this workspace; `holder` says which."""

    def __init__(self, path: Path, holder: Holder) -> None:
        way_out = "end it in its terminal, with ctrl+c" if holder.program == RUN_PROGRAM else _ADVICE
        super().__init__(f"{path.parent} is in use by {holder}: {way_out}")
        self.holder = holder


class Lock:
    """A held lock. Released by `release`, by leaving its ``with``, or by the end of the process."""

    def __init__(self, path: Path, descriptor: int, holder: Holder, path_lock: PathLock | None = None) -> None:
        self.path = path
        self.holder = holder
        self._descriptor = descriptor
        self._path_lock = path_lock

    @property
    def displaced(self) -> bool:
        """Whether its file is not at its path any more: another process may take a lock there."""
        return not _is_at(self._descriptor, self.path)

    def take_again(self) -> None:
        """Take the lock again at its path, after its file was removed or replaced.

        A missing directory is made, but not those above it. Raises as `acquire`.
        """
        if not self.path.parent.parent.is_dir():
            raise JournalError(f"cannot make the lock {self.path}: {self.path.parent.parent} is not there")
        again = _acquire_file(self.path, self.holder)
        os.close(self._descriptor)
        self._descriptor, again._descriptor = again._descriptor, -1

    def release(self) -> None:
        """Let go. May be called twice."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            try:
                os.ftruncate(descriptor, 0)
            finally:
                os.close(descriptor)
        if self._path_lock is not None:
            path_lock, self._path_lock = self._path_lock, None
            path_lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.release()


class PathLock:
    """The lock on a state directory's path. `acquire` takes it before the file in the directory.

    Raises:
        BlockingIOError: another lock object holds it.
        OSError: the home directory cannot hold it.
    """

    def __init__(self, state_dir: Path, holder: Holder) -> None:
        self._path = path_lock(state_dir)
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        while True:
            descriptor = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                _flock(descriptor)
                if _is_at(descriptor, self._path):
                    _write(descriptor, holder)
                    break
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # its holder removed it
        self._descriptor = descriptor

    def release(self) -> None:
        """Remove the file, then let go of it."""
        with suppress(OSError):
            self._path.unlink()
        os.close(self._descriptor)


def path_lock(state_dir: str | Path) -> Path:
    """The file outside of the state directory that its holder locks too. Raises `OSError` without a home directory."""
    try:
        places = shared_state() / "locks"
    except RuntimeError as exc:
        raise FileNotFoundError(f"no home directory: {exc}") from exc
    import hashlib  # not to see who holds the lock

    digest = hashlib.sha256(os.fsencode(os.path.realpath(state_dir))).hexdigest()[:32]
    return places / f"{digest}.lock"


def acquire(state_dir: str | Path, *, program: str = "orbiter-console") -> Lock:
    """Take the workspace's lock.

    Raises:
        Locked: another process (or another lock object of this one) holds it.
        JournalError: the lock file cannot be made or written.
    """
    path = Path(state_dir) / LOCK_NAME
    mine = Holder(os.getpid(), socket.gethostname(), datetime.now(UTC).isoformat(timespec="seconds"), program)
    on_path = _acquire_path(path, mine)
    try:
        taken = _acquire_file(path, mine)
    except BaseException:
        if on_path is not None:
            on_path.release()
        raise
    return Lock(path, taken._descriptor, mine, on_path)


def _acquire_path(path: Path, mine: Holder) -> PathLock | None:
    """The lock on the directory's path; None where the home directory cannot hold it."""
    try:
        return PathLock(path.parent, mine)
    except BlockingIOError as exc:
        raise Locked(path, holder(path.parent) or _read_file(path_lock(path.parent))) from exc
    except OSError as exc:
        log.warning("a removal of %s could let in a second runtime: its path cannot be locked: %s", path.parent, exc)
        return None


def _acquire_file(path: Path, mine: Holder) -> Lock:
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as exc:
            raise JournalError(
                f"cannot make the lock {path}: {exc.strerror or exc}; choose another place with --state"
            ) from exc
        if _hold(descriptor, path, mine):
            return Lock(path, descriptor, mine)
        os.close(descriptor)  # its file was removed before we had it: the next one is at the path


def _hold(descriptor: int, path: Path, mine: Holder) -> bool:
    """Take the lock, and write who has it. False where the file that was opened is not at its path any more."""
    try:
        _take(descriptor, path)
        if not _is_at(descriptor, path):
            return False
        _write(descriptor, mine)
    except OSError as exc:
        os.close(descriptor)
        raise JournalError(f"cannot take the lock {path}: {exc.strerror or exc}") from exc
    except BaseException:
        os.close(descriptor)
        raise
    return True


def holder(state_dir: str | Path) -> Holder | None:
    """Who holds the workspace's lock now; None if it is free."""
    path = Path(state_dir) / LOCK_NAME
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise JournalError(f"cannot read the lock {path}: {exc.strerror or exc}") from exc
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(descriptor)
    else:
        return None
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # the path cannot be looked at, which says nothing of the file


def _take(descriptor: int, path: Path) -> None:
    try:
        _flock(descriptor)
    except BlockingIOError as exc:
        raise Locked(path, _read(descriptor)) from exc


def _flock(descriptor: int) -> None:
    """Raises `BlockingIOError` where it is held for longer than a moment."""
    until = time.monotonic() + _LOCK_TIMEOUT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.01)
        else:
            return


def _write(descriptor: int, mine: Holder) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(asdict(mine)).encode(), 0)


def _read_file(path: Path) -> Holder:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return Holder()  # it has just let go
    try:
        return _read(descriptor)
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> Holder:
    try:
        value = json.loads(os.pread(descriptor, 4096, 0))
        return Holder(int(value["pid"]), str(value["host"]), str(value["since"]), str(value["program"]))
    except (ValueError, KeyError, TypeError):
        return Holder()  # it has the lock but has not yet written who it is
