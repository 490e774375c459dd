"""A headless Chromium, driven over its DevTools pipe; absent where no Chromium is installed."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ANSWER_S = 120
_FIRST_FREE = 10
"""Descriptors from here on are ours: Chromium reads what it is told from 3 and answers on 4."""


class Browser:
    """One page in a browser of its own.

    Args:
        profile: A directory for what it keeps.
    """

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        told, self._to = os.pipe()
        self._from, said = os.pipe()
        ends = [fcntl.fcntl(each, fcntl.F_DUPFD, _FIRST_FREE) for each in (told, said)]
        nothing = os.open(os.devnull, os.O_RDWR)
        arguments = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe")
        self._pid = os.posix_spawn(
            CHROMIUM,
            [CHROMIUM, *arguments, f"--user-data-dir={profile}", "about:blank"],
            os.environ,
            file_actions=[
                *((os.POSIX_SPAWN_DUP2, nothing, each) for each in (0, 1, 2)),
                (os.POSIX_SPAWN_DUP2, ends[0], 3),
                (os.POSIX_SPAWN_DUP2, ends[1], 4),
            ],
            setsid=True,
        )
        for each in (told, said, nothing, *ends):
            os.close(each)
        self._unread = b""
        self._number = 0
        self._session: dict[str, str] = {}
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        self.send("Page.enable")

    def send(self, method: str, /, **params: Any) -> dict[str, Any]:
        """Give a command; its result."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": params, **self._session}
        os.write(self._to, json.dumps(command).encode() + b"\0")
        while (told := self._read()).get("id") != self._number:
            pass
        assert "error" not in told, told
        result: dict[str, Any] = told["result"]
        return result

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._from], [], [], ANSWER_S)
            assert ready, "the browser says nothing"
            piece = os.read(self._from, 1 << 16)
            assert piece, "the browser has ended"
            self._unread += piece
        line, _, self._unread = self._unread.partition(b"\0")
        told: dict[str, Any] = json.loads(line)
        return told

    def open(self, path: Path, *, scripts: bool, place: str = "") -> None:
        """Show a file, from its beginning or at a place, until it has been read."""
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=f"{path.as_uri()}{place}")
        while self.ask("document.readyState") != "complete":
            pass

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key that has a name."""
        codes = {"Enter": (13, "\r")}
        code, text = codes[key]
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **typed)

    def close(self) -> None:
        """End it, with all of its processes."""
        os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._to)
        os.close(self._from)
