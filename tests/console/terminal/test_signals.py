"""What is done to the console from outside (Ctrl-Z, a hang-up) touches nothing in the runtime: in a real terminal."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runtime.daemon import daemon
from runtime.operations.requests.reports import RuntimeStatus
from tests.console.program import Program
from tests.console.pseudo_terminal import Terminal
from tests.patience import PATIENCE_S
from tests.present import present


def _facts(pid: int) -> tuple[str, int, int]:
    """A process's state, session and controlling terminal (proc(5): fields 3, 6 and 7)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0], int(fields[3]), int(fields[4])


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.05)


@pytest.fixture
def state(program: Program) -> Iterator[Path]:
    found = program.directory / ".orbiter"
    yield found
    daemon.stop(found)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks the kernel by /proc")
def test_ctrl_z_and_a_hang_up_of_the_console_touch_nothing_in_the_runtime(
    program: Program, parked: Callable[[], str], state: Path
) -> None:
    incident = parked()
    with Terminal("-m", "console", cwd=program.directory) as terminal:
        console = terminal.process.pid
        terminal.until("asks permission")
        runtime = present(daemon.running_runtime(state))
        assert _facts(runtime.pid)[1:] == (os.getsid(runtime.pid), 0), "a session of its own, and no terminal"
        assert os.getsid(runtime.pid) != os.getsid(console)

        terminal.press("\x1a")  # as it is typed
        os.killpg(console, signal.SIGTSTP)  # as a shell's terminal sends it
        _until(lambda: _facts(console)[0] == "T")  # else its handler might run after the continuation, and stop again
        os.killpg(console, signal.SIGSTOP)  # and what no handler can put off
        assert _facts(runtime.pid)[0] != "T"
        assert program("answer", incident, "grant").returncode == 0
        _until(lambda: [run["state"] for run in program.json("runs")] == ["completed"])
        assert _facts(console)[0] == "T", "the run went on while the console stood still"

        terminal.press("")
        os.killpg(console, signal.SIGCONT)
        terminal.until("completed")
        terminal.hang_up()
        assert terminal.ended() in (128 + signal.SIGHUP, -signal.SIGHUP)
    again = present(daemon.running_runtime(state))
    assert again.pid == runtime.pid
    assert (daemon.status(state) or RuntimeStatus()).driving
