"""Preferences of the console: the sections `console` and `keys` of `orbiter.toml`.

Pure: `console.preferences.loader` reads the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Literal

from orbiter.errors import ConfigurationError

if TYPE_CHECKING:
    from console.preferences.keymap import Keymap

KeyPath = tuple[str | int, ...]
Sources = Mapping[KeyPath, str]
CopyTarget = Literal["terminal", "file"]

SECTIONS: Final = ("console", "keys", "notices")
ALL_SECTIONS: Final = (
    "errors", "budgets", "permissions", "analysis", "notices", "redaction", "runtime", "hosts", "prices", "rules",
    "console", "keys",
)  # fmt: skip
"""What an `orbiter.toml` may hold: the fields of `runtime.config.schema.Settings`, known without pydantic."""
CONSOLE_KEYS: Final = ("mouse", "theme", "copy", "title")
"""What `[console]` may hold."""


class InvalidPreferences(ConfigurationError):
    """Something in `[console]` is unknown or wrong; the message has a line for each mistake."""


@dataclass(slots=True, frozen=True)
class Preferences:
    """`mouse`: taken, left to the terminal, or (None) as `mouse_by_default` says. `theme`: empty if not set.
    `copy`: through the terminal (OSC 52), or always into a file. `title`: whether the terminal's title is ours.
    `keys` and `notices`: the sections as they stand there.
    """

    mouse: bool | None = None
    theme: str = ""
    copy: CopyTarget = "terminal"
    title: bool = True
    keys: Mapping[str, Any] = field(default_factory=dict)
    notices: Mapping[str, Any] = field(default_factory=dict)
    keymap: Keymap | None = None
    """What `keys` comes to, once it was checked; None: the bindings as they are."""
    sources: Sources = field(default_factory=dict)
    """Where what was said stands, by path from the section on."""
    unknown: tuple[str, ...] = ()
    """A sentence for each section that is none of ours: a console goes on without it, a runtime refuses the file."""

    def source(self, *path: str) -> str:
        """``FILE:LINE``, or ``default``."""
        return self.sources.get(path, "default")


def preferences(data: Mapping[str, Any], sources: Sources | None = None) -> Preferences:
    """The preferences in the merged sections of the files.

    Raises:
        BadPreferences: with all mistakes.
    """
    sources = sources or {}
    wrong = [
        f"{_at(sources, name)}is a section: write [{name}]"
        for name in SECTIONS
        if not isinstance(data.get(name, {}), Mapping)
    ]
    if wrong:
        raise InvalidPreferences("\n".join(wrong))
    console = data.get("console", {})
    for key in console:
        if key not in CONSOLE_KEYS:
            near = get_close_matches(str(key).lower(), CONSOLE_KEYS, n=1, cutoff=0.5)
            meant = f"did you mean {near[0]!r}? " if near else ""
            wrong.append(
                f"{_at(sources, 'console', key)}unknown key: {meant}valid keys here are: {', '.join(CONSOLE_KEYS)}"
            )
    mouse = console.get("mouse", "auto")
    if mouse not in (True, False, "auto"):
        wrong.append(f'{_at(sources, "console", "mouse")}is true, false or "auto", not {mouse!r}')
    theme = console.get("theme", "")
    if not isinstance(theme, str):
        wrong.append(f"{_at(sources, 'console', 'theme')}is the name of a theme, not {theme!r}")
    copy = console.get("copy", "terminal")
    if copy not in ("terminal", "file"):
        wrong.append(f'{_at(sources, "console", "copy")}is "terminal" or "file", not {copy!r}')
    title = console.get("title", True)
    if not isinstance(title, bool):
        wrong.append(f"{_at(sources, 'console', 'title')}is true or false, not {title!r}")
    if wrong:
        raise InvalidPreferences("\n".join(wrong))
    return Preferences(
        None if mouse == "auto" else mouse,
        theme,
        copy,
        title,
        data.get("keys", {}),
        data.get("notices", {}),
        sources=sources,
    )


def unknown_section(name: str, place: str) -> str:
    """What is said of a section that is none of ours, with the nearest that is; empty where it is one."""
    if name in ALL_SECTIONS:
        return ""
    near = get_close_matches(name.lower(), ALL_SECTIONS, n=1, cutoff=0.5)
    meant = f"did you mean [{near[0]}]? " if near else ""
    return f"{place}: unknown section [{name}]: {meant}it is ignored here, and no runtime starts with it"


def mouse_by_default(environment: Mapping[str, str]) -> bool:
    """Not over SSH, and not inside tmux or screen: a terminal that is attached again sends reports nobody asked for,
    and the multiplexer has its own use for the mouse.
    """
    return not any(environment.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "TMUX", "STY"))


def _at(sources: Sources, *path: str) -> str:
    place = next((f"{sources[path[:end]]}: " for end in range(len(path), 0, -1) if path[:end] in sources), "")
    return f"{place}{'.'.join(path)}: "
