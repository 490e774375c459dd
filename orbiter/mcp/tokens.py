"""Tokens of servers, in a file of the user's own (mode 0600), outside of every workspace and journal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orbiter.mcp.private_file import PrivateFile


class TokenFile:
    """Tokens and registrations by the server's address (`Server.login_key`): a token is sent to no other than that for
    which it was given.

    Args:
        path: The file. It is made at the first login.
    """

    def __init__(self, path: Path) -> None:
        self._file = PrivateFile(path, "the tokens of MCP servers")

    def read(self, key: str) -> Mapping[str, Any]:
        """What is kept for an address: `tokens`, `expires_at` (epoch seconds), `client` (the registration),
        `authorization_server` and `resource` (what they say of themselves).

        Raises:
            UnusableFile: The file cannot be trusted or read.
        """
        found = self._file.load().get(key, {})
        return found if isinstance(found, Mapping) else {}

    def write(self, key: str, **parts: Any) -> None:
        """Keep parts for an address, beside what is there; None takes one out.

        Raises:
            UnusableFile: The file cannot be trusted, read or written.
        """

        def change(data: dict[str, Any]) -> None:
            kept = {**data.get(key, {}), **parts}
            data[key] = {name: each for name, each in kept.items() if each is not None}

        self._file.change(change)

    def forget(self, key: str) -> bool:
        """Forget an address; whether anything was kept for it.

        Raises:
            UnusableFile: The file cannot be trusted, read or written.
        """
        had = bool(self.read(key))
        self._file.change(lambda data: data.pop(key, None))
        return had
