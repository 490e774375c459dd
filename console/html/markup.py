"""Markup: elements whose texts are escaped, and texts that pass the gate for foreign text.

A plain `str` is text, never markup. Only this module makes `Html` of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from screens.render.layout import Spans
from screens.render.sanitize import sanitize_line, sanitize_text

_VOID: Final = frozenset({"meta", "input"})
_LINE_CHARS: Final = 1_000
"""Characters of a text on one line that are shown."""


class Html(str):
    """Markup that is safe as it stands."""

    __slots__ = ()


def text(content: str, limit: int = _LINE_CHARS) -> Html:
    """Foreign text on one line: invisible characters are shown, and nothing of it is markup."""
    return Html(escape(sanitize_line(content, limit=limit)))


def lines(content: str) -> Html:
    """Foreign text on several lines, as `text`."""
    return Html(escape(sanitize_text(content)))


def attributes(**given: str) -> str:
    """Attributes with their values escaped. A ``_`` at the end of a name is left out, one within is a ``-``; a value
    that is empty leaves the name alone.
    """
    found: list[str] = []
    for name, value in given.items():
        told = name.rstrip("_").replace("_", "-")
        found.append(f' {told}="{escape(sanitize_line(value))}"' if value else f" {told}")
    return "".join(found)


def opening(tag: str, **given: str) -> Html:
    """The start of an element that `closing` ends."""
    return Html(f"<{tag}{attributes(**given)}>")


def closing(tag: str) -> Html:
    """The end of an element."""
    return Html(f"</{tag}>")


def element(tag: str, *children: str, **given: str) -> Html:
    """An element; children that are plain texts are escaped."""
    if tag in _VOID:
        return opening(tag, **given)
    inner = "".join(each if isinstance(each, Html) else text(each) for each in children)
    return Html(f"<{tag}{attributes(**given)}>{inner}</{tag}>")


def join(parts: Iterable[Html]) -> Html:
    """Markup, one part after the other."""
    return Html("".join(parts))


def folded(title: str | Html, body: Html, **given: str) -> Html:
    """A part that a reader opens. Without scripts too; printed it is open."""
    return element("details", element("summary", title), body, **given)


def preformatted(content: str) -> Html:
    """Foreign text with its line breaks."""
    return element("pre", lines(content))


def printed(rows: Iterable[Spans]) -> Html:
    """Lines of a view, which have passed the gate, with the colours of the states in them."""
    told = "\n".join("".join(_span(piece.text, piece.ink, bold=piece.bold) for piece in row) for row in rows)
    return element("pre", Html(told))


def _span(content: str, ink: str, *, bold: bool) -> str:
    shown = escape(content)
    kept = ink if ink.startswith(("state-", "severity-")) or ink == "ink-muted" else ""
    names = " ".join(name for name in (kept, "strong" if bold else "") if name)
    return f'<span class="{names}">{shown}</span>' if names else shown


def size_of(markup: Html) -> int:
    """Bytes in the file."""
    return len(markup.encode())
