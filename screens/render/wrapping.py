"""Lines that are too long, wrapped at blanks: continuation lines stand below what they continue."""

from __future__ import annotations

import re
from functools import lru_cache

from rich.cells import cell_len, set_cell_size

from screens.render.layout import Span, Spans, plain_text, width_of

LABEL_INDENT = 2
"""Cells by which further lines are indented under a label that a colon ends, and under an entry of a list."""


def wrap_spans(spans: Spans, width: int) -> list[Spans]:
    """The line in as many lines as `width` cells need: broken at blanks, inside words only where a word is too long for
    any line; it begins where half of one is free.

    Continuation lines keep the indent of the first, or stand below what comes after a padded label, as long as that
    leaves half of the width; behind ``Label:`` and ``- `` they are indented by two more.
    """
    return list(_wrapped(spans, width))


@lru_cache(maxsize=512)  # a screen measures its lines before it shows them, and again when it is drawn again
def _wrapped(spans: Spans, width: int) -> tuple[Spans, ...]:
    if width < 1 or width_of(spans) <= width:
        return (spans,)
    indent = min(_indent(spans), width // 2)
    lines: list[Spans] = []
    line: list[Span] = []
    room = width
    for piece in spans:
        for word in _words(piece.text):
            too_long = not _fits(word, room)
            if too_long and word.isspace():
                continue
            begins_here = room > width // 2 and not _fits(word, width - indent)
            if too_long and not begins_here and line and not (len(line) == 1 and line[0].text.isspace()):
                lines.append(tuple(line))
                line, room = [Span(" " * indent)] if indent else [], width - indent
            while not _fits(word, room):
                head = _head(word, room)
                if not head and room < width:  # not even one wide character fits behind the indent
                    line, room = [], width
                    continue
                head = head or word[0]
                lines.append((*line, piece._replace(text=head)))
                word = word[len(head) :]  # noqa: PLW2901 - a word too long for a line is used up piece by piece
                line, room = [Span(" " * indent)] if indent else [], width - indent
            if word:
                line.append(piece._replace(text=word))
                room -= cell_len(word)
    if line:
        lines.append(tuple(line))
    return tuple(lines)


def _fits(word: str, room: int) -> bool:
    return cell_len(_beginning(word, room)) <= room


def _head(word: str, room: int) -> str:
    """As much of the beginning of a word as `room` cells hold."""
    return set_cell_size(_beginning(word, room), room).rstrip(" ")


def _beginning(word: str, room: int) -> str:
    """A beginning of a word that is wider than `room` cells, or the word. To measure all of a long word for each of its
    lines takes time with the square of its length.
    """
    chars = max(0, room) + 4
    while chars < len(word) and cell_len(word[:chars]) <= room + 2:  # its last character may go on behind the cut
        chars *= 2
    return word[:chars]


def _indent(spans: Spans) -> int:
    text = plain_text(spans)
    blanks = len(text) - len(text.lstrip(" "))
    label = spans[0].text if spans and len(spans) > 1 else ""
    if label.strip().endswith(":"):
        return blanks + LABEL_INDENT
    if text.startswith("- ", blanks):
        return blanks + LABEL_INDENT
    return cell_len(label) if label.strip() and label.endswith("  ") else blanks


def _words(text: str) -> list[str]:
    """Words and the blanks between them, nothing lost."""
    return re.findall(r" +|[^ ]+", text)
