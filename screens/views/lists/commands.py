"""Commands by name, and the matching of a few typed letters. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from screens.render.layout import Column, Row, span

MAX_SHOWN_COMMANDS: Final = 200
"""Commands that are listed at once; whoever wants another types on."""
_NO_MATCH: Final = 99

COLUMNS: Final = (Column("command", 32, grow=2, both_ends=True), Column("key", 8), Column("what", 24, grow=3, drop=1))


@dataclass(frozen=True, slots=True)
class Command:
    """One of them; all texts are clean.

    `name` is what is typed, `does` says what it does, `key` does the same without this list. `also`: other names, which
    are typed whole. `why_not`: why it cannot be done now; empty if it can.
    """

    name: str
    does: str
    act: Callable[[], object] = field(compare=False)
    key: str = ""
    also: tuple[str, ...] = ()
    why_not: str = ""


def matching_commands(commands: Iterable[Command], typed: str) -> list[Command]:
    """Those that `typed` can mean, the likeliest first: named so, begun so, with these words, these letters."""
    wanted = typed.strip().removeprefix(":").strip().lower()
    if not wanted:
        return list(commands)
    ranked = [(rank, command) for command in commands if (rank := _rank(wanted, command)) < _NO_MATCH]
    ranked.sort(key=lambda found: found[0])
    return [command for _, command in ranked]


def nearest_command(commands: Iterable[Command], typed: str) -> str:
    """The name that is most like what was typed; empty if none is."""
    wanted = typed.strip().removeprefix(":").strip().lower()
    names = {name.lower(): command.name for command in commands for name in (command.name, *command.also)}
    first = {name.partition(" ")[0]: name.partition(" ")[0] for name in names}
    near = get_close_matches(wanted, names, n=1, cutoff=0.5)
    if near:
        return names[near[0]]
    near = get_close_matches(wanted.partition(" ")[0], first, n=1, cutoff=0.5)
    return near[0] if near else ""


def _rank(wanted: str, command: Command) -> int:
    name = command.name.lower()
    if wanted == name:
        return 0
    if wanted in (other.lower() for other in command.also):
        return 1
    if name.startswith(wanted):
        return 2
    text = f"{name} {command.does.lower()}"
    words = text.split()
    asked = wanted.split()
    if all(any(word.startswith(each) for word in (*name.split(), *command.also)) for each in asked):
        return 3
    if all(any(word.startswith(each) for word in words) for each in asked):
        return 4
    if wanted in text:
        return 5
    return 6 if len(wanted) > 1 and _scattered(wanted, name) else _NO_MATCH


def _scattered(letters: str, text: str) -> bool:
    """Whether the letters come in this order, the first of them where a word begins."""
    at = -1
    for number, letter in enumerate(letters.replace(" ", "")):
        at = text.find(letter, at + 1)
        if at < 0 or (not number and at and text[at - 1] != " "):
            return False
    return True


def command_rows(commands: Sequence[Command]) -> list[Row]:
    """A row for each, the key in the middle; what cannot be done now is muted and says why."""
    rows = []
    for number, command in enumerate(commands[:MAX_SHOWN_COMMANDS]):
        ink = "ink-muted" if command.why_not else "ink-strong"
        what = command.why_not or command.does
        cells = (span(command.name, ink), span(command.key, "ink-key"), span(what, "ink-muted"))
        rows.append(Row(str(number), cells))
    return rows
