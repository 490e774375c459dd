"""What goes wrong in the console itself: a line, never a traceback over the screen; the rest of it goes on."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from console.log_file import MAX_LOG_BYTES, ConsoleLog
from screens.dialogs.help import HelpScreen
from screens.pages.inbox import InboxScreen
from screens.pages.run import RunScreen
from screens.pages.settings import SettingsScreen
from screens.pages.swarms import SwarmsScreen
from screens.widgets.node_tree import NodeTree
from screens.widgets.row_list import RowList
from tests.console.app.console_bench import console, settled, text_of
from tests.console.program import Program
from tests.console.pseudo_terminal import ConsoleTerminal, Terminal
from tests.patience import PATIENCE_S
from tests.screens.stories import digest, finished
from tests.screens.waiting import press, until

pytestmark = pytest.mark.mishaps


def fails(*_: Any, **__: Any) -> Any:
    raise KeyError("[/x] a bug")


def shows(pilot: Any, *words: str) -> bool:
    return all(word in text_of(pilot) for word in words)


@pytest.mark.parametrize("part", ["body", "on_mount", "a list's mount", "a list's painting"])
async def test_a_place_that_fails_while_it_is_made_is_closed_and_the_inbox_says_so(
    monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    painted = RowList.render_line

    def paints(listed: RowList, y: int) -> Any:
        return fails() if listed.id == "settings" else painted(listed, y)

    def mounts(listed: RowList) -> None:
        if listed.id == "settings":
            fails()

    async with console(digest(), size=(160, 30), run_id="run-1") as (pilot, _):
        with monkeypatch.context() as broken:
            if part == "a list's mount":
                broken.setattr(RowList, "on_mount", mounts, raising=False)
            elif part == "a list's painting":
                broken.setattr(RowList, "render_line", paints)
            else:
                broken.setattr(SettingsScreen, part, fails)
            await press(pilot, "6", then=InboxScreen)
            await settled(pilot)
            await until(pilot, lambda: shows(pilot, "A screen failed and was closed", "[/x] a bug"))
        await press(pilot, "6", then=lambda: isinstance(pilot.app.screen, SettingsScreen) and shows(pilot, "preset"))
        await press(pilot, "n", then=RunScreen)


async def test_a_style_sheet_that_is_wrong_closes_nothing_but_its_screen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "wrong.tcss").write_text("#list { colour green; ")
    async with console(digest(), size=(160, 30)) as (pilot, _):
        with monkeypatch.context() as broken:
            broken.setattr(SwarmsScreen, "CSS_PATH", str(tmp_path / "wrong.tcss"))
            await press(pilot, "2", then=lambda: shows(pilot, "This cannot be opened"))
        assert isinstance(pilot.app.screen, InboxScreen)
        for key, place in (("6", SettingsScreen), ("2", SwarmsScreen)):
            await pilot.press(key)
            await until(pilot, lambda place=place: isinstance(pilot.app.screen, place))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "key"), [("action_faults_only", "F"), ("on_line_list_moved", "down"), ("_changed", "")]
)
async def test_a_handler_that_fails_is_a_line_and_its_screen_stands(
    monkeypatch: pytest.MonkeyPatch, name: str, key: str
) -> None:
    async with console(digest(), finished(), size=(160, 30)) as (pilot, _):
        with monkeypatch.context() as broken:
            broken.setattr(InboxScreen, name, fails, raising=False)
            if key:
                await pilot.press(key)
            else:  # what a timer calls
                pilot.app.screen.call_later(pilot.app.screen._changed)  # type: ignore[attr-defined]
            await until(pilot, lambda: shows(pilot, "This did not work", "[/x] a bug"))
        assert isinstance(pilot.app.screen, InboxScreen)
        await press(pilot, "n", then=RunScreen)


async def test_work_in_the_background_that_fails_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async with console(digest(), size=(160, 30), run_id="run-1") as (pilot, link):
        monkeypatch.setattr(link, "command", fails)
        await until(pilot, lambda: pilot.app.screen.query_one("Prompt").armed)  # type: ignore[attr-defined]
        await press(pilot, "d", "enter", then=lambda: shows(pilot, "This did not work", "[/x] a bug"))
        assert isinstance(pilot.app.screen, RunScreen)


async def test_a_dialog_that_fails_is_closed_and_what_is_below_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    async with console(digest(), size=(160, 30), run_id="run-1") as (pilot, _):
        with monkeypatch.context() as broken:
            broken.setattr(HelpScreen, "compose", fails)
            await press(pilot, "question_mark", then=lambda: shows(pilot, "A screen failed and was closed"))
        assert isinstance(pilot.app.screen, RunScreen)
        await press(pilot, "question_mark", then=HelpScreen)


async def test_a_screen_that_fails_while_it_is_painted_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with console(digest(), size=(160, 30), run_id="run-1") as (pilot, _):
        with monkeypatch.context() as broken:
            broken.setattr(NodeTree, "render_line", fails)
            pilot.app.screen.query_one(NodeTree).refresh()
            async with asyncio.timeout(PATIENCE_S):
                while not isinstance(pilot.app.screen, InboxScreen):  # noqa: ASYNC110 - a pilot paints, and would fail
                    await asyncio.sleep(0.01)
            await settled(pilot)
            await until(pilot, lambda: shows(pilot, "A screen failed and was closed"))
        await press(pilot, "n", then=RunScreen)


def test_where_nothing_is_left_the_terminal_is_given_back_with_one_line(program: Program) -> None:
    script = (
        "from screens.pages.inbox import InboxScreen\n"
        "def fails(self): raise KeyError('a bug')\n"
        "InboxScreen.body = fails\n"
        "from console.cli import main\n"
        "main()\n"
    )
    with Terminal("-c", script, "--embedded", cwd=program.directory) as terminal:
        assert terminal.ended() == 1
        text = terminal.text
    after = text.rpartition("\x1b[?1049l")[2]
    assert "The console failed and had to close: KeyError: 'a bug'" in after.replace("\r\n", " ")
    assert "\x1b[?1049h" in text
    assert "Traceback" not in text
    assert "\x1b[?25h" in text  # the cursor is to be seen again
    written = program.directory / ".orbiter" / "console.log"
    assert "Traceback (most recent call last)" in written.read_text()
    assert oct(written.stat().st_mode)[-3:] == "600"


def test_an_editor_that_fails_gives_the_terminal_back(program: Program) -> None:
    with ConsoleTerminal("--embedded", cwd=program.directory, VISUAL="false") as terminal:
        terminal.until("No runs yet")
        terminal.press("6", then="Read again".lower())
        terminal.press("e", then="ended with code 1")
        terminal.press("1", then="No runs yet")
        assert terminal.ended("q") == 0


def test_the_log_is_gated_redacted_and_kept_small(tmp_path: Path) -> None:
    log = ConsoleLog(tmp_path / "state" / "console.log")

    def write(text: str) -> None:
        log.handle(logging.LogRecord("x", logging.ERROR, __file__, 1, text, (), None))

    write("\x1b[2J key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789abcdef \ud83d")
    text = log.path.read_text()
    assert "\x1b" not in text
    assert "abcdefghijklmnopqrstuvwxyz" not in text
    os.truncate(log.path, MAX_LOG_BYTES)
    write("afterwards")
    assert log.path.stat().st_size < 200
    assert log.path.with_name("console.log.1").stat().st_size == MAX_LOG_BYTES
    log.path = tmp_path / "state" / "console.log" / "no directory"
    write("nowhere")  # is not a file
