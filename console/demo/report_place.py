"""Where the demo writes."""

from __future__ import annotations

import os
from pathlib import Path


def state_dir() -> Path:
    """Where reports and the list of calls are written: the workspace's own directory (`--state` sets the variable)."""
    return Path(os.environ.get("ORBITER_STATE") or ".orbiter")


def report_file() -> Path:
    return state_dir() / "reports" / "survey.md"
