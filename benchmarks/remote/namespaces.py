"""Network namespaces of a benchmark: removed however it ends, or by the next one if it was killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_NAME = re.compile(r"orbiter-(?:here|there)(?:-(?P<pid>\d+))?")
"""As `own` makes them; those of older versions have no process id."""


def own(end: str) -> str:
    """The name of this process's namespace at one end, `here` or `there`."""
    return f"orbiter-{end}-{os.getpid()}"


def within(name: str) -> list[str]:
    """What to put before a command that shall run in a namespace."""
    return ["ip", "netns", "exec", name]


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def listed() -> list[str]:
    return [line.split()[0] for line in ip("netns", "list").splitlines() if line.strip()]


@contextmanager
def namespace(name: str) -> Iterator[str]:
    """A namespace for the length of a ``with``."""
    try:
        ip("netns", "add", name)
        yield name
    finally:
        if name in listed():
            remove(name)


def remove(name: str) -> None:
    """Remove a namespace, and end what still runs in it."""
    for pid in _pids(name):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    ip("netns", "delete", name)


def remove_leftovers() -> list[str]:
    """Remove the namespaces of benchmarks that are dead; their names."""
    dead = [name for name in listed() if (found := _NAME.fullmatch(name)) and not _in_use(name, found["pid"])]
    for name in dead:
        remove(name)
    return dead


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end the ``with`` as an exception does, so that everything is cleaned up; later ones wait."""

    def end(number: int, _frame: object) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _pids(name: str) -> list[int]:
    return [int(pid) for pid in ip("netns", "pids", name).split()]


def _in_use(name: str, pid: str | None) -> bool:
    if pid is None:
        return bool(_pids(name))
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
