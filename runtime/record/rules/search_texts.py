"""What a search of runs looks through: titles, inputs, outputs and errors, as events have them. No I/O here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from runtime.record.found_run import SearchKind
from runtime.record.state import events as ev

MAX_TEXT: Final = 100_000
"""Characters of one text that are searched; the rest is left out."""
EXCERPT: Final = 120
"""Characters of an excerpt, about."""
SEARCHED_EVENTS: Final[tuple[type[ev.JournalEvent], ...]] = (
    ev.RunCreated, ev.RunFinished, ev.NodeClosed, ev.IncidentOpened,
)  # fmt: skip
"""The events that have such texts."""
SEARCHED_TYPES: Final = tuple(map(ev.type_of, SEARCHED_EVENTS))

_SPECIAL: Final = re.compile(r"([%_\\])")
_ESCAPED: Final = r"\\\1"
Mask = Callable[[str], str]
"""Gives a text without secrets."""


class SearchText(NamedTuple):
    """One text of a run, and what it is of it."""

    run_id: str
    kind: SearchKind
    text: str


def search_texts(event: ev.JournalEvent, mask: Mask) -> list[SearchText]:
    """The texts of an event that a search looks through, without secrets; the empty ones are left out."""
    found: list[tuple[SearchKind, str]] = []
    match event:
        case ev.RunCreated():
            found = [("title", event.title), ("input", event.input)]
        case ev.RunFinished():
            found = [("output", event.output), ("error", event.error)]
        case ev.NodeClosed():
            found = [("error", event.error)]
        case ev.IncidentOpened():
            found = [("error", event.what)]
        case _:
            pass
    # Cut after masking: a secret that the cut would go through could not be told any more.
    return [SearchText(event.run_id, kind, mask(text)[:MAX_TEXT]) for kind, text in found if text.strip()]


def split_words(text: str) -> tuple[str, ...]:
    """The words of a search, all of which a run must have, in small letters."""
    plain = text.replace("\0", " ").encode("utf-8", "replace").decode()
    return tuple(dict.fromkeys(plain.lower().split()))


def json_like_pattern(word: str) -> str:
    """As `like_pattern`, for a word within an event's JSON."""
    return like_pattern(json.dumps(word, ensure_ascii=False)[1:-1])


def like_pattern(text: str) -> str:
    """A pattern of SQL's LIKE, with a backslash to escape, for what has `text` in it."""
    return f"%{_SPECIAL.sub(_ESCAPED, text)}%"


def has_word(text: str, word: str) -> bool:
    """Whether a word of `split_words` stands in a text, within another word too."""
    return word in text.lower()


def excerpt(text: str, words: Sequence[str]) -> str:
    """One line around the first of the words that stands in a text."""
    line = " ".join(text.split())
    folded = line.lower()
    at = min((place for word in words if (place := folded.find(word)) >= 0), default=0)
    start = max(0, at - EXCERPT // 3)
    part = line[start : start + EXCERPT].strip()
    return f"{'…' if start else ''}{part}{'…' if start + EXCERPT < len(line) else ''}"
