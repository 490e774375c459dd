"""Matches a pattern against the commands that a shell would run for a text. Pure, linear in the text.

A grant and an ``allow`` are read narrowly: a pattern with a star covers one simple command whose words are all known.
A ``deny`` and an ``ask`` are read widely: they fit if any command that may be run is named, also by its path, behind
a program that runs another one, or in a substitution (`runtime.judgement.permissions.shell_commands`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal

from runtime.judgement.permissions.patterns import (
    Glob,
    Kind,
    denial_glob,
    grant_glob,
)
from runtime.judgement.permissions.shell_commands import (
    ExceededError,
    MatchBudget,
    Script,
    base_name,
    script_of,
)
from runtime.judgement.permissions.shell_syntax import parse
from runtime.judgement.permissions.shell_words import UNKNOWN, Word

MatchResult = Literal["yes", "no", "unclear"]
_MAX_OPTIONS: Final = 16
"""Arguments in which options of the program itself are looked for."""
_EXPANSION_REASON: Final = "which command it runs is known only when it is expanded"
_MAX_JOINED_WORDS: Final = 32
"""Characters of arguments that are joined to one text in a unit of work."""


def covers_command(pattern: str, text: str, work: MatchBudget | None = None) -> bool:
    """Whether a grant covers a command. One without a star covers its own words."""
    work = work or MatchBudget()
    if "*" not in pattern:
        return pattern == text and not _begins_unknown(work.script(text))
    try:
        if not _covers_text(grant_glob(pattern, Kind.COMMAND), text, work):
            return False
    except ExceededError:
        return False
    script = work.script(text)
    return not text or (script.simple and not script.unclear and pattern.index("*") >= script.at)


def why_uncovered(pattern: str, text: str) -> str:
    """Why a grant cannot cover a command that its words fit, as an insertion; empty if they do not fit."""
    script = script_of(text)
    if "*" not in pattern:
        return "" if pattern != text else f" ({_EXPANSION_REASON if script.whole else script.unclear}: say once)"
    if not grant_glob(pattern, Kind.COMMAND).matches(text) or (script.simple and not script.unclear):
        return ""
    return f" ({script.unclear or 'a pattern with a star covers one simple command'})"


def _begins_unknown(script: Script) -> bool:
    """Whether it is not known which commands a text runs."""
    return not script.whole or any(words[0].expands or words[0].globs for words in script.commands)


def _covers_text(glob: Glob, text: str, work: MatchBudget) -> bool:
    """Whether a pattern covers a text. Raises `ExceededError`."""
    work.spend(glob.match_cost(text))
    return glob.matches(text)


def matches_denial(pattern: str, text: str, work: MatchBudget | None = None) -> MatchResult:
    """Whether a denial fits a command: ``yes``, ``no``, or ``unclear`` where only the shell's expansion would tell.

    A pattern names a command by the words that it begins with: ``rm`` and ``rm *`` name every ``rm``.
    """
    try:
        return _matches_denial(pattern, text, work or MatchBudget())
    except ExceededError:
        return "unclear"


def _matches_denial(pattern: str, text: str, work: MatchBudget) -> MatchResult:
    if _covers_text(denial_glob(pattern), text, work):
        return "yes"
    script, denied = work.script(text), parse(pattern).commands
    if len(denied) > 1:
        wanted, found = (" ".join(map(_join_words, each)) for each in (denied, script.commands))
        return _answer(_covers_text(denial_glob(f"**{wanted.replace(UNKNOWN, '**')}**"), found, work), script)
    answer = _answer(fits=False, script=script)
    for words in script.commands:
        work.spend(4)
        told = _named(_denial_forms(pattern), words, work)
        if told == "yes":
            return told
        answer = "unclear" if told == "unclear" else answer
    return answer


def _answer(fits: bool, script: Script) -> MatchResult:
    return "yes" if fits else "unclear" if script.unclear else "no"


def _join_words(words: Sequence[Word]) -> str:
    return " ".join(word.text for word in words)


@lru_cache(maxsize=512)
def _denial_forms(pattern: str) -> tuple[str, ...]:
    """A pattern as denials are compared: with the whole name and with its last part, alone and with more words."""
    name, *rest = pattern.split() or [""]
    while rest and not rest[-1].strip("*"):
        rest.pop()
    named = dict.fromkeys((name, base_name(name) if base_name(name).strip("*") else name))
    return tuple(" ".join((each, *rest)) for each in named)


def _named(forms: Sequence[str], words: Sequence[Word], work: MatchBudget) -> MatchResult:
    name, arguments = words[0], words[1:]
    answer: MatchResult = "no"
    for form in forms:
        wanted, _, rest = form.partition(" ")
        if not _may_be(wanted, name.text):
            continue
        if not rest or any(_begins(rest, _join_words(arguments[at:]), work) for at in _argument_starts(arguments)):
            answer = "unclear" if name.expands and UNKNOWN in base_name(name.text) else "yes"
        elif _may_expand_to(rest.split(), arguments):
            answer = "unclear"
        if answer == "yes":
            break
    return answer


def _may_be(wanted: str, name: str) -> bool:
    """Whether a name, also by its last part, is the one that is wanted, or can be expanded to it."""
    if UNKNOWN in name:
        return "*" in wanted or any(
            denial_glob(each.replace(UNKNOWN, "**")).matches(wanted) for each in (name, base_name(name))
        )
    return denial_glob(wanted).matches(name) or denial_glob(wanted).matches(base_name(name))


def _begins(wanted: str, text: str, work: MatchBudget) -> bool:
    work.spend(len(text) // _MAX_JOINED_WORDS + 1)
    return _covers_text(denial_glob(wanted), text, work) or _covers_text(denial_glob(f"{wanted} **"), text, work)


def _argument_starts(arguments: Sequence[Word]) -> Iterator[int]:
    """Where the arguments that count can begin: at the first, or behind options of the program, and their values."""
    yield 0
    before = ""
    for at, word in enumerate(arguments[:_MAX_OPTIONS]):
        option = word.text.startswith("-")
        if not option:
            yield at
            if not before.startswith("-"):
                break
        before = word.text


def _may_expand_to(wanted: Sequence[str], arguments: Sequence[Word]) -> bool:
    """Whether expanding an argument could make the arguments those that are wanted."""
    for each, word in zip(wanted, arguments, strict=False):
        if UNKNOWN in word.text:
            return True
        if "*" in each:
            return any(UNKNOWN in later.text for later in arguments)
        if each != word.text and not word.text.startswith("-"):
            return False
    return False
