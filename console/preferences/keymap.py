"""The key map: default bindings, a preset, and the user's own keys.

Checked as a whole before the console opens, for Textual drops a binding without a word where two want one key.

    [keys]
    preset = "vim"

    [keys.run]
    zoom = ["f9"]
    find_fault = []        # no key at all
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final

from orbiter.errors import ConfigurationError
from orbiter.parsing.near_names import did_you_mean
from runtime.config.layer import source_of
from screens.render.key_names import (
    ALIASES,
    UNBOUND,
    can_clash,
    key_in_words,
    read_key,
)
from screens.shell.key_actions import GRANT_LONGER, Action

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
"""A key of TOML that is written without quotes."""
QUIT_ACTION: Final = "app.quit"
ALWAYS_QUITS: Final = "ctrl+q"

PRESETS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "default": {},
    "vim": {
        "list.first": ("home", "g"),
        "list.last": ("end", "G"),
        "list.page_down": ("pagedown", "ctrl+f", "ctrl+d"),
        "list.page_up": ("pageup", "ctrl+b", "ctrl+u"),
        "page.first": ("home", "g"),
        "page.last": ("end", "G"),
        "page.page_down": ("pagedown", "space", "ctrl+f", "ctrl+d"),
        "page.page_up": ("pageup", "ctrl+b", "ctrl+u"),
        "prompt.page_down": ("pagedown", "ctrl+f", "ctrl+d"),
        "prompt.page_up": ("pageup", "ctrl+b", "ctrl+u"),
        "app.back": ("left_square_bracket", "ctrl+o"),
        "run.next_pane": ("tab", "ctrl+w"),
        "log.follow": ("f",),
        "decision.grant": ("p",),
        "run.freeze": ("Z",),
        "runs.freeze": ("Z",),
    },
}
"""Over the defaults, which already have j, k, h, l, ctrl+f, ctrl+b, /, n and : as vi has them. `G` must go to the end,
wherever one is, and never begin a standing grant: so permits are `p` and `P`, and what freezes is `Z`.
"""


class InvalidKeys(ConfigurationError):
    """Keys that cannot be. The message has a line for each mistake: file and line, key, what is wrong, what to do."""


@dataclass(slots=True, frozen=True)
class Keymap:
    """The keys of every action by its id, as Textual calls them."""

    keys: Mapping[str, tuple[str, ...]]
    changed: frozenset[str] = frozenset()
    """Actions whose keys are not the default ones."""

    def for_textual(self) -> dict[str, str]:
        """As `App.set_keymap` wants it: nothing where nothing is changed, else all, since it drops what is left out."""
        if not any(not name.startswith("decision.") for name in self.changed):
            return {}
        return {name: ",".join(keys) or UNBOUND for name, keys in self.keys.items() if not name.startswith("decision.")}

    def words(self) -> dict[str, str]:
        """The first key of every action as a reader types it; empty where it has none."""
        return {name: key_in_words(keys[0]) if keys else "" for name, keys in self.keys.items()}

    def letters(self) -> dict[str, str]:
        """The key of each decision, as the prompt reads it."""
        return {
            name.removeprefix("decision."): key_in_words(keys[0]) if keys else ""
            for name, keys in self.keys.items()
            if name.startswith("decision.") and name != GRANT_LONGER
        }


@dataclass(slots=True)
class _Reading:
    """One look at what is configured: the keys as far as they are understood, and what is wrong."""

    actions: Mapping[str, Action]
    sources: Mapping[tuple[str | int, ...], str]
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    said_at: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def say(self, path: Sequence[str], what: str) -> None:
        self.wrong.append(f"{self.location(path)}: {what}")

    def location(self, path: Sequence[str]) -> str:
        at = source_of(self.sources, tuple(path))
        named = ".".join(part if _BARE.fullmatch(part) else json.dumps(part) for part in path)
        return f"{at}: {named}" if at else named


def build_keymap(
    actions: Sequence[Action],
    given: Mapping[str, Any] | None = None,
    sources: Mapping[tuple[str | int, ...], str] | None = None,
    *,
    preset: str = "",
) -> Keymap:
    """The keys in force.

    Args:
        actions: All actions, with their default keys.
        given: The section `keys` of `orbiter.toml`: `preset`, tables by context, or keys by the whole id of an action.
        sources: Where in which file each of them stands, by path from `keys` on.
        preset: Instead of the one in `given`.

    Raises:
        InvalidKeys: an unknown preset, context or action; an unknown key; two actions on one key at the same time.
    """
    table = dict(given or {})
    reading = _Reading({action.id: action for action in actions}, sources or {})
    reading.keys = {action.id: action.keys for action in actions}
    chosen = table.pop("preset", "default")
    if not isinstance(chosen, str) or chosen not in PRESETS:
        reading.say(("keys", "preset"), f"unknown preset {chosen!r}{_near(str(chosen), PRESETS)}")
        chosen = "default"
    if preset and preset not in PRESETS:
        raise InvalidKeys(f"unknown preset {preset!r}{_near(preset, PRESETS)}")
    overlay = PRESETS[preset or chosen]
    reading.keys.update({name: keys for name, keys in overlay.items() if name in reading.actions})
    for path, name, value in _entries(table, reading):
        _take(reading, path, name, value)
    _finish(reading)
    reading.wrong += _clashes(reading)
    if reading.wrong:
        raise InvalidKeys("\n".join(reading.wrong))
    defaults = {action.id: action.keys for action in actions}
    return Keymap(reading.keys, frozenset(name for name, keys in reading.keys.items() if keys != defaults[name]))


def _entries(table: Mapping[str, Any], reading: _Reading) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """What is said of single actions: where, the action's whole id, and its keys."""
    contexts = dict.fromkeys([*(action.context for action in reading.actions.values()), *ALIASES])
    for key, value in table.items():
        if not isinstance(value, Mapping):
            yield ("keys", key), _whole(key), value
        elif ALIASES.get(key, key) not in {action.context for action in reading.actions.values()}:
            reading.say(("keys", key), f"unknown context {key!r}{_near(key, contexts)}")
        else:
            for name, keys in value.items():
                context = ALIASES.get(key, key)
                whole = _whole(name) if "." in name else f"{context}.{name}"
                meant = whole.partition(".")[0]
                if meant != context:
                    reading.say(
                        ("keys", key, name),
                        f"is not an action of this context: put it into [keys.{meant}]",
                    )
                else:
                    yield ("keys", key, name), whole, keys


def _whole(name: str) -> str:
    context, _, rest = name.partition(".")
    return f"{ALIASES.get(context, context)}.{rest}" if rest else name


def _take(reading: _Reading, path: tuple[str, ...], name: str, value: Any) -> None:
    if name not in reading.actions:
        reading.say(path, f"unknown action {name!r}{_near(name, reading.actions)}")
        return
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        reading.say(path, 'is a key or a list of keys, as ["ctrl+s", "f4"]; [] for none')
        return
    found: list[str] = []
    for text in texts:
        try:
            found.append(read_key(text))
        except ValueError as exc:
            reading.say(path, str(exc))
            return
    why = _refused(name, found)
    if why:
        reading.say(path, why)
        return
    reading.keys[name] = tuple(dict.fromkeys(found))
    reading.said_at[name] = reading.location(path)


def _refused(name: str, keys: Sequence[str]) -> str:
    """Why an action cannot have these keys; empty if it can."""
    typed = [key for key in keys if len(key_in_words(key)) == 1 or key == "space"]
    if name == GRANT_LONGER:
        return "is always the capital letter of decision.grant: set that"
    if name.startswith("decision."):
        if len(keys) > 1 or len(typed) < len(keys) or "space" in keys:
            return "a decision has one key, and that is one character"
        if name == "decision.grant" and not (keys and keys[0].isascii() and keys[0].islower() and keys[0].isalpha()):
            return "is a small letter: enter never grants, and its capital letter grants for longer"
    if name.partition(".")[0] in {"editor", "palette", "start"} and typed:
        return f"{key_in_words(typed[0])!r} types itself there: take a key with ctrl+, or one that has a name"
    if name != QUIT_ACTION and ALWAYS_QUITS in keys:
        return f"{ALWAYS_QUITS} always quits: take another"
    return ""


def _finish(reading: _Reading) -> None:
    """What always holds: there is a key to quit, and standing grants take the capital letter."""
    if QUIT_ACTION in reading.keys and ALWAYS_QUITS not in reading.keys[QUIT_ACTION]:
        reading.keys[QUIT_ACTION] = (*reading.keys[QUIT_ACTION], ALWAYS_QUITS)
    if GRANT_LONGER in reading.keys:
        reading.keys[GRANT_LONGER] = tuple(key.upper() for key in reading.keys["decision.grant"])


def _clashes(reading: _Reading) -> Iterator[str]:
    """Two actions that one key would do at the same time. What the defaults have of that is meant so."""
    meant = set(_overlaps({action.id: action.keys for action in reading.actions.values()}, reading.actions))
    for one, other, key in _overlaps(reading.keys, reading.actions):
        if not any({one, other} == {a, b} for a, b, _ in meant):
            changed, stays = (one, other) if one in reading.said_at else (other, one)
            at = reading.said_at.get(changed, f"keys.{changed}")
            does = reading.actions[stays].does
            yield (
                f"{at}: {key_in_words(key)!r} also does {stays} ({does}): give one of the two another key, "
                "or [] to the one that you do not need"
            )


def _overlaps(keys: Mapping[str, tuple[str, ...]], actions: Mapping[str, Action]) -> Iterator[tuple[str, str, str]]:
    by_key: dict[str, list[str]] = {}
    for name, held in keys.items():
        for key in held:
            by_key.setdefault(key, []).append(name)
    for key, names in by_key.items():
        for one, other in combinations(names, 2):
            if can_clash(actions[one].context, actions[other].context):
                yield one, other, key


def _near(name: str, known: Mapping[str, Any]) -> str:
    listed = ", ".join(known) if len(known) < 25 else "orbiter-console keys lists them"
    return f": {did_you_mean(name, known)}{listed}"
