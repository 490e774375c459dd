"""Whether this process was started from inside a run: by the mark in environments, and by who started whom."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from runtime.worker.run_mark import RUN_MARK

_PROC: Final = Path("/proc")
_MAX_ANCESTORS: Final = 1_000


def is_in_run(environ: Mapping[str, str], drivers: Collection[int]) -> bool:
    """Whether this process belongs to a run, or that cannot be told.

    Args:
        environ: The environment of this process.
        drivers: The ids of processes that drive runs: what descends from one of them was started by a run.
    """
    if RUN_MARK in environ:
        return True
    above = ancestors(os.getpid())
    return above is None or any(each in drivers or has_mark(each) for each in above)


def ancestors(process: int) -> list[int] | None:
    """The ids of those that started a process, the nearest first; None if that cannot be told."""
    parents = _parents()
    if parents is None:
        return None
    found: list[int] = []
    while (parent := parents.get(process)) is not None and len(found) < _MAX_ANCESTORS:
        if parent == 0:
            return found
        found.append(parent)
        process = parent
    return None


def has_mark(process: int) -> bool:
    """Whether a process was started with the mark, as far as its environment may be read."""
    try:
        started_with = (_PROC / str(process) / "environ").read_bytes()
    except OSError:
        return False
    return any(each.startswith(f"{RUN_MARK}=".encode()) for each in started_with.split(b"\0"))


def _parents() -> dict[int, int] | None:
    """The parent of each process that can be seen; None if none can."""
    found = dict(_from_proc() if _PROC.joinpath("self", "stat").exists() else _from_ps())
    return found or None


def _from_proc() -> Iterator[tuple[int, int]]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                said = entry.joinpath("stat").read_bytes()
            except OSError:  # it has ended meanwhile
                continue
            # The name stands in brackets and may hold anything; behind the last one: state, parent.
            yield int(entry.name), int(said.rpartition(b")")[2].split()[1])


def _from_ps() -> Iterator[tuple[int, int]]:
    """Where there is no /proc: macOS, BSD."""
    listed = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=False)  # noqa: S607 - as the system has it
    for line in listed.stdout.splitlines():
        process, _, parent = line.strip().partition(" ")
        if process.isdigit() and parent.strip().isdigit():
            yield int(process), int(parent)
