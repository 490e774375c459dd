"""`ctrl+z` in a real terminal: from a shell and back, and nowhere else."""

from __future__ import annotations

from pathlib import Path

from tests.console.pseudo_terminal import Terminal

SHELL = r"""
import os, signal, subprocess, sys, termios
signal.signal(signal.SIGTTOU, signal.SIG_IGN)

def in_front():
    os.setpgrp()
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)

job = subprocess.Popen([sys.executable, "-m", "console", "--embedded"], preexec_fn=in_front)
_, status = os.waitpid(job.pid, os.WUNTRACED)
os.tcsetpgrp(0, os.getpgrp())
print("BACK IN THE SHELL", os.WIFSTOPPED(status), bool(termios.tcgetattr(0)[3] & termios.ECHO), flush=True)
sys.stdin.readline()
os.tcsetpgrp(0, job.pid)
os.kill(job.pid, signal.SIGCONT)
_, status = os.waitpid(job.pid, 0)
os.tcsetpgrp(0, os.getpgrp())
print("ENDED", os.waitstatus_to_exitcode(status), flush=True)
"""


def opened(tmp_path: Path, *arguments: str) -> Terminal:
    return Terminal(*arguments, cwd=tmp_path, TMUX="", STY="", HOME=str(tmp_path), XDG_STATE_HOME="")


def test_ctrl_z_gives_the_terminal_to_the_shell_and_fg_brings_the_console_back(tmp_path: Path) -> None:
    shell = tmp_path / "shell.py"
    shell.write_text(SHELL)
    with opened(tmp_path, str(shell)) as terminal:
        terminal.until("No runs yet")
        terminal.press("\x1a", then="BACK IN THE SHELL True True")
        terminal.press("\n", then="No runs yet")
        terminal.press("q", then="ENDED 0")


def test_where_no_shell_waits_ctrl_z_says_so_and_stops_nothing(tmp_path: Path) -> None:
    with opened(tmp_path, "-m", "console", "--embedded") as terminal:
        terminal.until("No runs yet")
        terminal.press("\x1a", then="No shell waits behind this console")
        assert terminal.ended("q") == 0
