"""Pictures of every screen: dark, light and in ASCII, each in two sizes; one app, resized and dressed again, makes
several. More of lists, runs and desks are taken by `test_list_snapshots`, `test_run_snapshots` and `test_desk_screens`.
`pytest --snapshot-update` takes them again; look at them before you commit them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_textual_snapshot import SVGImageExtension  # type: ignore[import-untyped]
from syrupy.assertion import SnapshotAssertion

from console.app.app import OrbiterApp
from console.workspace import Workspace
from tests.screens.pictures import PICTURES
from tests.screens.waiting import drawn
from tests.screens.widgets.test_live_widgets import screen_text

SMALL, LARGE = (80, 24), (120, 40)


@pytest.fixture(autouse=True)
def somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are shown in the zone of the reader, and settings tell of the terminal."""
    for name in ("NO_COLOR", "TMUX", "STY", "SSH_CONNECTION", "SSH_TTY", "ORBITER_THEME", "ORBITER_ASCII"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TZ": "UTC", "TERM": "xterm-256color", "COLORTERM": "truecolor"}.items():
        monkeypatch.setenv(name, value)
    time.tzset()
    elsewhere = Path("/home/op/survey")
    monkeypatch.setattr("console.app.settings_source.workspace", lambda: Workspace(elsewhere, elsewhere / ".orbiter"))


@pytest.fixture
def same(snapshot: SnapshotAssertion) -> Callable[[OrbiterApp, str], bool]:
    """Whether the app looks as it did when that picture of it was looked at."""
    pictures = snapshot.use_extension(SVGImageExtension)
    return lambda app, name: bool(pictures(name=name) == app.picture())


@pytest.mark.parametrize("name", PICTURES)
async def test_dark_and_light(same: Callable[[OrbiterApp, str], bool], name: str) -> None:
    picture = PICTURES[name]
    app = picture.app()
    found = {}
    async with app.run_test(size=SMALL) as pilot:
        await picture.take(pilot)
        for look, size in (("dark", SMALL), ("light", SMALL), ("light", LARGE), ("dark", LARGE)):
            app.theme = f"orbiter-{look}"
            await pilot.resize_terminal(*size)
            await drawn(pilot)
            found[look, size] = same(app, f"{look}-{size[0]}x{size[1]}")
    assert [picture for picture, is_same in found.items() if not is_same] == []


@pytest.mark.parametrize("name", PICTURES)
async def test_ascii(same: Callable[[OrbiterApp, str], bool], name: str) -> None:
    """Nothing else is painted: no border, no scroll bar, no ellipsis, no bar."""
    picture = PICTURES[name]
    app = picture.app(ascii_only=True)
    found = {}
    async with app.run_test(size=SMALL) as pilot:
        await picture.take(pilot)
        for size in (SMALL, LARGE):
            await pilot.resize_terminal(*size)
            await drawn(pilot)
            assert [line for line in screen_text(app) if not line.isascii()] == []
            found[size] = same(app, f"{size[0]}x{size[1]}")
    assert [picture for picture, is_same in found.items() if not is_same] == []
