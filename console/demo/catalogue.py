"""The demo's catalogue: a real server on the loopback address, which is not there until it was asked for several times.

It stands for a service that is down for a while. Each run of the demo has a port of its own.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import urlsplit

COMES_BACK_AFTER: Final = 4
"""Refused calls: two of the program's own, and two after the first retry by hand."""
SHELVES: Final = {
    "projects": ["orbiter: swarms that wait for you", "apollo: it went there"],
    "people": ["Margaret Hamilton: wrote what apollo flew with", "you: who decides here"],
}
"""What is in the catalogue, each shelf at an address of its own."""

_started: dict[int, ThreadingHTTPServer] = {}
_refused: Counter[str] = Counter()
_lock = threading.Lock()


def free_urls() -> list[str]:
    """The address of each shelf, where no process listens now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return [f"http://127.0.0.1:{free.getsockname()[1]}/{shelf}.json" for shelf in SHELVES]


def note_refused(url: str) -> None:
    """A call was refused: after some of them the catalogue comes up."""
    with _lock:
        _refused[url] += 1
        enough = _refused[url] >= COMES_BACK_AFTER
    if enough:
        start_catalogue(url)


def start_catalogue(url: str) -> bool:
    """Let the catalogue listen where `url` says, in a thread of this process; whether it could."""
    port = urlsplit(url).port or 0
    with _lock:
        if port in _started:
            return True
        try:
            server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
        except OSError:  # another program has the port by now
            return False
        _started[port] = server
    threading.Thread(target=server.serve_forever, name="demo catalogue", daemon=True).start()
    return True


def stop_catalogue(url: str) -> None:
    """Let it go down again."""
    with _lock:
        server = _started.pop(urlsplit(url).port or 0, None)
    if server is not None:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        shelf = self.path.strip("/").removesuffix(".json")
        body = json.dumps({shelf: SHELVES.get(shelf, [])}).encode()
        self.send_response(200 if shelf in SHELVES else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Nothing: the terminal belongs to the console."""
