"""The server of `forking`: it has imported what the program imports, and forks a process for each request.

It is this file run as a script. It listens on a Unix socket, and ends when the last worker of pytest has gone. A
request is three standard descriptors and a socket, over which it reads what is asked for, and the server tells the
process id and the status. A program in a terminal gets a session of its own and that terminal as its controlling one.
The server of lives (`tests.data.lives`) is forked as well: it has the same imports.

At its end a program waits for its threads, calls what is to be called at exit, and takes its own modules apart, as each
interpreter does. It leaves alone what the server imported (`_leave_what_was_loaded`).
"""

# ruff: noqa: F401 - imported for the processes that are forked

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import termios
import threading
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.console.forking import AS_LIVES, IN_TERMINAL

STANDARD = (0, 1, 2)

_loaded: list[Any] = []
"""The modules that the server has imported. The list is in itself, so that it is not freed before the process ends."""


def _keep_what_is_loaded() -> None:
    _loaded[:] = [_loaded, sys.modules.copy()]
    for name in ("__main__", "sys", "builtins"):
        del _loaded[1][name]
    gc.freeze()


def _leave_what_was_loaded() -> None:
    """Let the interpreter not find what the server imported. To free that object by object, a forked process would copy
    all of its pages: it took more than half of what a short verb takes.
    """
    for name in _loaded[1]:
        sys.modules.pop(name, None)


def _load() -> None:
    """Import what the verbs import, but for the modules of `console`."""
    import click.shell_completion
    import httpx
    import rich.progress
    import rich.syntax

    import orbiter.swarm
    import runtime.judgement.faults.rules.builtin
    import runtime.record.sqlite.journal
    import runtime.service.serve
    import screens.render.confusables
    import screens.render.formatting
    import screens.shell.external_editor
    import screens.shell.file_input
    import themes.catalog
    from tests.data import lives

    lives.build()


@cache
def _load_screens() -> None:
    """Import what a console imports beside that, with what Textual reads from the environment on import."""
    from console.open import TEXTUAL_SETTINGS

    os.environ.update(TEXTUAL_SETTINGS)
    for name in [name for name in sys.modules if name.partition(".")[0] == "console"]:
        del sys.modules[name]
    import textual.drivers.linux_driver

    import runtime.service.embedded
    import screens

    for module in pkgutil.walk_packages(screens.__path__, "screens."):
        importlib.import_module(module.name)
    from tests.data import lives

    lives.build()


class _Server:
    """Forks a program for each request, and tells its process id and its status."""

    def __init__(self, listening: socket.socket, path: Path) -> None:
        self._listening = listening
        self._path = path
        self._workers: set[socket.socket] = set()
        self._programs: dict[int, socket.socket] = {}
        """By process id, where to tell the status."""
        self._ended, self._end = os.pipe()

    def serve(self) -> dict[str, Any]:
        """Serve until the last worker has gone. Returns in each process that is to be the program, with its request."""
        self._listening.setblocking(False)
        os.set_blocking(self._ended, False)
        os.set_blocking(self._end, False)
        signal.set_wakeup_fd(self._end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            looked_at: list[socket.socket | int] = [self._listening, self._ended, *self._workers]
            ready, _, _ = select.select(looked_at, [], [])
            had = bool(self._workers)
            for worker in self._workers.intersection(ready):
                kind, descriptors, _, _ = socket.recv_fds(worker, 1, 4)
                if not descriptors:
                    self._workers.remove(worker)
                    worker.close()
                elif (request := self._fork(kind, descriptors)) is not None:
                    return request
            if had and not self._workers:
                self._path.unlink(missing_ok=True)  # who comes from here on begins another server
            self._accept()
            if had and not self._workers:
                os._exit(0)
            self._reap()

    def _accept(self) -> None:
        with suppress(BlockingIOError):
            while True:
                self._workers.add(self._listening.accept()[0])

    def _fork(self, kind: bytes, descriptors: list[int]) -> dict[str, Any] | None:
        """The request, in the program."""
        if kind == IN_TERMINAL:
            _load_screens()
            _keep_what_is_loaded()
        *standard, last = descriptors
        answers = socket.socket(fileno=last)
        pid = os.fork()
        if pid == 0:
            self._let_go()
            return _begin(standard, answers)
        for descriptor in standard:
            os.close(descriptor)
        self._programs[pid] = answers
        _tell(answers, pid=pid)
        return None

    def _let_go(self) -> None:
        """The program has nothing of the server."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(self._ended)
        os.close(self._end)
        for each in (self._listening, *self._workers, *self._programs.values()):
            each.close()

    def _reap(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._ended, 4096)
        while self._programs:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            with self._programs.pop(pid) as answers:
                _tell(answers, status=os.waitstatus_to_exitcode(status))


def _tell(answers: socket.socket, **told: int) -> None:
    with suppress(BrokenPipeError):  # who asked has ended
        answers.sendall(json.dumps(told).encode() + b"\n")


def _begin(standard: list[int], answers: socket.socket) -> dict[str, Any]:
    """In the program: read what is asked for, and take its descriptors."""
    with answers, answers.makefile("rb") as lines:
        request: dict[str, Any] = json.loads(lines.readline())
    for number, descriptor in zip(STANDARD, standard, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if request["kind"] == IN_TERMINAL.decode():
        _take_terminal()
    return request


def _take_terminal() -> None:
    """As a new interpreter would find itself at a terminal: its session, its streams, its warnings."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", 1, encoding="utf-8", closefd=False)  # type: ignore[misc]  # noqa: SIM115
    sys.stderr = sys.__stderr__ = open(  # type: ignore[misc]  # noqa: SIM115
        2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False
    )
    _warn_as_usual()


def _warn_as_usual() -> None:
    warnings.resetwarnings()
    for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", category)


def _become(request: Mapping[str, Any]) -> None:
    """Go on as the program: as its console script does."""
    program = str(Path(sys.executable).with_name("orbiter-console"))
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = [program, *request["arguments"]]
    sys.orig_argv[:] = [sys.executable, *sys.argv]
    if request["kind"] == AS_LIVES.decode():
        _become_lives()
    from console.cli import main

    sys.exit(main())  # type: ignore[func-returns-value]  # as the script that pip writes


def _become_lives() -> None:
    """Go on as `python tests/data/lives.py`."""
    os.setsid()
    _warn_as_usual()
    from tests.data import lives

    lives.main()
    sys.exit()


if __name__ == "__main__":
    if "coverage" not in sys.modules:  # which writes what it found when the process ends
        atexit.register(_leave_what_was_loaded)  # the first that is registered is called last
    _load()
    assert threading.active_count() == 1, "a process with threads cannot be forked"
    _keep_what_is_loaded()
    _become(_Server(socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2])).serve())
