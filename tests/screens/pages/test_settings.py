"""The page of settings: what is set, and who says so; a theme is chosen and shown at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.app.app import OrbiterApp
from console.preferences.schema import Preferences
from console.workspace import Workspace
from screens.pages.settings import SettingsScreen
from screens.render.layout import plain_text
from screens.shell.context import ConsoleContext, Notice
from screens.views.lists.settings import Setting, settings_rows
from screens.widgets.row_list import RowList
from tests.console.app.console_bench import redrawn, settled, text_of
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import START, digest
from tests.screens.waiting import press, until


def test_settings_are_grouped_and_foreign_values_pass_the_gate() -> None:
    found = [Setting("Looks", "a", "1", "x"), Setting("Looks", "b", "\x1b[2J[/x]"), Setting("Files", "c", "3")]
    rows = settings_rows(found, ConsoleContext(MemoryLink()).render_context())
    assert [row.key for row in rows] == ["group:Looks", "Looks/a", "Looks/b", "group:Files", "Files/c"]
    assert "␛[2J[/x]" in plain_text(piece for cell in rows[2].cells for piece in cell)


async def test_the_page_says_what_is_set_and_by_whom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    link = MemoryLink(digest())
    preferred = Preferences(copy="file", sources={("console", "copy"): "/w/orbiter.toml:3"})
    app = OrbiterApp(ConsoleContext(link, clock=lambda: link.now), preferences=preferred)
    async with app.run_test(size=(130, 44)) as pilot:
        await settled(pilot)
        await press(pilot, "6", then=SettingsScreen)
        await redrawn(pilot)
        text = text_of(pilot)
        for words in ("orbiter-dark", "into files", "/w/orbiter.toml:3", "preset", "quiet after one", "state"):
            assert words in text
        listed = pilot.app.screen.query_one("#settings", RowList)
        listed.go_to("theme:orbiter-light")
        await press(pilot, "enter", then=lambda: app.theme == "orbiter-light")
        await press(pilot, "t", then=lambda: app.theme == "orbiter-contrast-dark")
        listed.go_to("Terminal/mouse")
        await press(pilot, "enter", then="e opens the file")
        await press(pilot, "escape", then=lambda: type(pilot.app.screen).__name__ == "InboxScreen")


async def test_what_is_edited_holds_at_once_and_what_cannot_be_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("console.preferences.loader.workspace", lambda: Workspace(tmp_path, tmp_path / ".orbiter"))
    file = tmp_path / "orbiter.toml"
    link = MemoryLink(digest())
    app = OrbiterApp(ConsoleContext(link, clock=lambda: link.now, arm_after=0.0))
    async with app.run_test(size=(150, 44)) as pilot:
        await settled(pilot)
        await press(pilot, "6", then=SettingsScreen)
        for wrong, said in (
            ("[console\n", "not valid TOML"),
            ("[console]\nmous = true\n", f"{file}:2: console.mous: unknown key: did you mean 'mouse'?"),
            ("[keys]\nhelp = 'x y'\n", "Nothing is changed"),
        ):
            file.write_text(wrong)
            app.session.said.append(Notice(START, "info", ""))
            await pilot.press("R")
            await until(pilot, lambda said=said: said in app.session.said[-1].text)  # type: ignore[misc]
        before = app.preferences
        file.write_text(
            "[console]\ntheme = 'orbiter-light'\ncopy = 'file'\nmouse = true\n"
            "[keys.everywhere]\nhelp = 'f9'\n[keys.decision]\ndeny = '.'\n[keys.help]\nclose = 'f9'\n"
        )
        await press(pilot, "R", then="hold from now on; at the next start: mouse")
        assert app.theme == "orbiter-light"
        assert (before.copy, app.preferences.copy) == ("terminal", "file")
        await press(pilot, "f9", then="f9 closes")
        await press(pilot, "f9", "n", then=". Deny")
        await pilot.press("6")
        file.unlink()
        await press(pilot, "R", "n", then="d Deny")


async def test_without_an_editor_the_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.setattr("console.preferences.loader.workspace", lambda: Workspace(tmp_path, tmp_path / ".orbiter"))
    link = MemoryLink(digest())
    app = OrbiterApp(ConsoleContext(link, clock=lambda: link.now))
    async with app.run_test(size=(200, 44)) as pilot:
        await settled(pilot)
        await press(pilot, "6", then=SettingsScreen)
        app.session.said.append(Notice(START, "info", ""))
        await press(pilot, "e", then=lambda: f"edit {tmp_path / 'orbiter.toml'}, then" in app.session.said[-1].text)


async def test_a_section_that_nobody_knows_is_said_when_the_console_opens() -> None:
    link = MemoryLink(digest())
    said = "orbiter.toml:3: unknown section [keyz]: did you mean [keys]?"
    app = OrbiterApp(ConsoleContext(link, clock=lambda: link.now), preferences=Preferences(unknown=(said,)))
    async with app.run_test(size=(120, 24)) as pilot:
        await until(pilot, lambda: said in text_of(pilot))
