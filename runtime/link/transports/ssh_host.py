"""A machine that ssh can reach, as a person types it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HOST = re.compile(
    r"(?:(?P<user>[^@:/\s]+)@)?(?P<host>\[[0-9A-Fa-f:.%\w]+\]|[^@:/\s\[\]]+)(?::(?P<path>.*))?", re.DOTALL
)

_SHELL_CHARS = re.compile(r"""['`"$\\;&<>|(){}]""")
"""What a `ProxyCommand` with `%h` or `%r` would hand to a shell: OpenSSH refuses it from 9.6 on (CVE-2023-51385)."""


class InvalidHost(ValueError):
    """What was given is not a host."""


@dataclass(slots=True, frozen=True)
class SshHost:
    """``[user@]host[:path]``. `path` is the workspace on that machine; empty: the directory in which a login begins."""

    host: str
    user: str = ""
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> SshHost:
        """Read a host as it is typed.

        Raises:
            InvalidHost: it is not a host, or would be taken for an option by ssh.
        """
        found = _HOST.fullmatch(text)
        if found is None or any(not char.isprintable() for char in text):
            raise InvalidHost(f"{text!r:.200} is not a host: write [user@]host[:path]")
        host, user, path = found["host"].strip("[]"), found["user"] or "", found["path"] or ""
        for part in (host, user):
            if part.startswith("-"):
                raise InvalidHost(f"{text!r:.200}: neither a host nor a user begins with '-'")
            if wrong := _SHELL_CHARS.search(part):
                raise InvalidHost(f"{text!r:.200}: no host or user has a {wrong[0]!r} in it")
        return cls(host, user, path)

    def __str__(self) -> str:
        return f"{self.user}@{self.host}" if self.user else self.host
