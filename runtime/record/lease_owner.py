"""The owner of a lease: machine, process and an id of its own, and whether it still lives."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from runtime.record.ids import new_id


def owner_name() -> str:
    """A name for a supervisor of this process: machine, process, and a part that no other one has."""
    return f"{socket.gethostname()}:{os.getpid()}:{new_id(6)}"


def has_died(owner: str) -> bool:
    """Whether the owner of a lease was a supervisor on this machine whose process is gone. For the holder of the
    workspace's lock: a process id that is our own is then that of an earlier life (containers give the same id again).
    """
    machine, _, rest = owner.rpartition("#")[0].partition(":")
    number = rest.partition(":")[0]
    if machine != socket.gethostname() or not number.isdecimal():
        return False
    pid = int(number)
    if pid == os.getpid():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended and its exit code was not collected, as happens in many containers. False where
    the system does not say.
    """
    try:
        status = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[:1] == ["Z"]
