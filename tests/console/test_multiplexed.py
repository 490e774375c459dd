"""The console inside a real tmux with the lines that the documentation names: colours, clipboard, no mouse."""

from __future__ import annotations

import base64
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.daemon import daemon
from tests.console.pseudo_terminal import ROOT, Terminal
from tests.console.test_remote_console import parked

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux is installed: apt-get install tmux"),
]
DOCUMENTED = re.search(r"```tmux\n(.*?)```", (ROOT / "docs" / "remote.md").read_text(), re.DOTALL)


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="orb-") as path:
        yield Path(path)
        daemon.stop(Path(path) / ".orbiter")


def tmux(place: Path, *words: str) -> str:
    done = subprocess.run(["tmux", "-S", str(place / "tmux"), *words], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_the_documented_lines_give_colours_and_the_clipboard_and_the_mouse_is_left_alone(place: Path) -> None:
    assert DOCUMENTED is not None
    (place / "conf").write_text(DOCUMENTED[1])
    parked(place)
    console = f"exec env COLORTERM=truecolor PYTHONPATH={ROOT} {shlex.quote(sys.executable)} -m console"
    command = ["tmux", "-S", str(place / "tmux"), "-f", str(place / "conf"), "new-session", "-c", str(place), console]
    with Terminal("-c", f"import os; os.execvp('tmux', {command!r})", size=(100, 30), TERM="screen-256color") as screen:
        try:
            screen.until("asks permission")
            assert tmux(place, "display-message", "-p", "#{mouse_any_flag} #{pane_current_command}").startswith("0 ")
            assert re.search(r"\x1b\[[0-9;]*38;2;", screen.text), "all colours"
            screen.press("y")
            screen.until("\x1b]52;")
            screen.until("\x07")
            found = re.search(r"\x1b\]52;[^;]*;([A-Za-z0-9+/=]+)", screen.since_key)
            assert found is not None
            assert "asks permission" in base64.b64decode(found[1]).decode()
            assert screen.ended("q") == 0
        finally:
            tmux(place, "kill-server")
