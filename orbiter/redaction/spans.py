"""Spans of secrets in a text, and views of the text in which escapes are undone."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

REDACTED = "[redacted]"
"""What stands in place of a secret."""

LEVELS = 5
"""Levels of escapes that are undone: JSON in JSON in JSON, with room for an address in it."""


class Span(NamedTuple):
    """A part of a text that is masked. `quote` is what is written around the mark: a number in JSON becomes text."""

    start: int
    end: int
    quote: str = ""


_ESCAPE = re.compile(
    r"""\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|["'`\\/bfnrt])
    | %(?:[2-7][0-9A-Fa-f]|0[9AaDd])
    | &(?:quot|apos|amp|lt|gt|\#[0-9]{1,3}|\#x[0-9A-Fa-f]{1,2});""",
    re.VERBOSE,
)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ENTITIES = {"quot": '"', "apos": "'", "amp": "&", "lt": "<", "gt": ">"}
_BLANK = re.compile("[\\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+")


def _unescaped(escape: str) -> str:
    body = escape[1:]
    if escape[0] == "%":
        return chr(int(body, 16))
    if escape[0] == "&":
        body = body[:-1]
        if body[0] != "#":
            return _ENTITIES[body]
        return chr(int(f"0{body[1:]}" if body[1] == "x" else body[1:], base=0 if body[1] == "x" else 10))
    return chr(int(body[1:], 16)) if body[0] in "ux" else _LETTERS.get(body, body)


class MappedText:
    """A text made from another by replacing parts of it, which knows where each of its characters came from."""

    def __init__(self, source: str, pattern: re.Pattern[str], replaced: Callable[[str], str]) -> None:
        pieces: list[str] = []
        self._at: list[int] = []
        self._from: list[tuple[int, int, int]] = []
        at = length = 0
        for found in pattern.finditer(source):
            new = replaced(found[0])
            pieces += (source[at : found.start()], new)
            length += found.start() - at
            self._at.append(length)
            self._from.append((found.start(), found.end(), len(new)))
            length += len(new)
            at = found.end()
        self.text = "".join([*pieces, source[at:]])

    def start(self, position: int) -> int:
        """Where in the source the character at a position begins."""
        return self._place(position)[0]

    def end(self, position: int) -> int:
        """Where in the source the character before a position ends."""
        return self._place(position - 1)[1]

    def _place(self, position: int) -> tuple[int, int]:
        index = bisect_right(self._at, position) - 1
        if index < 0:
            return position, position + 1
        began, ended, length = self._from[index]
        offset = position - self._at[index]
        if offset < length:
            return began, ended
        return ended + offset - length, ended + offset - length + 1


def unescape_views(text: str) -> Iterator[list[MappedText]]:
    """The text with its escapes (of JSON, URLs and HTML) undone once, twice, …: each as the views that lead to it."""
    views: list[MappedText] = []
    for _ in range(LEVELS):
        if _ESCAPE.search(text) is None:
            return
        views = [*views, MappedText(text, _ESCAPE, _unescaped)]
        text = views[-1].text
        yield views


def drop_whitespace(text: str) -> MappedText:
    """The text without any white space."""
    return MappedText(text, _BLANK, lambda _: "")


def map_to_source(spans: Iterable[Span], views: Iterable[MappedText], source: str) -> Iterator[Span]:
    """Spans of the last view as spans of the text that the first was made of."""
    back = list(views)[::-1]
    for start, end, quote in spans:
        first, last = start, end
        for view in back:
            first, last = view.start(first), view.end(last)
        # A quote of a view is written as it stands in the source: before what it is now put around.
        yield Span(first, last, _quote_before(source, first) if quote else "")


_QUOTE = re.compile(r"""\\{0,63}["']|%(?:25){0,5}22|&(?:amp;){0,5}quot;""")


def _quote_before(source: str, at: int) -> str:
    """The last quote before a position, with its escapes."""
    found = _QUOTE.findall(source, max(0, at - 200), at)
    return str(found[-1]) if found else ""


def mask_spans(text: str, spans: Iterable[Span]) -> str:
    """The text with `REDACTED` for each span. Spans that overlap become one; what is masked already stays."""
    pieces: list[str] = []
    at = 0
    for start, end, quote in _merged(text, spans):
        pieces += (text[at:start], quote, REDACTED, quote)
        at = end
    return "".join([*pieces, text[at:]]) if pieces else text


def _merged(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    marks = [Span(found.start(), found.end()) for found in re.finditer(re.escape(REDACTED), text)]
    current: Span | None = None
    for span in sorted([*marks, *spans]):
        if current is None or span.start >= current.end:
            if current is not None:
                yield current
            current = span
        elif span.end > current.end:
            current = Span(current.start, span.end, current.quote)
    if current is not None:
        yield current
