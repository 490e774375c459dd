"""A client of the link that blocks: lines of JSON over a socket, for what is asked without an event loop.

Standard library only. `status` and `stop` are understood by every later version; who asks for more must compare the
protocol's number in `hello`.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping
from typing import Any

from runtime.daemon.errors import DaemonError


class LineClient:
    """One conversation, with one deadline for all of it. Its methods raise `DaemonError`.

    Args:
        sock: Connected to a runtime.
        timeout: Seconds until the deadline.
    """

    def __init__(self, sock: socket.socket, timeout: float) -> None:
        self._sock = sock
        self._until = time.monotonic() + timeout
        self._read = b""
        self.hello = self._read_message("hello")

    def request(
        self, verb: str, args: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> dict[str, Any]:
        """The reply to a command.

        Args:
            verb: Its name.
            args: Its arguments, as JSON.
            timeout: Seconds until a new deadline, for this and what follows.
        """
        if timeout is not None:
            self._until = time.monotonic() + timeout
        number = os.urandom(12).hex()
        line = json.dumps({"t": "command", "id": number, "verb": verb, "args": {**(args or {})}, "channel": "cli"})
        try:
            self._sock.sendall(line.encode() + b"\n")
        except OSError as exc:
            raise DaemonError(f"the runtime hung up: {exc}") from exc
        reply = self._read_message("reply")
        while reply.get("id") != number:
            reply = self._read_message("reply")
        return reply

    def wait_for_hangup(self) -> bool:
        """Wait for the runtime to hang up. False if it has not in time."""
        while time.monotonic() < self._until:
            try:
                if not self._receive():
                    return True
            except TimeoutError:
                return False
            except OSError:
                return True
        return False

    def _read_message(self, kind: str) -> dict[str, Any]:
        while True:
            while b"\n" in self._read:
                line, self._read = self._read.split(b"\n", 1)
                try:
                    message = json.loads(line)
                except ValueError:
                    continue
                if isinstance(message, dict) and message.get("t") == kind:
                    return message
            try:
                data = self._receive()
            except TimeoutError as exc:
                raise DaemonError("a runtime is there but does not answer") from exc
            except OSError as exc:
                raise DaemonError(f"the runtime hung up: {exc}") from exc
            if not data:
                raise DaemonError("the runtime hung up before it answered")
            self._read += data

    def _receive(self) -> bytes:
        self._sock.settimeout(max(0.001, self._until - time.monotonic()))
        return self._sock.recv(65536)
