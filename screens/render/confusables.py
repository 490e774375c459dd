"""Marks confusable letters in names and in what a permission is for: `dа⟨U+0430⟩ta` has a Cyrillic letter.

By Unicode's table of confusables. A word is marked where it mixes scripts, or could be read as ASCII as a whole; a word
of one script that reads as itself is left alone. Nothing is changed that is compared: only what is shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Final

from screens.render.sanitize import sanitize_line, sanitize_text

_WORD: Final = r"[^\W_]+|[^\w\s]|_"
_PUNYCODE: Final = r"\bxn--[a-z0-9-]+"
_BLANK: Final = r"[^\S \n]"
"""A blank that is not the usual one."""
_MARK: Final = r"⟨U\+([0-9A-F]{4,6})⟩"
_SIGNS: Final = frozenset("/\\.:;|&$~*@#?%<>(){}[]`'\"=,!+-")
"""Signs that mean something in a path, an address or a command."""
_IPA_START: Final = 0x0250
"""The first Latin letter that no orthography in wide use has; from here on, one that looks like ASCII is marked."""


def exact_line(text: str, *, limit: int = 500, ascii_only: bool = False) -> str:
    """A name, or what a permission is for, on one line: cleaned, and two that differ can be told apart."""
    return mark_confusables(sanitize_line(text, limit=limit, ascii_only=ascii_only, exact=True), ascii_only=ascii_only)


def exact_lines(text: str, *, ascii_only: bool = False) -> list[str]:
    """The same on several lines."""
    shown = sanitize_text(text, ascii_only=ascii_only, exact=True)
    return [mark_confusables(line, ascii_only=ascii_only) for line in shown.split("\n")]


def mark_confusables(text: str, *, whole: bool = True, ascii_only: bool = False) -> str:
    """Cleaned text with a mark behind each letter that looks like another one.

    `whole`: also signs and blanks that look like ASCII, what Unicode writes another way as well (NFC), and words of
    another script all of whose letters look like ASCII. Names, paths and hosts have no other context; in prose such
    signs and words are common. `ascii_only`: the text is in ASCII, and stays so.
    """
    if "xn--" in text:
        text = re.sub(_PUNYCODE, lambda label: _decode_label(label[0], ascii_only), text)
    if text.isascii():
        return text
    if whole and not unicodedata.is_normalized("NFC", text):
        text = _mark_other_forms(text)
    text = re.sub(_WORD, lambda word: _mark_word(word[0], whole=whole), text)
    return re.sub(_BLANK, lambda blank: _marked(blank[0]), text) if whole else text


def _mark_other_forms(text: str) -> str:
    """With marks behind each letter, with its accents, that Unicode writes another way: an é of two, the sign of the
    angstrom.
    """
    found: list[str] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or _begins_anew(text[start:end], text[end]):
            found.append(_mark_other_form(text[start:end]))
            start = end
    return "".join(found)


def _begins_anew(before: str, char: str) -> bool:
    """Whether a character stands for itself, whatever is before it."""
    return not unicodedata.combining(char) and _one_form(before + char) == _one_form(before) + _one_form(char)


def _mark_other_form(cluster: str) -> str:
    shown = _one_form(cluster)
    if shown == cluster:
        return cluster
    letter = cluster[0] if len(cluster) == 1 or _one_form(cluster[0]) != cluster[0] else ""
    marked = letter + ("".join(c for c in cluster[1:] if c not in shown) or ("" if letter else cluster[1:]))
    return cluster + "".join(map(_code, marked))


_one_form: Final = partial(unicodedata.normalize, "NFC")


def is_marked(text: str) -> bool:
    """Whether a text is the mark of a letter that can be seen."""
    found = re.fullmatch(_MARK, text)
    return found is not None and chr(int(found[1], 16)).isprintable()


def _decode_label(label: str, ascii_only: bool) -> str:
    """A label of a host with what it reads as, where that is marked."""
    try:
        read = label.removeprefix("xn--").encode("ascii").decode("punycode")
    except UnicodeError:
        return label
    shown = sanitize_line(read, ascii_only=ascii_only, exact=True)
    return label if exact_line(read) == read else f"{label} (reads {shown})"


def _mark_word(word: str, *, whole: bool) -> str:
    if word.isascii():
        return word
    suspects = set(_suspects(word, whole=whole))
    return "".join(_marked(char) if char in suspects else char for char in word)


def _marked(char: str) -> str:
    return char + _code(char)


def _code(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"


def _suspects(word: str, *, whole: bool) -> Iterator[str]:
    letters = [char for char in word if char.isalpha()]
    foreign = {_script(char) for char in letters} - {"LATIN", "COMMON", "INHERITED"}
    mixed = bool(foreign) and any(_script(char) == "LATIN" for char in letters)
    alike = [char for char in letters if not char.isascii() and _ascii_alike(char)]
    for char in word:
        plain = (char.isalpha() or char.isdecimal()) and unicodedata.normalize("NFKC", char).isascii()
        if not char.isascii() and (plain or (whole and _ascii_alike(char) & _SIGNS)):
            yield char
    yield from (char for char in alike if _script(char) == "LATIN" and ord(char) >= _IPA_START)
    strangers = [char for char in alike if _script(char) in foreign]
    own = [char for char in letters if char.isascii()]
    if mixed and not strangers and 2 * len(own) < len(letters):
        # None of the foreign letters looks like ASCII: then an ASCII letter may look like one of them.
        yield from (char for char in own if not foreign.isdisjoint(_lookalike_scripts(char)))
    elif mixed or (whole and letters and len(strangers) == len(letters)):
        yield from strangers


def _script(char: str) -> str:
    from confusable_homoglyphs import categories  # type: ignore[import-untyped]  # tables are read when they are used

    return str(categories.alias(char))


@lru_cache(maxsize=2048)
def _lookalikes(char: str) -> tuple[tuple[str, str], ...]:
    """The characters that look like this one, each with its name."""
    from confusable_homoglyphs import confusables

    found = confusables.is_confusable(char, greedy=True)
    return tuple((each["c"], each["n"]) for each in found[0]["homoglyphs"]) if found else ()


def _ascii_alike(char: str) -> frozenset[str]:
    return frozenset(other for other, _ in _lookalikes(char) if other.isascii())


def _lookalike_scripts(char: str) -> frozenset[str]:
    """The scripts of the characters that look like this one."""
    return frozenset(name.partition(" ")[0] for _, name in _lookalikes(char))
