"""What is copied, exported, said and said again; a drawing that fails; what happened while one was away."""

from __future__ import annotations

import base64
import re
import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from console.app.app import OrbiterApp
from console.preferences.schema import Preferences
from console.terminal.escape_sequences import COPY_BYTES
from runtime.judgement.reports.export_file import read_export
from runtime.link.client.client import LinkError
from screens.dialogs.help import HelpScreen
from screens.pages.inbox import InboxScreen
from screens.render.layout import span
from screens.shell.context import ConsoleContext
from screens.widgets.node_tree import NodeTree
from screens.widgets.row_list import RowList
from screens.widgets.text_page import TextPage
from tests.console.app.console_bench import armed, console, redrawn, settled, text_of
from tests.present import present
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import START, Story, digest, finished
from tests.screens.waiting import changed, press, until


@pytest.fixture(autouse=True)
def _plain_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("ORBITER_STATE", str(tmp_path / "state"))


def clipboard(pilot: Pilot[None], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Texts that go to the terminal's clipboard from now on."""
    copied: list[str] = []

    def write(sequence: str) -> None:
        found = present(re.fullmatch("\x1b\\]52;c;([^\x07]*)\x07", sequence))
        copied.append(base64.b64decode(found[1]).decode())

    monkeypatch.setattr(pilot.app, "write_terminal", write)
    return copied


async def test_y_copies_the_pane_and_capital_y_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    async with console(digest(), run_id="run-1", size=(110, 36)) as (pilot, _):
        copied = clipboard(pilot, monkeypatch)
        tree = pilot.app.screen.query_one(NodeTree)
        tree.focus()
        await press(pilot, "y", then=lambda: len(copied) == 1)
        assert copied[0].splitlines() == [tree.plain_line(index) for index in range(len(tree.keys))]
        assert "write_file" in copied[0]
        await until(pilot, lambda: "copied" in text_of(pilot) and "OSC 52" in text_of(pilot))
        await press(pilot, "Y", then=lambda: len(copied) == 2)
        assert "write_file" in copied[1]
        assert "\n" not in copied[1]


async def test_with_the_prompt_in_focus_the_action_it_asks_about_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    async with console(digest(), run_id="run-1") as (pilot, link):
        copied = clipboard(pilot, monkeypatch)
        prompt = await armed(pilot)
        await until(pilot, lambda: prompt.has_focus_within)
        await press(pilot, "y", then=lambda: bool(copied))
        assert 'path="/data/out/digest.md"' in copied[0]
        assert link.said == []


async def test_what_is_copied_of_hostile_text_is_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story("run-7", "\x1b]52;c;eA==\x07[/x]")
    story.begin()
    async with console(story) as (pilot, _):
        copied = clipboard(pilot, monkeypatch)
        await press(pilot, "y", then=lambda: bool(copied))
        assert "␛]52;c;eA==" in copied[0]
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", copied[0])


async def test_what_is_too_long_for_the_clipboard_goes_to_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with console(digest(), size=(140, 30)) as (pilot, _):
        copied = clipboard(pilot, monkeypatch)
        monkeypatch.setattr(RowList, "plain_lines", lambda _: iter(["x" * COPY_BYTES, "y"]))
        await press(pilot, "y", then="which terminals do not take")
        (path,) = (tmp_path / "state" / "exports").iterdir()
        assert path.read_text() == "x" * COPY_BYTES + "\ny"
        assert copied == []


async def test_copies_can_be_files_from_the_start(tmp_path: Path) -> None:
    link = MemoryLink(digest())
    app = OrbiterApp(ConsoleContext(link, clock=lambda: link.now), preferences=Preferences(copy="file"))
    async with app.run_test(size=(140, 30)) as pilot:
        await settled(pilot)
        await pilot.press("y")
        await until(pilot, (tmp_path / "state" / "exports").is_dir)
        await until(pilot, lambda: "written to" in text_of(pilot))


async def test_f2_exports_the_pane_and_f3_a_picture(tmp_path: Path) -> None:
    async with console(digest(), run_id="run-1", size=(140, 40)) as (pilot, _):
        pilot.app.screen.query_one("#page", TextPage).focus()
        await press(pilot, "f2", then="written to")
        await press(pilot, "f3", then="picture written to")
        written, drawn = sorted((tmp_path / "state" / "exports").iterdir(), key=lambda path: path.suffix == ".svg")
        assert "◆ PERMISSION REQUEST" in written.read_text()
        page = pilot.app.screen.query_one("#page", TextPage)
        page.show([span("word " * 100)], "long")
        assert page.lines_needed > 1
        assert list(page.plain_lines()) == [("word " * 100).rstrip()], "as it was written, not as it is wrapped"
        assert written.name.endswith("run-page.txt")
        assert drawn.read_text().startswith("<svg")
        assert {stat.S_IMODE(path.stat().st_mode) for path in (written, drawn)} == {0o600}


async def test_an_export_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("no directory")
    async with console(digest(), size=(140, 30)) as (pilot, _):
        await press(pilot, "f2", then="cannot be written")


async def test_what_was_said_can_be_read_again() -> None:
    async with console(finished()) as (pilot, _):
        await pilot.press("n", "down")
        screen: Any = pilot.app.screen
        screen.show_message("[/x] \x1b[2J second", "warning")
        screen.action_notices()
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await pilot.pause()
        text = text_of(pilot)
        assert text.index("[/x] ␛[2J second") < text.index("No decision is waiting.")


@pytest.mark.mishaps
async def test_a_drawing_that_fails_is_said_in_a_line_and_the_console_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async with console(digest(), finished()) as (pilot, link):

        def broken(_: InboxScreen) -> None:
            raise RuntimeError("[/x] a bug")

        monkeypatch.setattr(InboxScreen, "all_rows", broken)
        await changed(pilot, link, then="could not be drawn whole")
        assert "[/x] a bug" in text_of(pilot)
        monkeypatch.undo()
        await press(pilot, "n", then=lambda: type(pilot.app.screen).__name__ == "RunScreen")
        assert pilot.app.is_running


NOTHING: dict[str, Any] = {
    "until": None, "started": 0, "ended": {}, "opened": 0, "open_now": 0, "answered_by": {}, "by_rule": 0, "closed": 0,
    "groups": {}, "grants": 0, "revoked": 0, "cost_usd": None, "lost": [], "reread": [], "runs": [],
}  # fmt: skip


class AwayDesk(MemoryLink):
    """A console whose runtime knows what happened meanwhile."""

    def __init__(self, *stories: Story, since: str | None, sentences: list[str], refuses: bool = False) -> None:
        super().__init__(*stories)
        self.digest = {**NOTHING, "since": since, "sentences": sentences, "empty": not sentences}
        self.away: list[str] = []
        self.silent = refuses

    async def command(self, verb: str, /, **args: Any) -> Any:
        if verb in ("digest", "looked"):
            if self.silent:
                raise LinkError("no")
            self.away.append(verb)
            return self.digest if verb == "digest" else None
        return await super().command(verb, **args)


SINCE = (START - timedelta(hours=3)).isoformat()


async def test_what_happened_while_one_was_away_is_a_line_and_a_page() -> None:
    link = AwayDesk(digest(), since=SINCE, sentences=["4 runs completed", "1 run failed", "bob answered 2"])
    async with OrbiterApp(ConsoleContext(link, clock=lambda: START), digest=True).run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        line = "Since you looked 3h00m ago: 4 runs completed, 1 run failed, bob answered 2"
        await until(pilot, lambda: line in text_of(pilot))
        assert link.away == ["digest", "looked"]
        await pilot.press("down")
        await redrawn(pilot)
        assert line not in text_of(pilot)
        screen: Any = pilot.app.screen
        screen.action_digest()
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await pilot.pause()
        assert "While you were away" in text_of(pilot)
        assert "bob answered 2" in text_of(pilot)
    assert link.away == ["digest", "looked", "looked"], "the end of the console is a look too"


@pytest.mark.parametrize(
    "options",
    [{"since": None, "sentences": ["9 runs started"]}, {"since": SINCE, "sentences": []},
     {"since": SINCE, "sentences": ["x"], "refuses": True}],
    ids=["first look", "nothing happened", "refused"],
)  # fmt: skip
async def test_without_news_nothing_is_said(options: dict[str, Any]) -> None:
    link = AwayDesk(digest(), **options)
    async with OrbiterApp(ConsoleContext(link, clock=lambda: START), digest=True).run_test(size=(120, 30)) as pilot:
        await settled(pilot)
        await pilot.pause(0.1)
        assert "Since you looked" not in text_of(pilot)


async def test_a_key_in_a_run_writes_a_report_for_a_browser(tmp_path: Path) -> None:
    async with console(digest(), run_id="run-1", size=(160, 36)) as (pilot, link):
        pilot.app.screen.query_one(NodeTree).focus()
        await pilot.press("H")
        exports = tmp_path / "state" / "exports"
        await until(pilot, lambda: [*exports.glob("*.html")] != [] and "report for a browser" in text_of(pilot))
        (path,) = exports.glob("*.html")
        assert path.name.endswith("-run-1.html")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        page = path.read_text(encoding="utf-8")
        assert page.startswith("<!doctype html>")
        assert read_export(page).state().id == "run-1"
        assert ("export", {"run_id": "run-1"}) in link.said
        link.refuses["export"] = "the runtime is of an earlier version"
        await press(pilot, "H", then="of an earlier version")
