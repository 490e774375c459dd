"""Patch of Textual: a style sheet is parsed once for each theme, and not again for every screen.

Textual 8.2.8 forgets what it has parsed whenever a screen with a sheet of its own is shown, and whenever the theme is
set, even to the one that it has (`textual/css/stylesheet.py`, `reparse` and `set_variables`). So a console parsed the
default styles of all its widgets three times before its first frame.
"""

from __future__ import annotations

from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet

MAX_SOURCES = 512
"""Sheets that are remembered: more than there are. Textual remembers 64, which a console with all screens exceeds."""


class ParsedOnceStylesheet(Stylesheet):
    """The style sheet of an app; what was parsed stands until the variables are others."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._parse_cache = LRUCache(MAX_SOURCES)

    def set_variables(self, variables: dict[str, str]) -> None:
        """The variables of a theme; where they are those that it has, nothing changes."""
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        """Parse what was not parsed with these variables; also what could not be parsed, for it may be mended.

        A sheet that cannot be read, or is wrong, raises Textual's own error, and all rules stand as they were.
        """
        self._invalid_css = set()
        self.parse()
