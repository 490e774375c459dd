"""The address of a journal on Postgres: ``postgres://[user@]host[:port]/database?workspace=name``.

What stands before `workspace` is libpq's own connection URI, with all of its parameters (`sslmode`, `service`,
`passfile`, several hosts). A password is refused: an address is shown, logged and handed to other processes.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from msgspec import Struct

from runtime.record.journal import JournalError

SCHEMES = ("postgres", "postgresql")
EXAMPLE = "postgres://db.example.org/orbiter?workspace=news"
IDLE_TRANSACTION_MS = 5_000
"""A process that is stopped in mid-transaction holds its rows no longer: the server ends its session. Every connection
to that database sets it. Shorter than the time for which rows are waited for, so that others only wait."""
_WORKSPACE = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_SECRET_PARAMETERS = frozenset({"password", "sslpassword"})


class PostgresAddress(Struct, frozen=True):
    """Where a journal is. `url` is the whole address, which may be shown; `conninfo` is libpq's part of it."""

    url: str
    conninfo: str
    workspace: str

    @property
    def schema(self) -> str:
        """The schema of the workspace's tables, and the channel of its notices."""
        return f"orbiter_{self.workspace}"


def parse_address(url: str) -> PostgresAddress:
    """The parts of an address.

    Raises:
        JournalError: it names no workspace, or holds a password. The text shows nothing of the address.
    """
    try:
        parts = urlsplit(url)
        parameters = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError as exc:
        raise JournalError(f"the address of the workspace cannot be read; an example: {EXAMPLE}") from exc
    if parts.password is not None or _SECRET_PARAMETERS.intersection(name for name, _ in parameters):
        raise JournalError(
            "the address of a workspace must not hold a password: put it into ~/.pgpass (or the file that PGPASSFILE"
            " names), a service file, or PGPASSWORD"
        )
    names = [value for name, value in parameters if name == "workspace"]
    if len(names) != 1 or not _WORKSPACE.fullmatch(names[0]):
        raise JournalError(
            "the address must name one workspace of lower-case letters, digits, '-' and '_' (at most 40);"
            f" an example: {EXAMPLE}"
        )
    rest = urlencode([each for each in parameters if each[0] != "workspace"], quote_via=quote)
    conninfo = f"postgresql://{parts.netloc}{parts.path}{'?' if rest else ''}{rest}"
    return PostgresAddress(f"postgres{conninfo[10:]}{'&' if rest else '?'}workspace={names[0]}", conninfo, names[0])
