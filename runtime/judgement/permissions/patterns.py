"""Patterns of permissions: the class of a verb's objects, and a matcher that is linear in the length of the object.

A pattern is literal but for ``*`` and ``**``. What a star covers depends on the class, and the class on the verb:

- path (``fs.*``): ``*`` within one path element, ``**`` anything below; ``/**/`` also stands for one slash.
- url (``net.*``): ``*`` within one label of a host, ``**`` any number of labels.
- name (``agent.invoke``, ``mcp.call``): ``*`` within one part of a name, ``**`` anything.
- command (``shell``, and every verb that is not known): ``*`` and ``**`` stay within one command
  (`runtime.judgement.permissions.command_matching`).

``[permissions.verbs]`` gives other verbs a class.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Final


class Kind(StrEnum):
    """What the object of a verb is."""

    PATH = "path"
    URL = "url"
    COMMAND = "command"
    NAME = "name"


BUILTIN_KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {"fs": Kind.PATH, "net": Kind.URL, "shell": Kind.COMMAND, "agent.invoke": Kind.NAME, "mcp": Kind.NAME}
)
"""Verbs, or the part before their first dot, whose class is fixed."""


@dataclass(slots=True, frozen=True)
class Verbs:
    """The class of every verb. `configured`: what ``[permissions.verbs]`` says, as pairs of verb and class."""

    configured: tuple[tuple[str, Kind], ...] = ()

    def kind(self, verb: str) -> Kind:
        """The class of a verb; command, the strictest, where nothing is known of it."""
        known = {**dict(self.configured), **BUILTIN_KINDS}
        return known.get(verb) or known.get(verb.partition(".")[0]) or Kind.COMMAND


STANDARD_VERBS: Final = Verbs()
"""The classes of verbs where nothing is configured."""

_ENDS: Final = "/\0.:;&|<>$`()\r\n"
"""What a single star does not cover but in a path: it ends a word of a command, a label of a host, a part of a name."""
_STAR: Final = re.compile(r"(/\*\*/|\*+)")


class Glob:
    """A pattern as a set of states that advance together, one step for each character: no backtracking.

    `ends`: the characters that a single star does not cover. `any_ends`: those that a double star does not cover.
    """

    __slots__ = (
        "_any",
        "_any_ends",
        "_deep",
        "_end",
        "_ends",
        "_literal",
        "_one",
        "_prefix",
        "_suffix",
        "_tail",
        "_whole",
    )

    def __init__(self, pattern: str, *, ends: str, any_ends: str = "\0") -> None:
        self._ends, self._any_ends = frozenset(ends), frozenset(any_ends)
        self._whole = pattern == "**"
        parts = _STAR.split(pattern)
        self._prefix, self._suffix = parts[0], parts[-1] if len(parts) > 1 else ""
        self._tail = (ends if parts[1] == "*" else any_ends) if parts[2:] == [""] and parts[1][0] == "*" else None
        self._literal: dict[str, int] = {}
        self._one = self._any = self._deep = 0
        at = 0
        for part in parts:
            at = self._token(part, at) if _STAR.fullmatch(part) else self._letters(part, at)
        self._end = 1 << at

    def _letters(self, text: str, at: int) -> int:
        for char in text:
            self._literal[char] = self._literal.get(char, 0) | 1 << at
            at += 1
        return at

    def _token(self, star: str, at: int) -> int:
        if star == "/**/":
            # The state after the first slash leads on to the star, or past the second slash.
            at = self._letters("/", at)
            self._deep |= 1 << at
            self._any |= 1 << at + 1
            return self._letters("/", at + 2)
        if star == "*":
            self._one |= 1 << at
        else:
            self._any |= 1 << at
        return at + 1

    def match_cost(self, text: str) -> int:
        """The steps that `fits` takes for a text, where one that is done for many characters at once counts as one."""
        stepwise = self._tail is None and not self._whole and bool(self._one | self._any)
        return len(text) if stepwise and self._may_fit(text) else len(text) // 32 + 1

    def _may_fit(self, text: str) -> bool:
        return text.startswith(self._prefix) and text.endswith(self._suffix)

    def matches(self, text: str) -> bool:
        """Whether the pattern covers the whole text."""
        if self._whole:
            return True
        if not (self._one | self._any):
            return text == self._prefix
        if not self._may_fit(text):
            return False
        if self._tail is not None:
            return not any(text.find(each, len(self._prefix)) >= 0 for each in self._tail)
        states = self._epsilon_closure(1 << len(self._prefix))
        for char in text[len(self._prefix) :]:
            stay = (0 if char in self._ends else self._one) | (0 if char in self._any_ends else self._any)
            states = self._epsilon_closure((states & self._literal.get(char, 0)) << 1 | states & stay)
            if not states:
                return False
        return bool(states & self._end)

    def _epsilon_closure(self, states: int) -> int:
        """The states with those that follow where a star covers nothing."""
        stars, deep = self._one | self._any | self._deep, self._deep
        while more := ((states & stars) << 1 | (states & deep) << 3) & ~states:
            states |= more
        return states


@lru_cache(maxsize=512)
def grant_glob(pattern: str, kind: Kind) -> Glob:
    """A pattern as a grant is read: no wider than its words."""
    return Glob(pattern, ends="/\0" if kind is Kind.PATH else _ENDS)


@lru_cache(maxsize=512)
def denial_glob(pattern: str) -> Glob:
    """A pattern as a denial of a command or a name is read: every star covers whatever stands there."""
    return Glob(pattern, ends="", any_ends="")
