"""Patch of Textual: a style sheet is parsed once for each theme, and not again for every screen.

Textual 8.2.8 forgets what it has parsed whenever a screen with a sheet of its own is shown, and whenever the theme is
set, even to the one that it has (`textual/css/stylesheet.py`, `reparse` and `set_variables`). So a console parsed the
default styles of all its widgets three times before its first frame, and with each theme that was looked at.
"""

from __future__ import annotations

from typing import Any

from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

MAX_SOURCES = 512
"""Sheets that are remembered: more than there are. Textual remembers 64, which a console with all screens exceeds."""
MAX_THEMES = 4
"""Themes whose parsed sheets are remembered."""

_Parsed = LRUCache[tuple[Any, ...], list[RuleSet]]
_parsed: LRUCache[frozenset[tuple[str, str]], _Parsed] = LRUCache(MAX_THEMES)
"""What was parsed, by the variables of a theme."""


def _parsed_with(variables: dict[str, str]) -> _Parsed:
    theme = frozenset(variables.items())
    if theme not in _parsed:
        _parsed[theme] = LRUCache(MAX_SOURCES)
    return _parsed[theme]


class ParsedOnceStylesheet(Stylesheet):
    """The style sheet of an app; what was parsed with the variables of a theme stands."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._parse_cache = _parsed_with(self._variables)

    def set_variables(self, variables: dict[str, str]) -> None:
        """The variables of a theme; where they are those that it has, nothing changes."""
        if variables != self._variables:
            self._parse_cache = LRUCache(1)  # Textual empties the one that it has
            super().set_variables(variables)
            self._parse_cache = _parsed_with(variables)

    def reparse(self) -> None:
        """Parse what was not parsed with these variables; also what could not be parsed, for it may be mended.

        A sheet that cannot be read, or is wrong, raises Textual's own error, and all rules stand as they were.
        """
        self._invalid_css = set()
        self.parse()
