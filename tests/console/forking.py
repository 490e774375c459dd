"""Processes of `orbiter-console`, forked from one that has imported what the program imports.

A verb needs half a second of CPU for its imports alone, a console more than one. Here they are paid once for each
worker of pytest. Each call is a process of its own all the same, with its own directory, environment, arguments and
descriptors; the modules of `console` are imported in it, as in the real program. `PROGRAM` of `tests.console.program`
is the real one.

The server is this file run as a script. It gets its requests over a socket pair: three standard descriptors and a
socket for the answers. It forks a process that forks the program, waits for it, and tells its process id and its
status. A program in a terminal gets a session of its own and that terminal as its controlling one.

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
import subprocess
import sys
import termios
import threading
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

STANDARD = (0, 1, 2)
IN_PIPES, IN_TERMINAL = b"p", b"t"
ANSWER_BYTES = 65536
WARNINGS = "error,ignore::DeprecationWarning:langsmith._internal._beta_decorator"
"""`PYTHONWARNINGS` of what is started: each warning is an error, but for one of a library that Python 3.14 gives."""


class ForkedProgram:
    """A process of the program, with the part of `subprocess.Popen` that tests need.

    Args:
        arguments: Those of the command line.
        standard: Its descriptors 0, 1 and 2. With `terminal`, all are that terminal.
        cwd: Its directory.
        env: Its environment.
        terminal: It leads a session of its own, which this terminal controls.
    """

    def __init__(
        self, arguments: Sequence[str], standard: Sequence[int], *, cwd: Path, env: Mapping[str, str], terminal: bool
    ) -> None:
        self.args = list(arguments)
        self.returncode: int | None = None
        self._answers, its_end = socket.socketpair()
        with its_end:
            _ask(IN_TERMINAL if terminal else IN_PIPES, [*standard, its_end.fileno()])
        request = {"arguments": self.args, "cwd": str(cwd), "env": dict(env), "terminal": terminal}
        self._answers.sendall(json.dumps(request).encode() + b"\n")
        self._heard = b""
        self.pid = int(self._answer(None)["pid"])

    def close(self) -> None:
        """Wait for its end, and close what leads to it."""
        self.wait()
        self._answers.close()

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(timeout=0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self.returncode = int(self._answer(timeout)["status"])
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _answer(self, timeout: float | None) -> dict[str, Any]:
        until = None if timeout is None else time.monotonic() + timeout
        while b"\n" not in self._heard:
            left = None if until is None else max(0.0, until - time.monotonic())
            if not select.select([self._answers], [], [], left)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            data = self._answers.recv(ANSWER_BYTES)
            assert data, "the fork server has ended"
            self._heard += data
        line, _, self._heard = self._heard.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found


class Forked(ForkedProgram):
    """The program with nothing to read, and pipes to write to."""

    def __init__(self, arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> None:
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        standard = (os.open(os.devnull, os.O_RDONLY), out_end, err_end)
        self.stdout = open(out, encoding="utf-8")  # noqa: PTH123, SIM115 - a descriptor; closed by `__exit__`
        self.stderr = open(err, encoding="utf-8")  # noqa: PTH123, SIM115
        try:
            super().__init__(arguments, standard, cwd=cwd, env=env, terminal=False)
        finally:
            for descriptor in standard:
                os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        self.stdout.close()
        self.stderr.close()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        said = ["", ""]

        def read(number: int) -> None:
            said[number] = (self.stdout, self.stderr)[number].read()

        readers = [threading.Thread(target=read, args=(number,)) for number in range(2)]
        for reader in readers:
            reader.start()
        try:
            self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()  # so that the readers come to an end
            raise
        finally:
            for reader in readers:
                reader.join()
        return said[0], said[1]


_asking = threading.Lock()


def _ask(kind: bytes, descriptors: list[int]) -> None:
    with _asking:
        socket.send_fds(_server(), [kind], descriptors)


@cache
def _server() -> socket.socket:
    """The server of this process. It ends when this socket is closed, which is when this process ends."""
    ours, theirs = socket.socketpair()
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", __file__, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # as in the tests' pipes, it is not a terminal
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
            env={**env, "PYTHONWARNINGS": WARNINGS, "PYTHONUTF8": "1"},
        )
    process.returncode = 0  # it is not waited for: it ends after us
    atexit.register(ours.close)
    return ours


# -- the server --------------------------------------------------------------------------------------------------------

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


def _serve(control: socket.socket) -> dict[str, Any]:
    """Fork for each request. Returns in the process that is to be the program."""
    while True:
        kind, descriptors, _, _ = socket.recv_fds(control, 1, 4)
        if not descriptors:
            os._exit(0)
        if kind == IN_TERMINAL:
            _load_screens()
            _keep_what_is_loaded()
        if os.fork() == 0:
            control.close()
            return _supervise(descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        with suppress(ChildProcessError):  # there is none
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


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
        if request["terminal"]:
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
    from console.cli import main

    sys.exit(main())  # type: ignore[func-returns-value]  # as the script that pip writes


if __name__ == "__main__":
    if "coverage" not in sys.modules:  # which writes what it found when the process ends
        atexit.register(_leave_what_was_loaded)  # the first that is registered is called last
    _load()
    assert threading.active_count() == 1, "a process with threads cannot be forked"
    _keep_what_is_loaded()
    _become(_serve(socket.socket(fileno=int(sys.argv[1]))))
