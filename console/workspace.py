"""The workspace: its directory, and its state directory (`.orbiter`).

A workspace is a directory in which swarms are run; what is kept of them lies in its `.orbiter`, or where `--state`
(or `ORBITER_STATE`) says.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Workspace:
    """`root` is the directory in which tools work; `state` the one in which the journal lies. Both absolute."""

    root: Path
    state: Path


def workspace() -> Workspace:
    """The workspace of this process: the current directory's."""
    root = Path.cwd()
    return Workspace(root, root / (os.environ.get("ORBITER_STATE") or ".orbiter"))
