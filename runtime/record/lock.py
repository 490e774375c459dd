"""One driving process per workspace: a lock file in the state directory that says who holds it.

`flock`, not `fcntl` record locks: those are dropped when the process closes *any* descriptor of the file. The kernel
gives the lock back when its holder dies, however it dies; the file itself stays, for removing it would race.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from runtime.record.journal import JournalError

NAME = "runtime.lock"
RUN = "orbiter-console run"
"""The program of a holder that serves nobody: a `run` that drives by itself, in its terminal."""
_WAY_OUT = "attach to it, or stop it (orbiter-console stop)"
_PATIENCE_S = 0.2
"""How long a holder that is just letting go, or just a reader of `holder`, is waited for."""


@dataclass(slots=True, frozen=True)
class Holder:
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
        way_out = "end it in its terminal, with ctrl+c" if holder.program == RUN else _WAY_OUT
        super().__init__(f"{path.parent} is in use by {holder}: {way_out}")
        self.holder = holder


class Lock:
    """A held lock. Released by `release`, by leaving its ``with``, or by the end of the process."""

    def __init__(self, path: Path, descriptor: int, holder: Holder) -> None:
        self.path = path
        self.holder = holder
        self._descriptor = descriptor

    @property
    def displaced(self) -> bool:
        """Whether its file is not at its path any more: another process may take a lock there."""
        return not _is_at(self._descriptor, self.path)

    def take_again(self) -> None:
        """Take the lock anew at its path, where its file was removed or replaced; the directory is made if need be, but
        none above it. Raises as `acquire`.
        """
        if not self.path.parent.parent.is_dir():
            raise JournalError(f"cannot make the lock {self.path}: {self.path.parent.parent} is not there")
        again = acquire(self.path.parent, program=self.holder.program)
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.release()


def acquire(state_dir: str | Path, *, program: str = "orbiter-console") -> Lock:
    """Take the workspace's lock.

    Raises:
        Locked: another process (or another lock object of this one) holds it.
        JournalError: the lock file cannot be made or written.
    """
    path = Path(state_dir) / NAME
    mine = Holder(os.getpid(), socket.gethostname(), datetime.now(UTC).isoformat(timespec="seconds"), program)
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
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(asdict(mine)).encode(), 0)
    except OSError as exc:
        os.close(descriptor)
        raise JournalError(f"cannot take the lock {path}: {exc.strerror or exc}") from exc
    except BaseException:
        os.close(descriptor)
        raise
    return True


def holder(state_dir: str | Path) -> Holder | None:
    """Who holds the workspace's lock now; None if nobody does."""
    path = Path(state_dir) / NAME
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
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            if time.monotonic() >= until:
                raise Locked(path, _read(descriptor)) from exc
            time.sleep(0.01)
        else:
            return


def _read(descriptor: int) -> Holder:
    try:
        value = json.loads(os.pread(descriptor, 4096, 0))
        return Holder(int(value["pid"]), str(value["host"]), str(value["since"]), str(value["program"]))
    except (ValueError, KeyError, TypeError):
        return Holder()  # it has the lock but has not yet written who it is
