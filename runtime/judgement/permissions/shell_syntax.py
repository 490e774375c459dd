"""Shell text split into its simple commands, by the grammar of POSIX sh and bash. Pure, and linear in the text.

It finds every place where a shell would begin a command: after separators, reserved words, assignments and
redirections, inside substitutions, subshells and functions. What it cannot place sets `Syntax.unclear`; it never leaves
a command out to make a text fit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from runtime.judgement.permissions.shell_words import (
    BLANK,
    Syntax,
    TooDeepError,
    Word,
    WordReader,
    WordText,
)

_OPENS: Final = {"if": "fi", "do": "done", "{": "}", "case": "esac"}
_LEADS: Final = frozenset(["if", "then", "elif", "else", "while", "until", "do", "!", "{", "fi", "done", "}", "esac"])
"""Reserved words that leave the next word in command position."""
_CLOSES: Final = frozenset(_OPENS.values())
_COMPOUND: Final = frozenset(["case", "for", "select", "function", "coproc", "[["])
"""Words that make a text more than one simple command, and that have words of their own after them."""
_REDIRECT: Final = re.compile(r"&>>?|<<<|<<-?|<>|<&|>>|>&|>\||[<>]")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*(?:\[[^\]\s]*\])?\+?=", re.ASCII)
_ELEMENT: Final = re.compile(r"[A-Za-z_]\w*\[", re.ASCII)
_DESCRIPTOR: Final = re.compile(r"[0-9]+|\{[A-Za-z_]\w*\}", re.ASCII)
_MORE_WORDS: Final = re.compile(r"[ \t]*[^ \t\n;&|)]")


def parse(text: str) -> Syntax:
    """The simple commands of a text, wherever they stand in it."""
    reader = _Reader(text)
    try:
        reader.substitution(closing="")
    except TooDeepError:
        reader.note_unclear("it is nested too deeply")
    found = reader.found
    expands = any(word.expands for words in found.commands for word in words)
    found.simple = found.simple and len(found.commands) == 1 and not expands and not found.unclear
    return found


@dataclass(slots=True)
class _List:
    """A list of commands as far as it is read: the words of the command under way, and what is open around it."""

    words: list[Word] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    cases: int = 0
    pattern: bool = False
    """Inside `case`, where a pattern stands and no command."""
    filled: bool = False
    """Something stands since the last separator."""
    joined: bool = False
    """The last separator needs a command after it."""


class _Reader(WordReader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._documents: list[tuple[str, bool, bool]] = []

    # -- lists of commands

    def substitution(self, *, closing: str, text: str | None = None) -> None:
        documents, self._documents = self._documents, []
        outer, after = self.text, self.at
        if text is not None:
            self.text, self.at = text, 0
        self._commands(closing)
        if self._documents:
            self.note_unclear("a here-document has no body")
        self._documents = documents
        if text is not None:
            self.text, self.at = outer, after

    def _commands(self, closing: str) -> None:
        """Read commands up to `closing`, or to the end."""
        self._enter()
        state = _List()
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in BLANK:
                self.at += 1
            elif self._next(2) == "\\\n" and self.at + 2 < len(self.text):
                self.at += 2
            elif char == "#":
                self._comment()
            elif self._redirection(state):
                state.filled = True
            elif char in "\n;&|":
                self._separator(state)
            elif char == "(":
                self._subshell(state)
            elif char == ")":
                self.at += 1
                if closing == ")" and not state.cases:
                    break
                self._pattern_end(state)
            else:
                self._word_of(state)
        else:
            if closing:
                self.note_unclear("a parenthesis is not closed")
        self._end(state)
        self._leave()

    def _end(self, state: _List) -> None:
        self._finish(state)
        if state.open or (state.joined and not state.filled):
            self.note_unclear("a command in it is not complete")

    def _finish(self, state: _List) -> None:
        if state.words:
            self.found.commands.append(tuple(state.words))
            state.words.clear()

    def _comment(self) -> None:
        self._compound()
        if self._arithmetic:
            self.note_unclear("it has a # in arithmetic")
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _separator(self, state: _List) -> None:
        self._compound()
        start = self.at
        while self.at < len(self.text) and self.at - start < 3 and self.text[self.at] in ";&|":
            self.at += 1
        sign = self.text[start : self.at]
        self._finish(state)
        if not sign:
            self.at += 1
            self._here_documents()
        elif sign.startswith(";") and len(sign) > 1 and state.cases:
            state.pattern = True
        elif not state.filled or sign not in (";", "&", "&&", "|", "||", "|&"):
            self.note_unclear(f"nothing stands before {sign!r}")
        state.joined = state.joined and not state.filled if not sign else sign not in (";", "&")
        state.filled = False

    def _subshell(self, state: _List) -> None:
        self._compound()
        self.at += 1
        if state.pattern:
            return
        self._finish(state)
        arithmetic = self._next() == "("
        self._arithmetic += arithmetic
        self._commands(")")
        self._arithmetic -= arithmetic
        state.filled = True

    def _pattern_end(self, state: _List) -> None:
        if not state.cases:
            self.note_unclear("a parenthesis closes nothing")
        if state.pattern:
            state.words.clear()
        self._finish(state)
        state.pattern = state.filled = state.joined = False

    # -- words of a command

    def _word_of(self, state: _List) -> None:
        start = self.at
        word = self._word()
        raw = self._raw(start)
        if _DESCRIPTOR.fullmatch(raw) and self._next() in ("<", ">"):
            return
        state.filled = True
        if state.pattern:
            if raw != "esac":
                return
            state.pattern = False
        if state.words:
            self._argument(state, word, raw)
        else:
            self._first(state, word, raw)

    def _argument(self, state: _List, word: Word, raw: str) -> None:
        first = state.words[0]
        begins = raw in _LEADS or raw in _COMPOUND
        if first.bare and (
            (first.text == "function" and len(state.words) == 2) or (first.text in ("coproc", "time") and begins)
        ):
            self._finish(state)
            self._first(state, word, raw)
            return
        state.words.append(word)
        if first.bare and first.text == "case" and len(state.words) == 3 and raw == "in":
            state.pattern = True

    def _first(self, state: _List, word: Word, raw: str) -> None:
        if raw in _LEADS:
            self._reserved(state, raw)
            return
        if _ASSIGNMENT.match(raw):
            return
        if _ELEMENT.match(raw):
            self.note_unclear("it assigns to an element of an array")
        if raw in _COMPOUND:
            self._compound()
        if raw == "case":
            state.cases += 1
            state.open.append("esac")
        state.words.append(word)

    def _reserved(self, state: _List, raw: str) -> None:
        self._compound()
        state.filled = raw in _CLOSES
        state.joined = raw not in _CLOSES
        if raw in _OPENS:
            state.open.append(_OPENS[raw])
        elif raw in _CLOSES:
            if not state.open or state.open.pop() != raw:
                self.note_unclear(f"{raw!r} closes nothing")
            if raw == "esac":
                state.cases = max(0, state.cases - 1)

    # -- redirections

    def _redirection(self, state: _List) -> bool:
        sign = _REDIRECT.match(self.text, self.at)
        if sign is None or (sign[0] in ("<", ">") and self.text[sign.end() : sign.end() + 1] == "("):
            if sign is not None:
                self._word_of(state)
            return sign is not None
        self._compound()
        self.at = sign.end()
        if sign[0].startswith("<<") and self._arithmetic:
            self.note_unclear("it has a << in arithmetic")
            return True
        while self._next() in (" ", "\t") or self._next(2) == "\\\n":
            self.at += 1 if self._next() in BLANK else 2
        start = self.at
        target = self._word()
        if self.at == start:
            self.note_unclear("a redirection has no target")
        elif sign[0].startswith("&"):
            # To a shell that does not know it, `&` ends the command and a redirection begins the next one.
            self._finish(state)
            if _MORE_WORDS.match(self.text, self.at):
                self.note_unclear("it has words after &>")
        elif sign[0] == "<<<":
            self.found.bodies.append(target.text)
        elif sign[0].startswith("<<"):
            if target.expands:
                self.note_unclear("a here-document ends at an expansion")
            raw = self._raw(start)
            self._documents.append((target.text if not target.bare else raw, target.bare, sign[0] == "<<-"))
        return True

    def _here_documents(self) -> None:
        for end, expands, tabs in self._documents:
            body: list[str] = []
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                line = self.text[self.at : stop if stop >= 0 else len(self.text)]
                self.at += len(line) + 1
                if (line.lstrip("\t") if tabs else line) == end:
                    break
                if expands and line.endswith("\\"):
                    self.note_unclear("a here-document has a line that goes on")
                body.append(line)
            else:
                self.note_unclear("a here-document has no end")
            self.found.bodies.append("\n".join(body))
            if expands:
                self._body(self.found.bodies[-1])
        self._documents.clear()

    def _body(self, body: str) -> None:
        """The commands that are substituted into a here-document."""
        self._enter()
        outer, self.text, self.at, after = self.text, body, 0, self.at
        scrap = WordText()
        while self.at < len(self.text):
            self.at += 1
            self._quoted_piece(self.text[self.at - 1], scrap)
        self.text, self.at = outer, after
        self._leave()
