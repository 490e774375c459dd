"""Theme files, read and checked, as themes of Textual.

A file is YAML: `name`, `dark`, and one section per group of tokens (`themes/tokens.py`). Every token must be there,
unless `base` names the built-in theme that the rest is taken from, and none besides: a screen never meets a colour
that its theme forgot. Colours are '#rrggbb', or those of the terminal (`ansi_red`), never both in one theme: Textual
paints either the one kind as it is or the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import yaml
from textual.color import Color, ColorParseError
from textual.theme import Theme

from themes.builtin_themes import builtin_theme, make_theme
from themes.choice import BUILTIN_NAMES, ThemeError
from themes.theme_file import read_theme_file
from themes.tokens import SECTIONS, css_variable

_KEYS: Final = ("name", "dark", "base", *SECTIONS)


class _Given(NamedTuple):
    """A value of a file, and where it stands."""

    node: yaml.Node
    line: int


def load_theme(path: Path) -> Theme:
    """The theme in a user's file. It is called as it says, or else as the file is.

    Raises:
        ThemeError: it cannot be read, is no YAML, lacks or invents something, or has the name of a built-in theme.
    """
    theme = parse_theme(read_theme_file(path), str(path), name=path.stem)
    if theme.name in BUILTIN_NAMES:
        raise ThemeError(f"{path}: name: {theme.name} is a built-in theme, give yours another name")
    return theme


def parse_theme(text: str, source: str, *, name: str = "") -> Theme:
    """The theme that `text` describes; `source` names it in errors, `name` is for one that gives itself none.

    Raises:
        ThemeError: see `load`.
    """
    given = _read_mapping(_compose(text, source), source, "", _KEYS)
    if "name" in given:
        name = _read_text(given["name"])
    if not name.strip() or not name.isprintable():
        _refuse(source, given.get("name"), "name", "a theme needs a name, as printable text")
    base = _read_base(given.get("base"), source)
    dark = _read_bool(given.get("dark"), source) if base is None or "dark" in given else base.dark
    colours = {} if base is None else {token: base.variables[token] for token in _variables()}
    for section, tokens in SECTIONS.items():
        if section in given or base is None:
            colours |= _read_section(given.get(section), section, tokens, source, whole=base is None)
    return make_theme(name, dark, colours, ansi=_ansi(colours, source))


def _compose(text: str, source: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark
        at = f":{mark.line + 1}" if mark is not None else ""
        raise ThemeError(f"{source}{at}: is no YAML: {exc.problem or exc.context}") from exc
    except (yaml.YAMLError, RecursionError) as exc:
        raise ThemeError(f"{source}: is no YAML: {exc}") from exc


def _read_mapping(node: yaml.Node | None, source: str, section: str, keys: tuple[str, ...]) -> dict[str, _Given]:
    """The values of a mapping by key, with what stands there and nothing twice or unknown."""
    if not isinstance(node, yaml.MappingNode):
        what = f"{section}: a mapping from token to colour is needed" if section else "a theme is a mapping"
        raise ThemeError(f"{source}{_at(node)}: {what}, with {', '.join(keys)}")
    found: dict[str, _Given] = {}
    prefix = f"{section}." if section else ""
    for key, value in node.value:
        given, name = _Given(value, key.start_mark.line + 1), str(key.value)
        if not isinstance(key, yaml.ScalarNode) or name not in keys:
            near = get_close_matches(name.lower(), keys, n=1, cutoff=0.5)
            meant = f"did you mean {near[0]}? " if near else ""
            _refuse(source, given, f"{prefix}{name}", f"unknown; {meant}there are {', '.join(keys)}")
        if name in found:
            _refuse(source, given, f"{prefix}{name}", f"is there twice, first in line {found[name].line}")
        found[name] = given
    return found


def _read_section(
    given: _Given | None, section: str, tokens: Mapping[str, str], source: str, *, whole: bool
) -> dict[str, str]:
    """The colours of one group of tokens; all of them are needed if `whole`."""
    if given is None:
        raise ThemeError(f"{source}: {section} is missing: a mapping from token to colour, with {', '.join(tokens)}")
    values = _read_mapping(given.node, source, section, tuple(tokens))
    found: dict[str, str] = {}
    for token, meaning in tokens.items():
        if token in values:
            found[css_variable(section, token)] = _read_color(values[token], f"{section}.{token}", source)
        elif whole:
            _refuse(
                source,
                given,
                f"{section}.{token}",
                f"is missing ({meaning}); or name a base: {', '.join(BUILTIN_NAMES)}",
            )
    return found


def _read_color(given: _Given, key: str, source: str) -> str:
    value = _read_text(given)
    try:
        colour = Color.parse(value)
    except ColorParseError:
        colour = None
    if colour is None or colour.a < 1 or colour.auto:
        shown = repr(value) if value else "nothing (an unquoted # begins a comment)"
        _refuse(source, given, key, f"{shown} is no opaque colour, write it as '#rrggbb' or as ansi_red")
    return value


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


def _read_base(given: _Given | None, source: str) -> Theme | None:
    if given is None:
        return None
    name = _read_text(given)
    if name not in BUILTIN_NAMES:
        near = get_close_matches(name.lower(), BUILTIN_NAMES, n=1, cutoff=0.4)
        meant = f"did you mean {near[0]}? " if near else ""
        _refuse(source, given, "base", f"{name!r} is no built-in theme; {meant}there are {', '.join(BUILTIN_NAMES)}")
    return builtin_theme(name)


def _read_bool(given: _Given | None, source: str) -> bool:
    value = _read_text(given).lower()
    if value not in {"true", "false"}:
        _refuse(source, given, "dark", "true for light text on a dark ground, false for the reverse")
    return value == "true"


def _read_text(given: _Given | None) -> str:
    return str(given.node.value) if given is not None and isinstance(given.node, yaml.ScalarNode) else ""


def _variables() -> list[str]:
    return [css_variable(section, token) for section, tokens in SECTIONS.items() for token in tokens]


def _at(node: yaml.Node | None) -> str:
    return f":{node.start_mark.line + 1}" if node is not None else ""


def _refuse(source: str, given: _Given | None, key: str, why: str) -> NoReturn:
    line = f":{given.line}" if given is not None else ""
    raise ThemeError(f"{source}{line}: {key}: {why}")
