"""The MCP server of the tests, made with the official SDK, in a process of its own: one for all tests of a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SERVER = ROOT / "tests" / "data" / "mcp" / "server.py"
"""The same over standard streams."""


@dataclass
class PeerServer:
    """The reference server over HTTP. What it does stands in `effects`, a line for each effect since `mark`."""

    ports: dict[str, int]
    file: Path
    begun: int = 0

    def url(self, name: str = "tools") -> str:
        """The address of its tools, `name` as in `tests.data.mcp.http_server`."""
        return f"{self.origin(name)}/mcp"

    def origin(self, name: str = "tools") -> str:
        """The address without a path; that of `tools` is the authorization server."""
        return f"http://127.0.0.1:{self.ports[name]}"

    def mark(self) -> None:
        """From here on `effects` counts."""
        self.begun = len(self._lines())

    @property
    def effects(self) -> list[str]:
        """What it did since `mark`."""
        return self._lines()[self.begun :]

    def _lines(self) -> list[str]:
        return self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []


@contextmanager
def serve_http(port: int = 0) -> Iterator[PeerServer]:
    """The server, from when it listens until the end; `port` 0: any."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "effects"
        started = subprocess.Popen(
            [sys.executable, "-m", "tests.data.mcp.http_server", str(port)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "MCP_TEST_EFFECTS": str(file)},
        )
        with started:
            try:
                assert started.stdout is not None
                ports: dict[str, int] = json.loads(started.stdout.readline() or "{}")
                assert ports, f"the server ended before it listened: {started.poll()}"
                yield PeerServer(ports, file)
            finally:
                started.kill()


class _Stays(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *given: object) -> None:
        return None


def visit_address(address: str) -> str:
    """What a person does who logs in: opens the address, and copies the one to which the browser is sent."""
    try:
        urllib.request.build_opener(_Stays).open(address, timeout=30).close()
    except urllib.error.HTTPError as exc:
        exc.close()
        return str(exc.headers["Location"])
    raise AssertionError(f"{address} leads nowhere")
