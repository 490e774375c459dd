"""The workspace: its directory, and its state directory (`.orbiter`).

A workspace is a directory in which swarms are run; what is kept of them lies in its `.orbiter`, or where `--state`
(or `ORBITER_STATE`) says. With `--workspace` (or `ORBITER_WORKSPACE`) the journal is on Postgres, and the state
directory is one of this machine's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from themes.catalog import ThemeCatalog


class Workspace(Struct, frozen=True):
    """`root` is the directory in which tools work; `state` the one in which the journal lies. Both absolute."""

    root: Path
    state: Path

    def themes(self, environment: Mapping[str, str]) -> ThemeCatalog:
        """The themes that can be chosen here, the user's own too."""
        from runtime.record.user_directories import config_home  # `dial-stdio` starts fast without these
        from themes.catalog import ThemeCatalog, theme_places

        return ThemeCatalog(theme_places(config_home(environment), self.state))


def workspace() -> Workspace:
    """The workspace of this process: the current directory's.

    Raises:
        JournalError: `ORBITER_WORKSPACE` cannot be used.
    """
    root, state = Path.cwd(), os.environ.get("ORBITER_STATE")
    if url := os.environ.get("ORBITER_WORKSPACE"):
        from runtime.record.places import make_state_directory  # `dial-stdio` starts fast without it

        return Workspace(root, make_state_directory(url, root / state if state else None))
    return Workspace(root, root / (state or ".orbiter"))
