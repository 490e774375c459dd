"""The empty console's offer: it finds what is there, asks, writes what is missing, and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.app.app import OrbiterApp
from console.first_files import EXAMPLE_FILE, SETTINGS_FILE
from runtime.config.template import settings_template
from screens.dialogs.first_files import FirstFilesScreen
from screens.shell.context import ConsoleContext
from tests.console.app.console_bench import settled, text_of
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import digest
from tests.screens.waiting import press, until

GUEST = "from pydantic_ai import Agent\n\nhelper = Agent('test')\n"


def app_on(link: MemoryLink) -> OrbiterApp:
    return OrbiterApp(ConsoleContext(link, clock=lambda: link.now, arm_after=0.0))


@pytest.mark.parametrize("guest", [True, False])
async def test_it_says_what_it_would_write_and_writes_after_a_second_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guest: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    if guest:
        (tmp_path / "mine.py").write_text(GUEST)
    files = {SETTINGS_FILE} if guest else {SETTINGS_FILE, EXAMPLE_FILE}
    app = app_on(MemoryLink())
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        assert "No runs yet" in text_of(pilot)
        await press(pilot, "i", then=lambda: isinstance(app.screen, FirstFilesScreen))
        await settled(pilot)
        await until(pilot, lambda: "y writes them" in text_of(pilot))
        assert ("mine.py:helper  agent (pydantic-ai)" in text_of(pilot)) is guest
        assert {name for name in (SETTINGS_FILE, EXAMPLE_FILE) if f"writes  {name}" in text_of(pilot)} == files
        await press(pilot, "escape", then=lambda: not isinstance(app.screen, FirstFilesScreen))
        assert {path.name for path in tmp_path.iterdir()} == ({"mine.py"} if guest else set())
        await press(pilot, "i", then=lambda: isinstance(app.screen, FirstFilesScreen))
        await settled(pilot)
        await until(pilot, lambda: "y writes them" in text_of(pilot))
        (tmp_path / SETTINGS_FILE).write_text("# mine\n")  # meanwhile, by another hand
        await press(pilot, "y", then=f"starts {'mine.py:helper' if guest else f'{EXAMPLE_FILE}:swarm'}")
        assert (tmp_path / SETTINGS_FILE).read_text() == "# mine\n", "what is there is never changed"
        assert (tmp_path / EXAMPLE_FILE).exists() is not guest
        (tmp_path / SETTINGS_FILE).write_text(settings_template())
        await press(pilot, "i", then="Nothing is missing here")


async def test_it_is_not_offered_where_runs_are() -> None:
    app = app_on(MemoryLink(digest()))
    async with app.run_test(size=(100, 30)) as pilot:
        await settled(pilot)
        await pilot.press("i")
        await pilot.pause()
        assert not isinstance(app.screen, FirstFilesScreen)
        assert "begin here" not in text_of(pilot)
