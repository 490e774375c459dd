"""A block of a prompt's lines: a label, and what stands behind it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from screens.render.layout import Span, Spans
from screens.views.run.explanation import LABEL_CELLS


class Block(NamedTuple):
    """Lines that belong together, with what they are called. `gives_way`: the higher, the sooner they are left out
    where rows are short; 0: never. `folds`: whether something of it is folded. `argument`: the argument of the call
    that it shows alone.
    """

    label: str
    lines: tuple[Spans, ...]
    gives_way: int = 0
    folds: bool = False
    argument: str = ""


def label_row(label: str, spans: Spans) -> Spans:
    """A label and what stands behind it; its further lines hang below that (`wrap_spans`)."""
    return (Span(f"{label:<{LABEL_CELLS - 2}}  ", "ink-muted"), *spans)


def block(label: str, texts: Sequence[str], ink: str = "ink", *, gives_way: int = 0) -> Block:
    """Cleaned texts below each other, the label before the first."""
    lines = (label_row("" if number else label, mark_invisible(text, ink)) for number, text in enumerate(texts))
    return Block(label, tuple(lines), gives_way)


_MARKS: Final = re.compile(r"⟨U\+[0-9A-F]{4,6}⟩|<U\+[0-9A-F]{4,6}>|⟨\+\d+ marks⟩|[␀-␡⏎]")


def mark_invisible(text: str, ink: str = "ink") -> Spans:
    """Cleaned text with the marks of invisible characters made visible."""
    found: list[Span] = []
    at = 0
    for match in _MARKS.finditer(text):
        if match.start() > at:
            found.append(Span(text[at : match.start()], ink))
        found.append(Span(match.group(), "ink-mark", bold=True))
        at = match.end()
    if at < len(text):
        found.append(Span(text[at:], ink))
    return tuple(found)
