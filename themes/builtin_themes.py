"""The built-in themes. Their files are not checked as they are read, since one is read before the first frame: a test
does.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from textual.theme import Theme

from themes.choice import BUILTIN_NAMES
from themes.tokens import SECTIONS, css_variable


def builtin_themes() -> list[Theme]:
    """All of them, the default first."""
    return [builtin_theme(name) for name in BUILTIN_NAMES]


def theme_text(name: str) -> str:
    """The file of one of them."""
    return Path(__file__).with_name(f"{name}.toml").read_text("utf-8")


@cache
def builtin_theme(name: str) -> Theme:
    """One of them."""
    given = tomllib.loads(theme_text(name))
    colours = {css_variable(section, token): given[section][token] for section in SECTIONS for token in given[section]}
    return make_theme(name, given["dark"], colours, ansi=colours["background"].startswith("ansi_"))


def make_theme(name: str, dark: bool, colours: dict[str, str], *, ansi: bool) -> Theme:
    """Textual's own variables get our colours too, so that its inputs, scroll bars and toasts look like the rest."""
    marked = {
        "block-cursor-background": colours["row-cursor"],
        "block-cursor-foreground": colours["ink-strong"],
        "block-cursor-text-style": "none",
        "input-cursor-background": colours["ink"],
        "input-cursor-foreground": colours["background"],
        "input-selection-background": colours["row-cursor"],
        "screen-selection-background": colours["row-cursor"],
        "screen-selection-foreground": colours["ink-strong"],
        "scrollbar": colours["line"],
    }
    if ansi:  # the ground is the terminal's: what stands out is reversed, or stands on one of its other colours
        marked |= {
            "ansi-background": colours["background"],
            "ansi-foreground": colours["ink"],
            "block-cursor-background": colours["background"],
            "block-cursor-foreground": colours["ink"],
            "block-cursor-text-style": "reverse",
            "input-cursor-background": colours["background"],
            "input-cursor-foreground": colours["ink"],
            "input-cursor-text-style": "reverse",
            "input-selection-background": "ansi_white",
            "input-selection-foreground": "ansi_black",
            "screen-selection-background": "ansi_white",
            "screen-selection-foreground": "ansi_black",
            "scrollbar": "ansi_white" if dark else "ansi_bright_black",
        }
    own = {
        "text": colours["ink"],
        "text-muted": colours["ink-muted"],
        "text-disabled": colours["ink-muted"],  # of Textual's making, it could not be read on a light ground
        "foreground-muted": colours["ink-muted"],
        "foreground-disabled": colours["ink-muted"],
        "border": colours["line-focus"],
        "border-blurred": colours["line"],
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
        ansi=ansi,
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
        variables=own | marked | colours,
    )
