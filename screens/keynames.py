"""Keys and the places where they work, in words: for the help page, for `orbiter-console keys`, for footers."""

from __future__ import annotations

from typing import Final

PLACES: Final = {
    "prompt": "In the prompt",
    "editor": "While typing",
    "tree": "In the tree",
    "list": "In lists",
    "page": "In texts",
    "home": "In the inbox",
    "swarms": "In the list of swarms",
    "ledger": "In the ledger of permissions",
    "limits": "Among breakers and budgets",
    "log": "In the log",
    "settings": "In the settings",
    "form": "In a form",
    "run": "In a run",
    "timeline": "In the timeline",
    "help": "On the page of keys",
    "app": "Everywhere",
}
"""What the first part of an action's id stands for, in the order in which a reader wants it."""

_WORDS: Final = {
    "escape": "esc",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "question_mark": "?",
    "slash": "/",
    "colon": ":",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
}


def in_words(key: str) -> str:
    """A key of Textual in words that every terminal can show: `enter`, `ctrl+s`, `pgdn`, `?`."""
    *modifiers, last = key.split("+")
    return "+".join([*modifiers, _WORDS.get(last, last)])
