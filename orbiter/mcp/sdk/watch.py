"""What was seen of a server on the way to it, which the SDK does not tell: for the words that a person reads."""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from http import HTTPStatus

from orbiter.mcp.foreign_text import clean_line
from orbiter.redaction import held_secrets, redact

_MAX_WORDS = 3
"""Lines of a program's standard error that are told, the last ones."""
_MAX_WORD_CHARS = 200
_MAX_ACCOUNT_CHARS = 600
_WRONG_ADDRESS = frozenset({404, 405, 406, 415, 501})
"""What an address answers that is not one of an MCP server over streamable HTTP."""


class Watch:
    """Of one connection: whether the server wanted a login, whether it was reached, whether it hung up, and why it is
    not listened to any more.
    """

    def __init__(self) -> None:
        self.login_wanted = False
        self.problem = ""
        """Why nothing more is read from it, in words."""
        self.status = 0
        """The HTTP status of its last answer, if that was an error."""
        self.session_over = False
        """It does not know this session any more: it was started again, or has forgotten it."""
        self.hung_up = False
        """The program closed its output, which is how its end is seen."""
        self.exit_code: int | None = None
        """How the program then ended by itself; negative: the number of a signal."""
        self.last_words: deque[str] = deque(maxlen=_MAX_WORDS)
        """What the program wrote last to its standard error."""
        self.ended = asyncio.Event()
        """Set when the connection is over, by either side."""
        self.settled = asyncio.Event()
        """Set when what is behind it has been closed, too: then `exit_code` is known."""

    def account(self) -> str:
        """What is known of why the server cannot be talked to; empty: nothing more than the error says."""
        found = [self.problem] if self.problem else []
        if self.exit_code is not None:
            found.append(_ended_how(self.exit_code))
        if self.status:
            found.append(f"the address answered with {status_words(self.status)}")
        if self.status in _WRONG_ADDRESS:
            found.append('"url" must be an address of streamable HTTP, which often ends with /mcp')
        if self.last_words:
            said = " | ".join(clean_line(each, _MAX_WORD_CHARS) for each in self.last_words)
            found.append(f"it wrote last: {redact(said, held_secrets())}")
        return clean_line("; ".join(found), _MAX_ACCOUNT_CHARS)


def status_words(status: int) -> str:
    """An HTTP status with its name."""
    try:
        return f"HTTP status {status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return f"HTTP status {status}"


def _ended_how(exit_code: int) -> str:
    if exit_code >= 0:
        return f"the program ended with exit code {exit_code}"
    try:
        return f"the program was ended by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"the program was ended by signal {-exit_code}"
