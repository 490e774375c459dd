"""A finding of `doctor`, and how checks are run with a limit."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from queue import Empty, Queue
from threading import Thread
from typing import Final, Literal, NamedTuple

from console.workspace import Workspace

CHECK_TIMEOUT_S: Final = 20.0
"""Seconds for one check. Longer waits are for a network file system or a program that hangs, not for work."""

FindingState = Literal["ok", "warn", "fail"]


class Finding(NamedTuple):
    """What was looked at, how it is, what was found, and what to do about it (empty: nothing)."""

    id: str
    state: FindingState
    detail: str
    advice: str = ""


class CheckContext(NamedTuple):
    """What a check may look at."""

    environment: Mapping[str, str]
    place: Workspace


Check = Callable[[CheckContext], Iterable[Finding]]


class TimedChecks:
    """Runs checks one after the other, each for a limited time. `left` are those that still run: a process with
    such a check cannot end by itself, for a call that the kernel does not return from cannot be taken back.
    """

    def __init__(self, world: CheckContext) -> None:
        self._world = world
        self.left: list[str] = []

    def findings(self, name: str, check: Check, timeout_s: float = CHECK_TIMEOUT_S) -> Iterator[Finding]:
        """What a check finds, as it finds it; that it found no end, or failed itself, where that is so."""
        found: Queue[Finding | None] = Queue()
        Thread(target=self._work, args=(name, check, found), daemon=True).start()
        while True:
            try:
                each = found.get(timeout=timeout_s)
            except Empty:
                self.left.append(name)
                advice = "see whether the disk, or the program that this check asks, answers; then run doctor again"
                yield Finding(name, "fail", f"nothing came back within {timeout_s:g} s", advice)
                return
            if each is None:
                return
            yield each

    def _work(self, name: str, check: Check, found: Queue[Finding | None]) -> None:
        try:
            for each in check(self._world):
                found.put(each)
        except Exception as exc:
            found.put(Finding(name, "fail", f"could not be looked at: {type(exc).__name__}: {exc}"))
        finally:
            found.put(None)


def program_output(*command: str, seconds: float = 5.0) -> str | None:
    """What a program says when asked, on either stream, stripped; None if it is not there or does not answer."""
    try:
        done = subprocess.run(  # noqa: S603 - a program by name, with arguments of ours
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None
