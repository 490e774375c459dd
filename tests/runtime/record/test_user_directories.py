"""The user's own directories: the XDG variables count, but not for what every login must find."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.record.user_directories import config_home, shared_state, state_home
from runtime.record.workspace_lock import path_lock


@pytest.mark.parametrize(
    ("environ", "config", "state"),
    [
        ({"HOME": "/h"}, "/h/.config", "/h/.local/state"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"}, "/c", "/s"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "./s"}, "/h/.config", "/h/.local/state"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}, "/h/.config", "/h/.local/state"),
    ],
)
def test_an_absolute_variable_counts_and_nothing_else(environ: dict[str, str], config: str, state: str) -> None:
    assert (config_home(environ), state_home(environ)) == (Path(config), Path(state))


def test_what_every_login_must_find_is_moved_by_no_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    before = shared_state(), path_lock(tmp_path)
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    assert (shared_state(), path_lock(tmp_path)) == before
    assert shared_state() == tmp_path / ".local" / "state" / "orbiter"
