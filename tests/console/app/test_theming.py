"""Themes in the running console: a file that is edited while it is shown, and terminals without colours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rich.color import Color as PaintedColor
from rich.color import ColorType
from textual.color import Color

from console.app import theming
from console.app.app import OrbiterApp
from screens.shell.context import ConsoleContext
from screens.widgets.bar import Bar
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import digest
from tests.screens.waiting import until
from themes.builtin_themes import builtin_theme
from themes.catalog import ThemeCatalog, ThemePlace
from themes.choice import BUILTIN_NAMES, DEFAULT_THEME, PLAINEST_THEME, ColorDepth, ThemeError
from themes.color_depth import nearest_fixed, theme_for_depth

FILE = "base: orbiter-dark\ngrounds:\n  surface: '{}'\n"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(theming, "THEME_CHECK_S", 0.01)
    monkeypatch.delenv("NO_COLOR", raising=False)
    path = tmp_path / "mine.yaml"
    path.write_text(FILE.format("#101010"))
    return path


def app_in(theme: str, *folders: Path) -> OrbiterApp:
    link = MemoryLink(digest())
    session = ConsoleContext(link, clock=lambda: link.now)
    return OrbiterApp(session, theme=theme, shelf=ThemeCatalog([ThemePlace(folder, "user") for folder in folders]))


def grounds(app: OrbiterApp) -> set[str]:
    """The colours behind the text of the screen as it is painted now."""
    strips = app.screen._compositor.render_strips()
    styles = [segment.style for strip in strips for segment in strip if segment.style]
    return {style.bgcolor.triplet.hex for style in styles if style.bgcolor and style.bgcolor.triplet}


async def test_a_file_that_is_edited_is_shown_anew(mine: Path) -> None:
    app = app_in("mine", mine.parent)
    async with app.run_test() as pilot:
        await until(pilot, lambda: "#101010" in grounds(app))
        assert "#101010" in app.picture()
        mine.write_text(FILE.format("#202122"))
        await until(pilot, lambda: "#202122" in grounds(app))
        assert "#101010" not in grounds(app)
        mine.write_text(FILE.format("#303132") + "name: renamed\n")
        await until(pilot, lambda: app.theme == "renamed" and "#303132" in grounds(app))


async def test_a_broken_edit_is_said_in_a_line_and_changes_nothing(mine: Path) -> None:
    app = app_in("mine", mine.parent)
    async with app.run_test(size=(200, 30)) as pilot:
        notice = app.screen.query_one("#notice", Bar)
        await until(pilot, lambda: "#101010" in grounds(app))
        mine.write_text(FILE.format("#20212"))
        await until(pilot, lambda: notice.has_class("-shown"))
        (said,) = notice.shown
        assert "mine.yaml:3: grounds.surface: '#20212' is not an opaque colour" in said.text
        assert "as it was" in said.text
        assert "#101010" in grounds(app)
        mine.unlink()
        await until(pilot, lambda: "cannot be read" in notice.shown[0].text)
        assert "#101010" in grounds(app)
        mine.write_text(FILE.format("#202122"))
        await until(pilot, lambda: "#202122" in grounds(app))


async def test_files_are_looked_at_only_while_one_of_them_is_shown(mine: Path) -> None:
    app = app_in(DEFAULT_THEME, mine.parent)
    async with app.run_test() as pilot:
        await until(pilot, lambda: "mine" in app.available_themes)
        assert not app.themes.watching
        app.theme = "mine"
        await until(pilot, lambda: app.themes.watching)
        reads: list[object] = []
        app.themes._learn = reads.append  # type: ignore[assignment, method-assign]
        os.utime(mine, (1, 1))  # changed once, and then no more: the file is read once
        await until(pilot, lambda: bool(reads))
        await pilot.pause(0.1)
        assert len(reads) == 1
        app.theme = DEFAULT_THEME
        await until(pilot, lambda: not app.themes.watching)


async def test_a_file_that_cannot_be_used_is_no_choice_and_cannot_be_asked_for(mine: Path) -> None:
    mine.write_text("a: [")
    app = app_in(DEFAULT_THEME, mine.parent)
    async with app.run_test() as pilot:
        await until(pilot, lambda: len(app.available_themes) >= len(BUILTIN_NAMES))
        assert set(app.available_themes) == set(BUILTIN_NAMES)
    with pytest.raises(ThemeError, match=r"mine\.yaml:1"):
        app_in("mine", mine.parent)


def painted(app: OrbiterApp) -> set[PaintedColor]:
    """Every colour of the screen as it is painted now."""
    strips = app.screen._compositor.render_strips()
    styles = [segment.style for strip in strips for segment in strip if segment.style]
    return {colour for style in styles for colour in (style.color, style.bgcolor) if colour is not None}


@pytest.mark.parametrize(("term", "kind"), [("xterm-256color", ColorType.EIGHT_BIT), ("xterm", ColorType.STANDARD)])
async def test_few_colours_are_those_of_the_theme_and_a_change_leaves_none_of_the_old(
    monkeypatch: pytest.MonkeyPatch, term: str, kind: ColorType
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLORTERM", "")
    depth: ColorDepth = "256" if kind is ColorType.EIGHT_BIT else "16"
    app = app_in("orbiter-light")
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: len(app.available_themes) == len(BUILTIN_NAMES))
        for name in ("orbiter-light", "orbiter-dark", "orbiter-ansi-dark", "orbiter-contrast-dark"):
            variables = theme_for_depth(builtin_theme(name), depth).variables.values()
            theirs = [Color.parse(value) for value in variables if value.startswith(("#", "ansi_"))]
            if builtin_theme(name).ansi or depth == "16":
                own = {colour.rich_color for colour in theirs} | {PaintedColor.default()}
            else:
                own = {PaintedColor.from_ansi(nearest_fixed(*colour.rgb)) for colour in theirs}
            app.theme = name
            await until(pilot, lambda own=own: painted(app) <= own)  # type: ignore[misc]
            assert {colour.type for colour in painted(app)} <= {kind, ColorType.STANDARD, ColorType.DEFAULT}


async def test_without_colours_only_themes_for_that_are_chosen_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_in("orbiter-light")
    async with app.run_test() as pilot:
        await until(pilot, lambda: len(app.available_themes) > 1)
        assert app.theme == PLAINEST_THEME
        assert {name for name in BUILTIN_NAMES if "ansi" in name} == set(app.available_themes)
        strips = app.screen._compositor.render_strips()
        styles = [segment.style for strip in strips for segment in strip if segment.style]
        assert {(style.color, style.bgcolor) for style in styles} == {(None, None)}
        assert any(style.reverse for style in styles), "the row under the cursor"
