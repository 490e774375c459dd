"""Processes of `orbiter-console`, forked from one that has imported what the program imports (`fork_server`).

A verb needs half a second of CPU for its imports alone, a console more than one, and the frameworks of guests four.
Here they are paid once for each run of the tests: the workers of pytest share a server. Each call is a process of its
own all the same, with its own directory, environment, arguments and descriptors; the modules of `console` are imported
in it, as in the real program. `PROGRAM` of `tests.console.program` is the real one.
"""

from __future__ import annotations

import atexit
import errno
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SERVER = Path(__file__).with_name("fork_server.py")
IN_PIPES, IN_TERMINAL, AS_LIVES = b"p", b"t", b"l"
"""How a process is started: as the program with pipes or in a terminal, or as the server of lives."""
ANSWER_BYTES = 65536
WARNINGS = "error,ignore::DeprecationWarning:langsmith._internal._beta_decorator"
"""`PYTHONWARNINGS` of what is started: each warning is an error, but for one of a library that Python 3.14 gives."""


class ForkedProgram:
    """A process of the program, with the part of `subprocess.Popen` that tests need.

    Args:
        arguments: Those of the command line.
        standard: Its descriptors 0, 1 and 2.
        cwd: Its directory.
        env: Its environment.
        kind: How it is started. In a terminal, it leads a session that this terminal controls.
    """

    def __init__(
        self, arguments: Sequence[str], standard: Sequence[int], *, cwd: Path, env: Mapping[str, str], kind: bytes
    ) -> None:
        self.args = list(arguments)
        self.returncode: int | None = None
        self._answers, its_end = socket.socketpair()
        with its_end:
            _ask(kind, [*standard, its_end.fileno()])
        request = {"arguments": self.args, "cwd": str(cwd), "env": dict(env), "kind": kind.decode()}
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
            super().__init__(arguments, standard, cwd=cwd, env=env, kind=IN_PIPES)
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
    """The way to the server of this run of the tests, which ends when the last has closed its way to it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))[:12]
    path = Path(tempfile.gettempdir(), f"orbiter-fork-{run}")
    while True:
        way = socket.socket(socket.AF_UNIX)
        refused = way.connect_ex(str(path))
        if not refused:
            atexit.register(way.close)
            return way
        way.close()
        if refused == errno.ECONNREFUSED:  # its server was killed
            path.unlink(missing_ok=True)
        _begin_server(path)


def _begin_server(path: Path) -> None:
    """Begin it, unless another process has by now. It can be connected to as soon as its path is there."""
    mine = path.with_name(f"{path.name}-{os.getpid()}")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(mine))
        listening.listen()
        try:
            os.link(mine, path)
        except FileExistsError:
            return
        finally:
            mine.unlink()
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        process = subprocess.Popen(
            [sys.executable, "-P", SERVER, str(listening.fileno()), str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # as in the tests' pipes, it is not a terminal
            pass_fds=(listening.fileno(),),
            start_new_session=True,
            env={**env, "PYTHONWARNINGS": WARNINGS, "PYTHONUTF8": "1"},
        )
    process.returncode = 0  # it is not waited for: it ends after us
