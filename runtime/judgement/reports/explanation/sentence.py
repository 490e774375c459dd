"""Sentences of an explanation: templates whose places are filled with facts, each with the events that say it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, Protocol

from msgspec import Struct

from runtime.judgement.reports.narration import Count, Due, Foreign, Instant, Part, Seconds

Fact = tuple["tuple[Part, ...]", "tuple[int, ...]"]
"""What is known: its words, and the numbers (`seq`) of the events that say it."""

FactSource = Callable[[str], Fact | None]
"""Finds a fact by the name that templates have for it; None: it is not known."""

_PLACE: Final = re.compile(r"\{(\w+)\}")


class Sentence(Struct, frozen=True):
    """One sentence in typed parts (`runtime.judgement.reports.narration`), and the events that back it."""

    parts: tuple[Part, ...]
    events: tuple[int, ...]

    @property
    def text(self) -> str:
        """It on one line in which nothing acts on a terminal; instants are in UTC."""
        return plain_words(self.parts)


class Worded(Protocol):
    """A sentence, as it was made or as the result of an operation has it."""

    @property
    def text(self) -> str: ...


def option_words(option_id: str, hint: str, consequences: Mapping[str, Worded]) -> str:
    """What an option will do, as the explanation says it; its own hint where that does not."""
    does = consequences.get(option_id)
    return does.text if does is not None else hint


class Template(NamedTuple):
    """A template as it is read: pieces of our own words, and between them the names of facts."""

    pieces: tuple[str, ...]
    names: tuple[str, ...]


def read_template(template: str) -> Template:
    """The pieces and the names of a template such as ``{tool} failed: {said}.``"""
    found = _PLACE.split(template)
    return Template(tuple(found[::2]), tuple(found[1::2]))


def fill(template: str, facts: FactSource, default: tuple[int, ...] = ()) -> Sentence | None:
    """The sentence; None where a fact is not known. `default`: the events behind a sentence that names no fact."""
    pieces, names = read_template(template)
    parts: list[Part] = [pieces[0]] if pieces[0] else []
    events: dict[int, None] = {}
    for name, after in zip(names, pieces[1:], strict=True):
        found = facts(name)
        if found is None:
            return None
        parts.extend(part for part in found[0] if part != "")  # a condition has no words
        events.update(dict.fromkeys(found[1]))
        if after:
            parts.append(after)
    return Sentence(tuple(parts), tuple(sorted(events)) or default)


def first_filled(templates: Iterable[str], facts: FactSource, default: tuple[int, ...] = ()) -> Sentence | None:
    """The sentence of the first template whose facts are all known."""
    return next(every_filled(templates, facts, default), None)


def every_filled(templates: Iterable[str], facts: FactSource, default: tuple[int, ...] = ()) -> Iterator[Sentence]:
    """The sentences of all templates whose facts are all known, in their order."""
    made = (fill(template, facts, default) for template in templates)
    return (each for each in made if each is not None and each.text)


def capitalized(sentence: Sentence) -> Sentence:
    """The sentence with a capital letter, if its first word is ours; what is foreign stays as it is."""
    first, *rest = sentence.parts
    return Sentence((f"{first[:1].upper()}{first[1:]}", *rest), sentence.events) if isinstance(first, str) else sentence


def plain_words(parts: Iterable[Part]) -> str:
    """Parts on one line: characters that do not print are blanks, and a foreign text is cut at its limit."""
    return "".join(map(_plain_part, parts))


def _plain_part(part: Part) -> str:
    match part:
        case str():
            return part
        case Foreign():
            return one_line(part.text, part.limit)
        case Seconds():
            return seconds_words(part.value)
        case Count():
            return str(part.value)
        case Instant():
            return part.value.strftime("%H:%M:%S")
        case Due():
            return f"until {part.value:%H:%M:%S}"


def one_line(text: str, limit: int) -> str:
    """`text` on one line of at most `limit` characters, without any character that does not print."""
    head = text[: 4 * limit]
    line = " ".join("".join(char if char.isprintable() else " " for char in head).split())
    return line if len(line) <= limit and len(text) <= 4 * limit else f"{line[: limit - 1].rstrip()}…"


def seconds_words(seconds: float) -> str:
    """A duration as a person says it: 0.4s, 12s, 3m 05s, 2h 07m, 4 days."""
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f}".removesuffix(".0") + "s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s" if whole % 60 else f"{whole // 60}m"
    if whole < 172_800:
        return f"{whole // 3600}h {whole % 3600 // 60:02}m" if whole % 3600 // 60 else f"{whole // 3600}h"
    return f"{whole // 86_400} days"
