"""What the words of an error say by themselves: the host, the reason of a broken connection, file and line."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from runtime.judgement.reports.tracebacks import is_user_code

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
_GROUP_MARGIN: Final = re.compile(r"^ *\| ?", re.MULTILINE)
"""What stands before each line of an exception group."""
_CHAINED: Final = re.compile(
    r"^(?:The above exception was the direct cause of|During handling of the above exception, another exception)",
    re.MULTILINE,
)

REFUSED: Final = "nothing listens there"
"""Why a connection failed that was refused."""
_CONNECTION_REASONS: Final = (
    (r"refused|errno 111|errno 61|all connection attempts failed", REFUSED),
    (r"name or service not known|nodename nor servname|getaddrinfo|name resolution|no address associated",
     "the name is not known"),
    (r"unreachable|no route", "no route leads there"),
    (r"certificate|ssl", "its certificate is not accepted"),
    (r"reset by peer|broken pipe|disconnected|connection closed|incomplete|aborted|eof", "the connection was cut"),
)  # fmt: skip


_NAME: Final = re.compile(r"[^\W\d_][\w./:-]{2,60}\w")
_BEFORE_NAME: Final = re.compile(r"\b(?:no such|unknown|unrecogni[sz]ed|undefined|not found:)\s", re.IGNORECASE)
_AFTER_NAME: Final = re.compile(
    r"\s(?:(?:does not|doesn't|did not) exist|(?:is |was |were )?not (?:found|defined|known))\b", re.IGNORECASE
)
_QUOTED: Final = re.compile(rf"[\"'`‘“]({_NAME.pattern})[\"'`’”]")
_KINDS_OF_THINGS: Final = frozenset({
    "table", "column", "relation", "field", "view", "index", "function", "option", "argument", "parameter",
    "property", "attribute", "keyword", "variable", "module", "package", "file", "directory", "path", "name",
    "host", "user", "model", "tool", "command", "branch", "key", "type", "value", "with", "that", "this",
})  # fmt: skip
_CLAUSE_END: Final = re.compile(r"[.;,!?\n](?:\s|$)")
_NAME_CHARS: Final = 80


class Frame(NamedTuple):
    """A line of a traceback; `own`: of the user's code."""

    file: str
    line: str
    function: str
    own: bool


def host_in(text: str) -> str:
    """The first host that a text names, with its port if it has one; empty if it names none."""
    found = _HOST.search(text[:8_000])
    return (found["url"] or found["pair"] or "") if found is not None else ""


def connection_reason(text: str) -> str:
    """Why a connection failed, in words; empty if its error does not say."""
    head = text[:4_000].lower()
    return next((words for pattern, words in _CONNECTION_REASONS if re.search(pattern, head)), "")


def unknown_names(text: str) -> list[str]:
    """Words of a text that may be the name that it does not know, the likeliest first: of ``no such table: seats``
    seats. Empty where it says nothing of the kind.
    """
    head, found = text[:4_000], []
    for match in _BEFORE_NAME.finditer(head):
        clause = _CLAUSE_END.split(head[match.end() : match.end() + _NAME_CHARS], maxsplit=1)[0]
        found += _names_in(clause)[:2][::-1]
    for match in _AFTER_NAME.finditer(head):
        clause = _CLAUSE_END.split(head[max(0, match.start() - _NAME_CHARS) : match.start()])[-1]
        found += _names_in(clause)[-2:][::-1]
    return list(dict.fromkeys(found))


def _names_in(clause: str) -> list[str]:
    """Those in quotes, or behind a colon, where there are any; never the word for what kind of thing it is."""
    words = _QUOTED.findall(clause) or _NAME.findall(clause.rpartition(": ")[2])
    return [each for each in words if each.casefold() not in _KINDS_OF_THINGS]


def errno_in(text: str) -> tuple[str, str]:
    """The words and the number of an operating system's error, which urllib puts in <…>; empty where the text names
    no such error.
    """
    found = _ERRNO.search(text[:4_000])
    return (found["text"].strip(" >"), found["number"]) if found is not None else ("", "")


def raising_frame(traceback: str, exception: str) -> Frame | None:
    """Where the user's code raised an error of the class `exception`, else where it was raised; None if its traceback
    does not say. What wrapped the error stands below it, with frames that tell nothing of it.
    """
    traceback = _GROUP_MARGIN.sub("", traceback)
    last_line = re.compile(rf"^(?:[\w.<>]+\.)?{re.escape(exception)}(?::|$)", re.MULTILINE)
    part = next((each for each in _CHAINED.split(traceback) if last_line.search(each)), traceback)
    frames = list(_FRAME.finditer(part))
    own = [each for each in (*_FRAME.finditer(traceback), *frames) if is_user_code(each["file"])]
    return next((_as_frame(each, own=bool(own)) for each in reversed(own or frames)), None)


def _as_frame(found: re.Match[str], *, own: bool) -> Frame:
    return Frame(re.split(r"[/\\]", found["file"])[-1], found["line"], found["name"], own)
