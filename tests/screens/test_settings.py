"""The page of settings: what is set, and who says so; a theme is chosen and shown at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.app import OrbiterApp
from console.preferences import Preferences
from screens.layout import plain
from screens.link import Session
from screens.settings import SettingsScreen
from screens.views.settings import Setting, settings_rows
from screens.widgets.livelist import LiveList
from tests.console.test_app import redrawn, settled, text_of, until
from tests.screens.desk import Desk
from tests.screens.stories import digest


def test_settings_are_grouped_and_foreign_values_pass_the_gate() -> None:
    found = [Setting("Looks", "a", "1", "x"), Setting("Looks", "b", "\x1b[2J[/x]"), Setting("Files", "c", "3")]
    rows = settings_rows(found, Session(Desk()).looks())
    assert [row.key for row in rows] == ["group:Looks", "Looks/a", "Looks/b", "group:Files", "Files/c"]
    assert "␛[2J[/x]" in plain(piece for cell in rows[2].cells for piece in cell)


async def test_the_page_says_what_is_set_and_by_whom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    desk = Desk(digest())
    preferred = Preferences(copy="file", sources={("console", "copy"): "/w/orbiter.toml:3"})
    app = OrbiterApp(Session(desk, clock=lambda: desk.now), preferences=preferred)
    async with app.run_test(size=(130, 44)) as pilot:
        await settled(pilot)
        await pilot.press("6")
        await until(pilot, lambda: isinstance(pilot.app.screen, SettingsScreen))
        await redrawn(pilot)
        text = text_of(pilot)
        for words in ("orbiter-dark", "into files", "/w/orbiter.toml:3", "preset", "quiet after one", "state"):
            assert words in text
        listed = pilot.app.screen.query_one("#settings", LiveList)
        listed.go_to("theme:orbiter-light")
        await pilot.press("enter")
        await until(pilot, lambda: app.theme == "orbiter-light")
        await pilot.press("t")
        await until(pilot, lambda: app.theme == "orbiter-contrast-dark")
        listed.go_to("Terminal/mouse")
        await pilot.press("enter")
        await until(pilot, lambda: "Only a theme can be changed here" in text_of(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: type(pilot.app.screen).__name__ == "HomeScreen")
