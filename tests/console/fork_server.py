"""The server of `forking`: it has imported what the program imports, and forks a process for each request.

It is this file run as a script. It listens on a Unix socket, and ends when the last worker of pytest has gone. A
request is three standard descriptors and a socket for the answers. The server forks a process that forks the program,
waits for it, and tells its process id and its status. A program in a terminal gets a session of its own and that
terminal as its controlling one. The server of lives (`tests.data.lives`) is forked as well: it has the same imports.

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


def _serve(listening: socket.socket, path: Path) -> dict[str, Any]:
    """Fork for each request, until the last worker has gone. Returns in the process that is to be the program."""
    listening.setblocking(False)
    workers: set[socket.socket] = set()
    while True:
        ready, _, _ = select.select([listening, *workers], [], [])
        had = bool(workers)
        for worker in workers.intersection(ready):
            kind, descriptors, _, _ = socket.recv_fds(worker, 1, 4)
            if not descriptors:
                workers.remove(worker)
                worker.close()
                continue
            if kind == IN_TERMINAL:
                _load_screens()
                _keep_what_is_loaded()
            if os.fork() == 0:
                for each in (listening, *workers):
                    each.close()
                return _supervise(descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
        if had and not workers:
            path.unlink(missing_ok=True)  # who comes from here on begins another server
        _accept(listening, workers)
        if had and not workers:
            os._exit(0)
        with suppress(ChildProcessError):  # there is none
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _accept(listening: socket.socket, workers: set[socket.socket]) -> None:
    with suppress(BlockingIOError):
        while True:
            workers.add(listening.accept()[0])


def _supervise(descriptors: list[int]) -> dict[str, Any]:
    """Fork the program, and tell its process id and its status. Returns in the program."""
    *standard, last = descriptors
    answers = socket.socket(fileno=last)
    with answers.makefile("rb") as lines:
        request: dict[str, Any] = json.loads(lines.readline())
    pid = os.fork()
    if pid == 0:
        answers.close()
        for number, descriptor in zip(STANDARD, standard, strict=True):
            os.dup2(descriptor, number)
            os.close(descriptor)
        if request["kind"] == IN_TERMINAL.decode():
            _take_terminal()
        return request
    for descriptor in standard:
        os.close(descriptor)
    with suppress(BrokenPipeError):  # who asked has ended
        answers.sendall(json.dumps({"pid": pid}).encode() + b"\n")
        _, status = os.waitpid(pid, 0)
        answers.sendall(json.dumps({"status": os.waitstatus_to_exitcode(status)}).encode() + b"\n")
    os._exit(0)


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
    _become(_serve(socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2])))
