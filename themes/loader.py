"""Theme files, checked, as themes of Textual.

A file has `name`, `dark`, and one section per group of tokens (`themes/tokens.py`). Every token must be there,
unless `base` names the built-in theme that the rest is taken from, and none besides: a screen never meets a colour
that its theme forgot. Colours are '#rrggbb', or those of the terminal (`ansi_red`), never both in one theme: Textual
paints either the one kind as it is or the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from textual.color import Color, ColorParseError
from textual.theme import Theme

from orbiter.parsing.near_names import did_you_mean
from orbiter.parsing.toml_text import KeyPath, line_of_key
from themes.builtin_themes import builtin_theme, make_theme
from themes.choice import BUILTIN_NAMES, ThemeError
from themes.theme_file import ThemeFile, parse_theme_file, read_theme_file
from themes.tokens import SECTIONS, css_variable

_KEYS: Final = ("name", "dark", "base", *SECTIONS)


def load_theme(path: Path) -> Theme:
    """The theme in a user's file. It is called as it says, or else as the file is.

    Raises:
        ThemeError: it cannot be read, lacks or invents something, or has the name of a built-in theme.
    """
    theme = _Reader(str(path), read_theme_file(path)).theme(path.stem)
    if theme.name in BUILTIN_NAMES:
        raise ThemeError(f"{path}: name: {theme.name} is a built-in theme, give yours another name")
    return theme


def parse_theme(text: str, source: str, *, name: str = "") -> Theme:
    """The theme that `text` describes; `source` names it in errors, `name` is for one that gives itself none.

    Raises:
        ThemeError: see `load_theme`.
    """
    return _Reader(source, parse_theme_file(text, source)).theme(name)


class _Reader(NamedTuple):
    """Checks what a file says, key by key. An error names file, line and key."""

    source: str
    file: ThemeFile

    def theme(self, name: str) -> Theme:
        given = self.file.values
        self._check_keys((), given, _KEYS)
        if "name" in given:
            name = given["name"] if isinstance(given["name"], str) else ""
        if not name.strip() or not name.isprintable():
            self._refuse(("name",), "a theme needs a name, as printable text")
        base = self._base()
        dark = self._dark() if base is None or "dark" in given else base.dark
        colours = {} if base is None else {token: base.variables[token] for token in _variables()}
        for section, tokens in SECTIONS.items():
            if section in given or base is None:
                colours |= self._section(section, tokens, whole=base is None)
        return make_theme(name, dark, colours, ansi=_ansi(colours, self.source))

    def _check_keys(self, at: KeyPath, given: Iterable[str], known: tuple[str, ...]) -> None:
        for name in given:
            if name not in known:
                self._refuse((*at, name), f"unknown; {did_you_mean(name, known)}there are {', '.join(known)}")

    def _section(self, section: str, tokens: Mapping[str, str], *, whole: bool) -> dict[str, str]:
        """The colours of one group of tokens; all of them are needed if `whole`."""
        values = self.file.values.get(section)
        if not isinstance(values, Mapping):
            missing = "is missing: " if values is None else ""
            self._refuse((section,), f"{missing}a mapping from token to colour is needed, with {', '.join(tokens)}")
        self._check_keys((section,), values, tuple(tokens))
        found: dict[str, str] = {}
        for token, meaning in tokens.items():
            if token in values:
                found[css_variable(section, token)] = self._color((section, token), values[token])
            elif whole:
                self._refuse((section, token), f"is missing ({meaning}); or name a base: {', '.join(BUILTIN_NAMES)}")
        return found

    def _color(self, at: KeyPath, value: Any) -> str:
        try:
            colour = Color.parse(value) if isinstance(value, str) else None
        except ColorParseError:
            colour = None
        if colour is None or colour.a < 1 or colour.auto:
            shown = repr(value) if value else "nothing (in YAML an unquoted # begins a comment)"
            must = "must be '#rrggbb' or a name, for example '#f59ad0' or ansi_red"
            self._refuse(at, f"{shown} is not an opaque colour: {must}")
        return str(value)

    def _base(self) -> Theme | None:
        name = self.file.values.get("base")
        if name is None:
            return None
        if not isinstance(name, str) or name not in BUILTIN_NAMES:
            meant = did_you_mean(name, BUILTIN_NAMES)
            there = f"there are {', '.join(BUILTIN_NAMES)}"
            self._refuse(("base",), f"{name!r} is not a built-in theme; {meant}{there}")
        return builtin_theme(name)

    def _dark(self) -> bool:
        value = str(self.file.values.get("dark")).lower()
        if value not in {"true", "false"}:
            self._refuse(("dark",), "true for light text on a dark ground, false for the reverse")
        return value == "true"

    def _refuse(self, at: KeyPath, why: str) -> NoReturn:
        line = line_of_key(at, self.file.lines)
        place = f"{self.source}:{line}" if line is not None else self.source
        raise ThemeError(f"{place}: {'.'.join(map(str, at))}: {why}")


def _ansi(colours: Mapping[str, str], source: str) -> bool:
    """Whether the colours are the terminal's own."""
    own = [token for token, value in colours.items() if value.startswith("ansi_")]
    if own and len(own) < len(colours):
        other = next(token for token in colours if token not in own)
        raise ThemeError(
            f"{source}: ${own[0]} is {colours[own[0]]} and ${other} is {colours[other]}: "
            "a theme has colours of the terminal (ansi_...) or '#rrggbb', not both"
        )
    return bool(own)


def _variables() -> list[str]:
    return [css_variable(section, token) for section, tokens in SECTIONS.items() for token in tokens]
