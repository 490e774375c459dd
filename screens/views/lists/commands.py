"""Commands by name, and the matching of a few typed letters. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from orbiter.parsing.near_names import near_names
from screens.render.layout import Column, Row, span

MAX_SHOWN_COMMANDS: Final = 200
"""Commands that are listed at once; typing on finds the others."""
_NO_MATCH: Final = 99
_LIKELIHOOD: Final = (0, 0, 1, 1, 2, 2, 3)
"""By rank: the whole name; the beginning of it or of its words; words of what it does; letters."""

PALETTE_COLUMNS: Final = (
    Column("kind", 4),
    Column("command", 30, grow=2, both_ends=True),
    Column("key", 7),
    Column("what", 20, grow=3, drop=1),
)


class CommandKind(IntEnum):
    """What a command is for. What goes somewhere stands before what acts: enter on the first hit changes no run."""

    PLACE = 0
    RUN = 1
    """Goes to a run."""
    LOOK = 2
    KEY = 3
    """What a key of this screen does that changes no run."""
    ACT = 4
    """Acts on what is shown."""
    ACT_ELSEWHERE = 5
    """Acts on another run."""
    ACT_ALL = 6


KIND_WORDS: Final = {
    CommandKind.PLACE: "go", CommandKind.RUN: "go", CommandKind.LOOK: "look", CommandKind.KEY: "key",
    CommandKind.ACT: "act", CommandKind.ACT_ELSEWHERE: "act", CommandKind.ACT_ALL: "act",
}  # fmt: skip


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
    kind: CommandKind = CommandKind.KEY


def matching_commands(commands: Iterable[Command], typed: str) -> list[Command]:
    """Those that `typed` can mean, the likeliest first: named so, with these words in the name, in what it does, with
    these letters. Of those that are equally likely, what goes somewhere first, and what acts last.
    """
    wanted = typed.strip().removeprefix(":").strip().lower()
    if not wanted:
        return list(commands)
    ranked = [(rank, command) for command in commands if (rank := _rank(wanted, command)) < _NO_MATCH]
    ranked.sort(key=lambda found: (_LIKELIHOOD[found[0]], found[1].kind, found[0]))
    return [command for _, command in ranked]


def nearest_command(commands: Iterable[Command], typed: str) -> str:
    """The name that is most like what was typed; empty if none is."""
    wanted = typed.strip().removeprefix(":").strip().lower()
    names = {name.lower(): command.name for command in commands for name in (command.name, *command.also)}
    first = {name.partition(" ")[0]: name.partition(" ")[0] for name in names}
    near = near_names(wanted, names)
    if near:
        return names[near[0]]
    near = near_names(wanted.partition(" ")[0], first)
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
        acts = command.kind >= CommandKind.ACT
        kind = span(KIND_WORDS[command.kind], "state-waiting" if acts else "ink-muted")
        cells = (kind, span(command.name, ink), span(command.key, "ink-key"), span(what, "ink-muted"))
        rows.append(Row(str(number), cells))
    return rows
