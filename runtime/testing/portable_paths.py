"""Directories of this machine, taken out of a record and put back: it can be read on another one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

WORKSPACE_MARK: Final = "‹workspace›"
HOME_MARK: Final = "‹home›"
_ENDS: Final = r"(?=[/\"':,;\s)\]}\\]|$)"
_BEGINS: Final = r"(?<![\w.-])"


def without_paths(text: str, workspace: Path, home: Path) -> str:
    """A text of JSON with marks in place of the workspace and of the home directory.

    Args:
        text: JSON, or lines of it.
        workspace: The directory of the workspace.
        home: The user's own directory.
    """
    for path, mark in ((workspace, WORKSPACE_MARK), (workspace.resolve(), WORKSPACE_MARK), (home, HOME_MARK)):
        if len(path.parts) > 1:
            shown = _inside(mark).replace("\\", r"\\")
            text = re.sub(f"{_BEGINS}{re.escape(_inside(str(path)))}{_ENDS}", shown, text)
    return text


def with_paths(text: str, workspace: Path, home: Path) -> str:
    """A text from `without_paths`, with the directories of this machine."""
    for path, mark in ((workspace, WORKSPACE_MARK), (home, HOME_MARK)):
        text = text.replace(_inside(mark), _inside(str(path)))
    return text


def _inside(text: str) -> str:
    """The text as it stands inside a string of JSON in ASCII."""
    return json.dumps(text)[1:-1]
