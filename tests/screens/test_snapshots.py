"""Pictures of every screen: dark in two sizes, light and in ASCII in one. More of lists, runs and desks are taken by
`test_list_snapshots`, `test_run_snapshots` and `test_desk_screens`. `pytest --snapshot-update` takes them anew; look at
them before you commit them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console.workspace import Workspace
from tests.screens.pictures import PICTURES
from tests.screens.test_livewidgets import screen_text

Compare = Callable[..., bool]


@pytest.fixture(autouse=True)
def somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are shown in the zone of whoever looks, and settings tell of the terminal."""
    for name in ("NO_COLOR", "TMUX", "STY", "SSH_CONNECTION", "SSH_TTY", "ORBITER_THEME", "ORBITER_ASCII"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TZ": "UTC", "TERM": "xterm-256color", "COLORTERM": "truecolor"}.items():
        monkeypatch.setenv(name, value)
    time.tzset()
    elsewhere = Path("/home/op/survey")
    monkeypatch.setattr("console.settings.workspace", lambda: Workspace(elsewhere, elsewhere / ".orbiter"))


@pytest.mark.parametrize("size", [pytest.param((80, 24), id="80x24"), pytest.param((120, 40), id="120x40")])
@pytest.mark.parametrize("name", [name for name, picture in PICTURES.items() if picture.in_dark])
def test_dark(snap_compare: Compare, name: str, size: tuple[int, int]) -> None:
    picture = PICTURES[name]
    assert snap_compare(picture.app(), terminal_size=size, run_before=picture.take)


@pytest.mark.parametrize("name", PICTURES)
def test_light(snap_compare: Compare, name: str) -> None:
    picture = PICTURES[name]
    assert snap_compare(picture.app(theme="orbiter-light"), terminal_size=(80, 24), run_before=picture.take)


@pytest.mark.parametrize("name", PICTURES)
def test_ascii(snap_compare: Compare, name: str) -> None:
    """Nothing else is painted: no border, no scroll bar, no ellipsis, no bar."""
    picture = PICTURES[name]

    async def taken(pilot: Pilot[Any]) -> None:
        await picture.take(pilot)
        assert [line for line in screen_text(pilot.app) if not line.isascii()] == []

    assert snap_compare(picture.app(ascii_only=True), terminal_size=(80, 24), run_before=taken)
