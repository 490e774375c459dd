"""The mark in the environment of everything that a run starts: a process that drives runs sets it for itself.

Runs share their process, so it says that a process belongs to one of them, and not to which.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

RUN_MARK: Final = "ORBITER_IN_RUN"
"""The variable. Its value is the state directory of the workspace."""


def mark_this_process(state_dir: Path) -> None:
    """From now on what this process starts has the mark, unless its environment is made afresh."""
    os.environ[RUN_MARK] = str(state_dir)
