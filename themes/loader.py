"""Theme files, read and checked, as themes of Textual.

A file is YAML: `name`, `dark`, and one section per group of tokens (`themes/tokens.py`). Every token must be there and
none besides: a screen never meets a colour that its theme forgot.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from textual.color import Color, ColorParseError
from textual.theme import Theme

from themes.choice import BUILT_IN
from themes.tokens import SECTIONS, variable


class ThemeError(Exception):
    """A theme file cannot be used. The message names the file, the key, and what is expected there."""


def built_in() -> list[Theme]:
    """The themes that come with the program, the default first.

    Raises:
        ThemeError: a file of ours is broken.
    """
    return [named(name) for name in BUILT_IN]


def named(name: str) -> Theme:
    """One of the themes that come with the program.

    Raises:
        ThemeError: its file is broken.
    """
    return parse((files("themes") / f"{name}.yaml").read_text("utf-8"), f"{name}.yaml")


def load(path: Path) -> Theme:
    """The theme in a user's file.

    Raises:
        ThemeError: it cannot be read, is no YAML, or lacks or invents something.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ThemeError(f"{path}: cannot be read: {exc}") from exc
    return parse(text, str(path))


def parse(text: str, source: str) -> Theme:
    """The theme that `text` describes; `source` names it in errors.

    Raises:
        ThemeError: see `load`.
    """
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as exc:
        raise ThemeError(f"{source}: is no YAML: {exc}") from exc
    if not isinstance(data, dict):
        raise ThemeError(f"{source}: a theme is a mapping with name, dark and {', '.join(SECTIONS)}")
    if unknown := sorted(str(key) for key in data.keys() - {"name", "dark", *SECTIONS}):
        raise ThemeError(f"{source}: unknown: {', '.join(unknown)}; a theme has name, dark and {', '.join(SECTIONS)}")
    name, dark = data.get("name"), data.get("dark")
    if not isinstance(name, str) or not name.strip():
        raise ThemeError(f"{source}: name: a theme needs a name, as text")
    if not isinstance(dark, bool):
        raise ThemeError(f"{source}: dark: true for light text on a dark ground, false for the reverse")
    colours: dict[str, str] = {}
    for section, tokens in SECTIONS.items():
        colours |= _section(data.get(section), section, tokens, source)
    return _theme(name, dark, colours)


def _section(given: Any, section: str, tokens: dict[str, str], source: str) -> dict[str, str]:
    if not isinstance(given, dict):
        raise ThemeError(f"{source}: {section}: a mapping from token to colour is needed: {', '.join(tokens)}")
    if unknown := sorted(str(key) for key in given.keys() - tokens.keys()):
        raise ThemeError(f"{source}: {section}: unknown: {', '.join(unknown)}; there are {', '.join(tokens)}")
    found: dict[str, str] = {}
    for token, meaning in tokens.items():
        if token not in given:
            raise ThemeError(f"{source}: {section}.{token} is missing ({meaning})")
        value = given[token]
        try:
            Color.parse(value)
        except (ColorParseError, TypeError, AttributeError) as exc:
            raise ThemeError(f"{source}: {section}.{token}: {value!r} is no colour, write it as '#rrggbb'") from exc
        found[variable(section, token)] = value
    return found


def _theme(name: str, dark: bool, colours: dict[str, str]) -> Theme:
    """Textual's own variables get our colours too, so that its inputs, scroll bars and toasts look like the rest."""
    own = {
        "border": colours["line-focus"],
        "border-blurred": colours["line"],
        "block-cursor-background": colours["row-cursor"],
        "block-cursor-foreground": colours["ink-strong"],
        "block-cursor-text-style": "none",
        "input-cursor-background": colours["ink"],
        "input-cursor-foreground": colours["background"],
        "input-selection-background": colours["row-cursor"],
        "scrollbar": colours["line"],
        "scrollbar-hover": colours["ink-muted"],
        "scrollbar-active": colours["line-focus"],
        "scrollbar-background": colours["surface"],
        "scrollbar-background-hover": colours["surface"],
        "scrollbar-background-active": colours["surface"],
        "scrollbar-corner-color": colours["surface"],
    }
    return Theme(
        name=name,
        dark=dark,
        primary=colours["ink-accent"],
        secondary=colours["ink-muted"],
        accent=colours["ink-key"],
        foreground=colours["ink"],
        background=colours["background"],
        surface=colours["surface"],
        panel=colours["panel"],
        warning=colours["severity-warning"],
        error=colours["severity-error"],
        success=colours["state-succeeded"],
        variables=own | colours,
    )
