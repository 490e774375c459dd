"""What the words of an error say by themselves: the host, the reason of a broken connection, file and line."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_HOST: Final = re.compile(
    r"(?:[a-z][a-z0-9+.-]{1,12}://(?:[^/\s\"'@]{1,80}@)?)"
    r"(?P<url>\[[0-9a-f:]{2,40}\](?::\d{1,5})?|[A-Za-z0-9][A-Za-z0-9.-]{0,120}(?::\d{1,5})?)"
    r"|\b(?P<pair>(?:\d{1,3}(?:\.\d{1,3}){3}|localhost|[A-Za-z0-9-]{1,60}(?:\.[A-Za-z0-9-]{1,60}){1,6}):\d{1,5})\b",
    re.IGNORECASE,
)
_ERRNO: Final = re.compile(r"\[Errno (?P<number>-?\d{1,5})\] (?P<text>[^:\n\[\]'\"]{2,80})")
_FRAME: Final = re.compile(
    r'^ {2}File "(?P<file>[^"\n]{1,400})", line (?P<line>\d{1,7}), in (?P<name>\S{1,120})', re.MULTILINE
)

_CONNECTION_REASONS: Final = (
    (r"refused|errno 111|errno 61|all connection attempts failed", "nothing listens there"),
    (r"name or service not known|nodename nor servname|getaddrinfo|name resolution|no address associated",
     "the name is not known"),
    (r"unreachable|no route", "no route leads there"),
    (r"certificate|ssl", "its certificate is not accepted"),
    (r"reset by peer|broken pipe|disconnected|connection closed|incomplete|aborted|eof", "the connection was cut"),
)  # fmt: skip


class Frame(NamedTuple):
    """The innermost line of a traceback."""

    file: str
    line: str
    function: str


def host_in(text: str) -> str:
    """The first host that a text names, with its port if it has one; empty if it names none."""
    found = _HOST.search(text[:8_000])
    return (found["url"] or found["pair"] or "") if found is not None else ""


def connection_reason(text: str) -> str:
    """Why a connection failed, in words; empty if its error does not say."""
    head = text[:4_000].lower()
    return next((words for pattern, words in _CONNECTION_REASONS if re.search(pattern, head)), "")


def errno_in(text: str) -> tuple[str, str]:
    """The words and the number of an operating system's error, which urllib puts in <…>; empty where the text names
    no such error.
    """
    found = _ERRNO.search(text[:4_000])
    return (found["text"].strip(" >"), found["number"]) if found is not None else ("", "")


def innermost_frame(traceback: str) -> Frame | None:
    """Where an error was raised; None if its traceback does not say."""
    found = None
    for found in _FRAME.finditer(traceback[-8_000:]):  # noqa: B007 - the last one is wanted
        pass
    return Frame(re.split(r"[/\\]", found["file"])[-1], found["line"], found["name"]) if found is not None else None
