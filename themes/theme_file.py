"""What a theme file says, before it is checked: its values, and the line of each.

A file is TOML. The user's own may be YAML too, which was the form before: it is read as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from orbiter.parsing.nesting import NestedTooDeeply
from orbiter.parsing.toml_text import InvalidToml, KeyPath, parse_toml
from orbiter.text_input import UnreadableText, read_text
from themes.choice import ThemeError

MAX_BYTES: Final = 64 * 1024
"""Bytes of a theme file that are read: ours have less than two thousand."""
SUFFIXES: Final = frozenset({".toml", ".yaml", ".yml"})


class ThemeFile(NamedTuple):
    """`values` by key, those of a section in a mapping; a value of YAML is the text that stands there. `lines` from 1,
    by key, or by section and key.
    """

    values: Mapping[str, Any]
    lines: Mapping[KeyPath, int]


def read_theme_file(path: Path) -> ThemeFile:
    """What a theme file says.

    Raises:
        ThemeError: it cannot be read, is not a file, is too long to be a theme, or is not TOML (YAML).
    """
    try:
        text = read_text(path, most=MAX_BYTES)
    except UnreadableText as exc:
        raise ThemeError(str(exc)) from exc
    return parse_theme_file(text, str(path))


def parse_theme_file(text: str, source: str) -> ThemeFile:
    """What the text of a theme file says; `source` names it, and its end says whether it is YAML.

    Raises:
        ThemeError: it is not TOML (YAML), or has a key twice.
    """
    if source.endswith((".yaml", ".yml")):
        return _parse_yaml(text, source)
    try:
        return ThemeFile(*parse_toml(text))
    except InvalidToml as exc:
        raise ThemeError(f"{source}: {exc}") from exc


def _parse_yaml(text: str, source: str) -> ThemeFile:
    import yaml  # for those who have such files

    from orbiter.parsing.yaml_nodes import NodeLoader

    lines: dict[KeyPath, int] = {}

    def read(node: yaml.Node | None, at: KeyPath) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return str(node.value)
        if not isinstance(node, yaml.MappingNode) or len(at) > 1:
            return [] if node is not None else None
        found: dict[str, Any] = {}
        for key, value in node.value:
            name = str(key.value)
            here = (*at, name)
            line = key.start_mark.line + 1
            if here in lines:
                raise ThemeError(
                    f"{source}:{line}: {'.'.join(map(str, here))}: is there twice, first in line {lines[here]}"
                )
            lines[here] = line
            found[name] = read(value, here)
        return found

    try:
        root = NodeLoader(text).get_single_node()
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark
        at = f":{mark.line + 1}" if mark is not None else ""
        raise ThemeError(f"{source}{at}: not valid YAML: {exc.problem or exc.context}") from exc
    except (yaml.YAMLError, NestedTooDeeply) as exc:
        raise ThemeError(f"{source}: not valid YAML: {exc}") from exc
    values = read(root, ())
    if not isinstance(values, dict):
        at = f":{root.start_mark.line + 1}" if root is not None else ""
        raise ThemeError(f"{source}{at}: a theme is a mapping, with name, dark or base, and sections of colours")
    return ThemeFile(values, lines)
