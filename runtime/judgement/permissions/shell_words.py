"""Words of a shell's text: quote removal and expansions, by the grammar of POSIX sh and bash."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Final

UNKNOWN: Final = "\0"
"""In `Word.text`: a part that is known only when the shell expands it."""
BLANK: Final = " \t"
_MAX_DEPTH: Final = 40
_META: Final = " \t\n;&|()<>"
_PARAMETER: Final = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]", re.ASCII)
_ANSI: Final = re.compile(
    r"\\(?:x(?P<x>[0-9a-fA-F]{1,2})|u(?P<u>[0-9a-fA-F]{1,4})|U(?P<U>[0-9a-fA-F]{1,8})"
    r"|(?P<o>[0-7]{1,3})|c(?P<c>.)|(?P<e>.))",
    re.DOTALL,
)
_ANSI_CHARS: Final = {
    "n": "\n",
    "t": "\t",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "r": "\r",
    "v": "\v",
}


@dataclass(slots=True, frozen=True)
class Word:
    """A word after quote removal. `bare`: nothing in it was quoted. `expands`: it holds a value that is not known
    (a parameter, a substitution, a tilde). `globs`: it holds a glob or a brace expansion.
    """

    text: str
    at: int = 0
    bare: bool = True
    expands: bool = False
    globs: bool = False


@dataclass(slots=True)
class Syntax:
    """What a text holds. `simple`: nothing but one command and its words. `unclear`: why it cannot be told what it
    runs; empty if it can. `bodies`: texts of here-documents and here-strings.
    """

    commands: list[tuple[Word, ...]] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    simple: bool = True
    unclear: str = ""


class TooDeepError(Exception):
    """More levels of nesting than are followed."""


@dataclass(slots=True)
class WordText:
    """The text of a word while it is read."""

    parts: list[str] = field(default_factory=list)
    bare: bool = True
    expands: bool = False
    globs: bool = False
    cut: int | None = None
    """Where a brace or a bracket begins: what follows it is not known."""

    def add(self, text: str) -> None:
        self.parts.append(text)

    def add_unknown(self) -> None:
        self.expands = True
        self.parts.append(UNKNOWN)

    def add_glob(self, *, rest: bool) -> None:
        self.globs = True
        if rest and self.cut is None:
            self.cut = len(self.parts)
        self.parts.append(UNKNOWN)

    def join(self, raw: str | None = None) -> str:
        if self.globs and raw is not None:
            return raw
        return "".join(self.parts) if self.cut is None else "".join(self.parts[: self.cut]) + UNKNOWN


class WordReader(ABC):
    """Reads words from `text` at `at`. The commands in them are read by `substitution`."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.found = text, 0, Syntax()
        self._depth = self._arithmetic = 0

    @abstractmethod
    def substitution(self, *, closing: str, text: str | None = None) -> None:
        """Read a list of commands that has here-documents of its own: up to `closing`, or all of another `text`."""

    def note_unclear(self, why: str) -> None:
        """Note why it cannot be told what the text runs."""
        self.found.unclear = self.found.unclear or why

    def _compound(self) -> None:
        self.found.simple = False

    def _next(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise TooDeepError

    def _leave(self) -> None:
        self._depth -= 1

    def _raw(self, start: int) -> str:
        """What stands from `start` on, without line continuations."""
        return self.text[start : self.at].replace("\\\n", "")

    def _word(self) -> Word:
        """Read one word."""
        start, text = self.at, WordText()
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in "<>" and self._next(2)[1:] == "(" and self.at == start:
                self._process_substitution(text)
            elif char in _META:
                break
            else:
                self._piece(char, text, first=self.at == start)
        raw = self._raw(start)
        globs = text.globs and raw not in ("[", "[[", "{}", "{")
        return Word(text.join() if globs else text.join(raw), start, text.bare, text.expands, globs)

    def _piece(self, char: str, text: WordText, *, first: bool) -> None:
        self.at += 1
        if char == "\\":
            escaped = self._next()
            self.at += 1
            text.bare = text.bare and escaped == "\n"
            if self.at >= len(self.text) and escaped in ("", "\n"):
                self.note_unclear("its last line goes on")
            text.add("" if escaped == "\n" else escaped or "\\")
        elif char == "'":
            text.bare = False
            text.add(self._until("'"))
        elif char == '"':
            self._double_quoted(text)
        elif char == "$":
            self._dollar(text, quoted=False)
        elif char == "`":
            self._backquoted(text)
        elif char in "*?[{":
            text.add_glob(rest=char in "[{")
        elif char == "~" and first:
            text.add_unknown()
        elif char == UNKNOWN:
            self.note_unclear("a part of it is not known")
            text.add_unknown()
        else:
            text.add(char)

    def _until(self, quote: str) -> str:
        end = self.text.find(quote, self.at)
        if end < 0:
            self.note_unclear("a quote is not closed")
            end = len(self.text)
        found = self.text[self.at : end]
        self.at = end + 1
        return found

    def _double_quoted(self, text: WordText) -> None:
        text.bare = False
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == '"':
                return
            self._quoted_piece(char, text)
        self.note_unclear("a quote is not closed")

    def _quoted_piece(self, char: str, text: WordText) -> None:
        """A character between double quotes, or in the body of a here-document; `at` is past it."""
        if char == "\\":
            escaped = self._next()
            self.at += 1
            text.add("" if escaped == "\n" else escaped if escaped in '$`"\\' else f"\\{escaped}")
        elif char == "$":
            self._dollar(text, quoted=True)
        elif char == "`":
            self._backquoted(text)
        else:
            text.add(char)

    # -- expansions

    def _dollar(self, text: WordText, *, quoted: bool) -> None:
        char = self._next()
        if char == "'" and not quoted:
            self.at += 1
            text.bare = False
            text.add(self._ansi_quoted())
        elif char == '"' and not quoted:
            self.at += 1
            self._double_quoted(text)
        elif char == "(":
            self.at += 1
            arithmetic = self._next() == "("
            self._arithmetic += arithmetic
            self._substituted(text)
            self.substitution(closing=")")
            self._arithmetic -= arithmetic
        elif char == "{":
            self.at += 1
            self._substituted(text)
            self._braced(quoted=quoted)
        elif (name := _PARAMETER.match(self.text, self.at)) is not None:
            self.at = name.end()
            self._substituted(text)
        elif char in ("[", "\\"):
            self.note_unclear("it has an expansion that is not understood")
            self._substituted(text)
        else:
            text.add("$")

    def _substituted(self, text: WordText) -> None:
        self._compound()
        text.add_unknown()

    def _process_substitution(self, text: WordText) -> None:
        self.at += 2
        self._substituted(text)
        self.substitution(closing=")")

    def _backquoted(self, text: WordText) -> None:
        self._substituted(text)
        start = self.at
        while self.at < len(self.text) and self.text[self.at] != "`":
            self.at += 2 if self.text[self.at] == "\\" else 1
        if self.at >= len(self.text):
            self.note_unclear("a backquote is not closed")
        inner = re.sub(r"\\([$`\\])", r"\1", self.text[start : self.at])
        self.at += 1
        self.substitution(closing="", text=inner)

    def _braced(self, *, quoted: bool) -> None:
        """The rest of a parameter expansion, for the commands in it."""
        self._enter()
        scrap = WordText()
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "}":
                self.at += 1
                break
            if (quoted and char in "'\"") or (char in " \t\n|" and self.text[self.at - 1] == "{"):
                self.note_unclear("it has an expansion that is not understood")
            if char in "<>" and self._next(2)[1:] == "(":
                self._process_substitution(scrap)
            else:
                self._piece(char, scrap, first=False)
        else:
            self.note_unclear("a brace is not closed")
        self._leave()

    def _ansi_quoted(self) -> str:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] != "'":
            self.at += 2 if self.text[self.at] == "\\" else 1
        if self.at >= len(self.text):
            self.note_unclear("a quote is not closed")
        inner = self.text[start : self.at]
        self.at += 1
        return _ANSI.sub(_ansi_char, inner).partition("\0")[0]


def _ansi_char(found: re.Match[str]) -> str:
    for name, base in (("x", 16), ("u", 16), ("U", 16), ("o", 8)):
        if found[name]:
            code = int(found[name], base)
            return chr(code & 0xFF if name in "xo" else min(code, 0x10FFFF))
    if found["c"]:
        return chr(ord(found["c"]) & 0x1F)
    return _ANSI_CHARS.get(found["e"], found["e"] if found["e"] in "\\'\"?" else f"\\{found['e']}")
