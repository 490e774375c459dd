"""The sanitiser: the one gate for foreign text, from models, tools, providers, files and exceptions.

A terminal obeys escape sequences, Textual and Rich obey none of our wishes about them, and a reader believes what
bidirectional and invisible characters make of a line. So nothing foreign reaches a view before it passed
`sanitize_text` (several lines) or `sanitize_line` (one line). Afterwards it holds printable characters only; what was
invisible is shown: C0 as control pictures (``␛``), everything else as ``⟨U+202E⟩``. ANSI colours are not honoured.

What counts as invisible: general categories Cc, Cf, Cs, Co, Cn, Zl and Zp; Default_Ignorable_Code_Point of
DerivedCoreProperties.txt (Unicode 15.1), which adds fillers, the grapheme joiner and variation selectors; and the
blank Braille pattern. Three exceptions keep ordinary emoji readable, and only by leaving characters out: a joiner
between two pictographs, and a presentation selector or a skin tone after one, change how many cells a terminal uses
without anybody else knowing it.

`exact` is for names and for what a permission is for: two texts that differ are shown differently. Nothing is left out,
and a character that stands for another one elsewhere (``␛``, ``⟨``) is shown by its code.

Markup is another matter: code that shows cleaned text must hand it over as `Content`, `Text`, or with ``markup=False``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, takewhile
from typing import Final

MAX_CHARS: Final = 20_000
"""Characters of a whole text that are looked at and shown."""
MAX_LINE_CHARS: Final = 2_000
"""Characters of one line that are shown."""
MAX_LINES: Final = 400
"""Lines that are shown: a widget takes seconds for tens of thousands."""
MAX_COMBINING_MARKS: Final = 4
"""Combining marks on one character; no living orthography needs more. A vowel or final of Hangul counts as one."""
TAB_CELLS: Final = 4

_MARK_ROOM: Final = 64
"""No note about what was cut is longer than this."""
_ASCII_TEXT: Final = re.compile(r"[ -~]+")
_ASCII_MARK: Final = "<U+"
_EXACT_ASCII_TEXT: Final = re.compile(rf"(?:(?!{re.escape(_ASCII_MARK)})[ -~])+")
_LINES_OF_ASCII_TEXT: Final = re.compile(r"[ -~\n]*")
_INVISIBLE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_IGNORABLE_RANGES: Final = (
    *((code, code) for code in (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x2800, 0x3164, 0xFFA0)),
    (0x180B, 0x180F),
    (0xFE00, 0xFE0F),
    (0xFFF0, 0xFFF8),
    (0xE0000, 0xE0FFF),
)
_JOINER: Final = "\u200d"
_KEYCAP: Final = "\u20e3"
_PRESENTATION: Final = "\ufe0e\ufe0f"
_SKIN_TONES: Final = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_FLAG: Final = re.compile("[\U0001f1e6-\U0001f1ff]{2}")
_FLAG_LETTERS: Final = range(0x1F1E6, 0x1F200)
_HANGUL_PARTS: Final = (range(0x1161, 0x1200), range(0xD7B0, 0xD800))
"""Vowels and finals that sit on the letter before them, in no cell of their own."""
_STAND_INS: Final = frozenset({"\u23ce", "\u27e8", *map(chr, range(0x2400, 0x2422))})
"""What is shown in place of other characters."""
_ASCII_REPLACEMENTS: Final = {
    "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "--", "\u2026": "...",
    "\u2022": "*", "\u00b7": ".", "\u2192": "->", "\u2190": "<-", "\u2713": "v", "\u2717": "x", "\u00d7": "x",
    "\u00a0": " ",
}  # fmt: skip


def sanitize_text(
    text: str,
    *,
    size: int = MAX_CHARS,
    line: int = MAX_LINE_CHARS,
    lines: int = MAX_LINES,
    keep_tabs: bool = False,
    ascii_only: bool = False,
    exact: bool = False,
) -> str:
    r"""`text` made safe to show on several lines, ``\n`` between them. Cleaning twice changes nothing more, but if
    `exact`: then texts that differ are shown differently.

    ``\r\n`` counts as ``\n``; tabs become spaces up to the next multiple of four columns unless `keep_tabs`; with
    `ascii_only` every character is shown in ASCII, for terminals that do not speak UTF-8.

    Args:
        size: upper bound of the result in characters. What lies beyond is cut before any work is done on it.
        line: upper bound of one line of the result.
        lines: upper bound of the number of lines.

    Every cut is marked with how much it took away. Raises `ValueError` for bounds too small to hold that mark.
    """
    if size < 2 * _MARK_ROOM or line < 1 or lines < 1:
        raise ValueError(
            f"sanitize_text(size={size}, line={line}, lines={lines}): size is at least {2 * _MARK_ROOM}, the others 1; "
            "use sanitize_line for less"
        )
    line = min(line, size - _MARK_ROOM - 1)
    plain = len(text) <= line and _LINES_OF_ASCII_TEXT.fullmatch(text) and text.count("\n") < lines
    if plain and not (exact and _ASCII_MARK in text):
        return text
    shown: list[str] = []
    ends: list[int] = []
    total = start = 0
    for row in text[:size].split("\n"):
        end = start + len(row)
        if end >= size:  # the window may have cut this row
            found = text.find("\n", size)
            end = found if found >= 0 else len(text)
        row_text = row[:-1] if row.endswith("\r") and end < len(text) and not exact else row
        missing = end - start - len(row)
        cleaned = _bound_line(row_text, line, missing, keep_tabs=keep_tabs, ascii_only=ascii_only, exact=exact)
        total += len(cleaned) + 1
        shown.append(cleaned)
        ends.append(end)
        start = end + 1
        if total > size + 1 or len(shown) > lines or end >= size:
            break
    if total <= size + 1 and len(shown) <= lines and ends[-1] >= len(text):
        return "\n".join(shown)
    while shown and (total + _MARK_ROOM > size or len(shown) >= lines):
        total -= len(shown.pop()) + 1
        ends.pop()
    rest = text[ends[-1] + 1 :] if ends else text
    shown.append(_cut_mark(f"{len(rest)} more characters, {rest.count(chr(10)) + 1} lines", ascii_only=ascii_only))
    return "\n".join(shown)


def sanitize_line(text: str, *, limit: int = 500, ascii_only: bool = False, exact: bool = False) -> str:
    r"""`text` made safe to show on one line of at most `limit` characters; line breaks are shown as ``⏎``. `exact`:
    texts that differ are shown differently.

    Raises `ValueError` for a `limit` below 1.
    """
    if limit < 1:
        raise ValueError(f"sanitize_line(limit={limit}): at least 1 character is needed")
    if len(text) <= limit and text.isascii() and text.isprintable() and not (exact and _ASCII_MARK in text):
        return text
    window = text[:limit]
    missing = len(text) - len(window)
    return _bound_line(window, limit, missing, keep_tabs=False, ascii_only=ascii_only, exact=exact)


def show_hidden(text: str) -> str:
    """One line with a visible character in place of each that a terminal obeys or does not show, each in its place: for
    what is being typed. Tabs stay.
    """
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    marks = MAX_COMBINING_MARKS  # at the beginning they would sit on whatever is painted before it
    for char in text:
        marks = marks + 1 if _is_mark(char) else 0
        if char == "\t":
            shown.append(char)
        elif marks > MAX_COMBINING_MARKS or len(instead := _replacement(char, False)) > 1:
            shown.append("\ufffd")
        else:
            shown.append(instead)
    return "".join(shown)


def is_hidden(char: str) -> bool:
    """Whether a character is one that a terminal obeys or does not show."""
    return _replacement(char, False) != char


def _bound_line(row: str, limit: int, missing: int, *, keep_tabs: bool, ascii_only: bool, exact: bool) -> str:
    """One cleaned line of at most `limit` characters; `missing` more of the source were not even handed in."""

    def clean(room: int) -> tuple[str, int]:
        return _clean_prefix(row, room, keep_tabs=keep_tabs, ascii_only=ascii_only, exact=exact)

    cleaned, used = clean(limit)
    if used == len(row) and not missing:
        return cleaned
    if limit < 2 * _MARK_ROOM:
        return clean(limit - 1)[0] + ("." if ascii_only else "…")
    cleaned, used = clean(limit - _MARK_ROOM)
    return cleaned + _cut_mark(f"{len(row) - used + missing} more characters", ascii_only=ascii_only)


def _cut_mark(what: str, *, ascii_only: bool) -> str:
    return f"... <{what}>" if ascii_only else f"… ⟨{what}⟩"


def _clean_prefix(row: str, limit: int, *, keep_tabs: bool, ascii_only: bool, exact: bool) -> tuple[str, int]:
    """The cleaned beginning of `row` that fits into `limit`, and how many characters of `row` it stands for."""
    out: list[str] = []
    length = used = 0
    for raw, piece in _pieces(row, ascii_only=ascii_only, exact=exact):
        room = limit - length
        if raw == "\t" and not exact:
            piece = raw if keep_tabs else " " * (TAB_CELLS - length % TAB_CELLS)  # noqa: PLW2901 - only here is the column known
        if len(piece) > room:
            if raw == piece and raw.isascii():  # ordinary text can be cut anywhere
                out.append(piece[:room])
                used += room
            break
        out.append(piece)
        length += len(piece)
        used += len(raw)
    return "".join(out), used


def _pieces(row: str, *, ascii_only: bool, exact: bool) -> Iterator[tuple[str, str]]:
    """Cuts `row` into stretches, each with what is shown in its stead."""
    ascii_text = _EXACT_ASCII_TEXT if exact else _ASCII_TEXT
    instead = _exact_replacement if exact else _replacement
    at = 0
    while at < len(row):
        if plain := ascii_text.match(row, at):
            piece = shown = plain.group()
        elif not ascii_only and _is_mark(row[at]):
            piece, shown = _marks_at(row, at, exact=exact)
        elif not ascii_only and (flag := _FLAG.match(row, at)):
            piece = shown = flag.group()
        else:
            piece = row[at]
            shown = "" if not (ascii_only or exact) and _only_joins_emoji(row, at) else instead(piece, ascii_only)
        yield piece, shown
        at += len(piece)


def _marks_at(row: str, at: int, *, exact: bool) -> tuple[str, str]:
    """Combining marks, and what is shown of them: those that sit on a character, and how many, or which, are more."""
    marks = "".join(takewhile(_is_mark, islice(row, at, None)))
    if exact:
        kept = marks[:MAX_COMBINING_MARKS] if at else ""
        return marks, kept + "".join(map(_code, marks[len(kept) :]))
    carrier = "" if at else "◌"  # else it would sit on whatever we print before it
    excess = len(marks) - MAX_COMBINING_MARKS
    return marks, carrier + marks[:MAX_COMBINING_MARKS] + (f"⟨+{excess} marks⟩" if excess > 0 else "")


def _code(char: str, ascii_only: bool = False) -> str:
    return f"<U+{ord(char):04X}>" if ascii_only else f"⟨U+{ord(char):04X}⟩"


def _exact_replacement(char: str, ascii_only: bool) -> str:
    """What stands for one character, and for no other."""
    if char == "<":
        return _code(char, True) if ascii_only else char
    return _code(char, ascii_only) if ascii_only or char in _STAND_INS else _replacement(char, False)


@lru_cache(maxsize=4096)
def _replacement(char: str, ascii_only: bool) -> str:
    """What stands for one character outside printable ASCII."""
    code = ord(char)
    if code < 0x20:
        return f"^{chr(code + 0x40)}" if ascii_only else chr(0x2400 + code) if char != "\n" else "⏎"
    if code == 0x7F:
        return "^?" if ascii_only else "␡"
    if ascii_only:
        return _ASCII_REPLACEMENTS.get(char) or _code(char, True)
    ambiguous = char in _SKIN_TONES or code in _FLAG_LETTERS
    if ambiguous or unicodedata.category(char) in _INVISIBLE_CATEGORIES or _is_ignorable(code):
        return _code(char)
    return char


@lru_cache(maxsize=4096)
def _is_mark(char: str) -> bool:
    code = ord(char)
    if unicodedata.category(char).startswith("M"):
        return not _is_ignorable(code)
    return any(code in parts for parts in _HANGUL_PARTS) and unicodedata.category(char) == "Lo"


def _is_ignorable(code: int) -> bool:
    return any(first <= code <= last for first, last in _IGNORABLE_RANGES)


def _is_pictograph(char: str) -> bool:
    return char != "" and (char in _SKIN_TONES or (char > "\u2000" and unicodedata.category(char) == "So"))


def _only_joins_emoji(row: str, at: int) -> bool:
    before, after = row[at - 1 : at] if at else "", row[at + 1 : at + 2]
    if row[at] in _SKIN_TONES:
        return _is_pictograph(before) and before not in _SKIN_TONES
    if row[at] in _PRESENTATION:
        return _is_pictograph(before) or (before in "0123456789#*" and before != "" and after == _KEYCAP)
    if row[at] != _JOINER or not _is_pictograph(after):
        return False
    return _is_pictograph(before) or (before != "" and before in _PRESENTATION and _is_pictograph(row[at - 2 : at - 1]))
