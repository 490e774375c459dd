"""Names of keys and of their contexts."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Final

from textual.keys import KEY_NAME_REPLACEMENTS, key_to_character

CONTEXT_NAMES: Final = {
    "home": "In the inbox",
    "runs": "In lists of runs",
    "swarms": "Among runs, by swarm",
    "ledger": "In the ledger of permissions",
    "limits": "Among limits",
    "log": "In the log",
    "workers": "Among workers",
    "settings": "In the settings",
    "run": "In a run",
    "timeline": "In the timeline",
    "app": "Everywhere",
    "prompt": "In the prompt",
    "picks": "In a list of answers",
    "tree": "In the tree",
    "list": "In lists",
    "page": "In texts",
    "editor": "While typing",
    "start": "While a run is started",
    "ask": "In a question",
    "batch": "While something is done to many",
    "alike": "While many are answered alike",
    "palette": "In the command palette",
    "help": "On the page of keys",
}
"""What the first part of an action's id stands for, in the order in which a reader wants it: what a screen is for, what
works everywhere, how one moves about, dialogs.
"""
DECISIONS: Final = "Decisions, where they are offered"
"""The same for the answers to an incident: the prompt reads their keys by itself."""

ALIASES: Final = {"inbox": "home", "permissions": "ledger", "everywhere": "app", "decisions": "decision"}
"""Other names of the same contexts."""

_DIALOGS: Final = frozenset({"help", "palette", "ask", "start", "batch", "alike"})
_WIDGETS: Final = frozenset({"prompt", "picks", "editor", "tree", "list", "page", "timeline", "decision"})
_OF_RUNS: Final = frozenset({"prompt", "picks", "tree", "timeline", "decision"})


def can_clash(one: str, other: str) -> bool:
    """Whether the keys of two contexts can reach at the same time: those of a pane, of its screen, and of the app do;
    those of two panes or two screens do not, and a dialog has the keyboard for itself.
    """
    pair = {one, other}
    if one == other:
        return True
    if pair & _DIALOGS:
        return False
    if "app" in pair:
        return True
    if pair in ({"tree", "list"}, {"runs", "home"}, {"runs", "swarms"}):
        return True
    if pair <= _WIDGETS:
        return "decision" in pair and not pair & {"editor", "picks"}
    if pair & _WIDGETS:
        return not pair & _OF_RUNS or "run" in pair
    return False


_WORDS: Final = {"escape": "esc", "pagedown": "pgdn", "pageup": "pgup"}

UNBOUND: Final = "<none>"
"""What Textual is told is the key of an action that has none: no terminal sends it."""


def key_in_words(key: str) -> str:
    """A key of Textual in words that every terminal can show: `enter`, `ctrl+s`, `pgdn`, `?`."""
    *modifiers, last = key.split("+")
    return "+".join([*modifiers, _WORDS.get(last) or _character(last) or last])


def _character(name: str) -> str | None:
    """The character behind one of Textual's names for characters, as `question_mark`."""
    return None if len(name) == 1 or name in _NAMED else _characters().get(name) or key_to_character(name)


def character_to_key(character: str) -> str:
    """What Textual calls the key that types `character`: `question_mark`, `slash`, `a`. The inverse of its
    `key_to_character`.
    """
    if character.isalnum():
        return character
    name = unicodedata.name(character, character).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


@cache
def _characters() -> dict[str, str]:
    """The characters of a keyboard by what Textual calls them, as `question_mark`."""
    return {character_to_key(char): char for char in map(chr, range(0x21, 0x7F))}


_NAMED: Final = frozenset(
    {
        "enter", "escape", "tab", "space", "backspace", "insert", "delete", "home", "end", "pageup", "pagedown",
        "up", "down", "left", "right", *(f"f{number}" for number in range(1, 25)),
    }
)  # fmt: skip
"""Keys that are called by a name."""

_OTHER_NAMES: Final = {
    "esc": "escape", "return": "enter", "pgup": "pageup", "pgdn": "pagedown", "pgdown": "pagedown", "del": "delete",
    "ins": "insert", "bs": "backspace", "spacebar": "space", "plus": "+", "comma": ",", "minus": "-",
}  # fmt: skip
_MODIFIERS: Final = ("ctrl", "alt", "shift")
_SAME_BYTES: Final = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+h": "backspace", "ctrl+[": "escape", "ctrl+j": "enter"}
"""Keys for which a terminal sends what it sends for another."""

KEY_SYNTAX: Final = (
    "a key is one character, or enter, esc, tab, space, f1 to f24 and the like, after ctrl+, alt+ or shift+"
)


def read_key(text: str) -> str:
    """What Textual calls the key that a user wrote: `?`, `esc`, `ctrl+s`, `G`, `shift+tab`.

    Raises:
        ValueError: no terminal can send it; the message says what a key is, or which key to name instead.
    """
    if text == "":
        raise ValueError(f"'' is not a key: {KEY_SYNTAX}; [] takes the key away")
    *modifiers, last = ["+"] if text == "+" else text.split("+")
    if text.endswith("++"):
        *modifiers, last = [*text[:-2].split("+"), "+"]
    held = [name.lower() for name in modifiers]
    if len(set(held)) < len(held) or not set(held) <= set(_MODIFIERS):
        raise ValueError(f"{text!r} is not a key: {KEY_SYNTAX}")
    name = last if len(last) == 1 else _OTHER_NAMES.get(last.lower(), last.lower())
    name = "space" if name == " " else _character(name) or name
    if not (name.isprintable() if len(name) == 1 else name in _NAMED):
        raise ValueError(f"{text!r} is not a key: {KEY_SYNTAX}")
    if len(name) == 1 and "shift" in held:
        if not name.isalpha():
            raise ValueError(f"{text!r}: write the character that shift gives with it")
        held.remove("shift")
        name = name.upper()
    if len(name) == 1 and "ctrl" in held:
        if not (name.isascii() and name.isalpha()) and name not in "@\\]^_[":
            raise ValueError(f"{text!r} is not a key: a terminal sends ctrl+ only with letters")
        name = name.lower()
    whole = "+".join([*(each for each in _MODIFIERS if each in held), name])
    if whole in _SAME_BYTES:
        raise ValueError(f"{text!r}: a terminal sends the same for {_SAME_BYTES[whole]}: name that")
    return "+".join(
        [*(each for each in _MODIFIERS if each in held), character_to_key(name) if len(name) == 1 else name]
    )
