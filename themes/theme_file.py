"""The text of a theme file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from themes.choice import ThemeError

SIZE: Final = 64 * 1024
"""Bytes of a theme file that are read: ours have less than two thousand."""


def read_theme_file(path: Path) -> str:
    """A theme file's text.

    Raises:
        ThemeError: it cannot be read, is not UTF-8, or is too long to be a theme.
    """
    try:
        with path.open("rb") as file:
            data = file.read(SIZE + 1)
        if len(data) > SIZE:
            raise ThemeError(f"{path}: has more than {SIZE} bytes; a theme has some two thousand")
        return data.decode()
    except (OSError, UnicodeDecodeError) as exc:
        raise ThemeError(f"{path}: cannot be read: {exc}") from exc
