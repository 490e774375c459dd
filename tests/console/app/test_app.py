"""The console on runs told event by event: what an operator sees and does, key by key."""

from __future__ import annotations

from typing import Any

import pytest
from textual.widgets import TextArea

from console.app.app import OrbiterApp
from runtime.link.client.client import LinkStatus
from runtime.link.client.streamed_text import StreamedText
from screens.base.screen_registry import SCREENS
from screens.dialogs.help import HelpScreen
from screens.pages.inbox import InboxScreen, first_use_text
from screens.pages.run import RunScreen
from screens.pages.settings import SettingsScreen
from screens.render.layout import plain_text
from screens.shell.context import ConsoleContext
from screens.views.shared.render_context import RenderContext
from screens.widgets.bar import Bar
from screens.widgets.node_tree import NodeTree
from screens.widgets.prompts.option_columns import OptionColumns
from screens.widgets.redraw_throttle import RedrawThrottle
from screens.widgets.row_list import RowList
from screens.widgets.text_page import TextPage
from tests.console.app.console_bench import answers, armed, asks_for_input, broken, console, redrawn, settled, text_of
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import DENIED, START, Story, digest, finished
from tests.screens.waiting import changed, press, until
from themes.choice import BUILTIN_NAMES

# -- the inbox -------------------------------------------------------------------------------------------------


async def test_the_console_opens_on_the_inbox_of_all_runs() -> None:
    async with console(digest(), finished(), size=(80, 24)) as (pilot, _):
        assert isinstance(pilot.app.screen, InboxScreen)
        text = text_of(pilot)
        assert "Needs a decision" in text
        assert "asks permission" in text
        assert "translate manual" in text
        assert "◆ 1 decision" in text.splitlines()[0]
        assert "q quit" in text.splitlines()[-1]


async def test_enter_opens_what_is_under_the_cursor() -> None:
    async with console(digest(), finished()) as (pilot, link):
        await pilot.press("enter")
        await settled(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)
        assert (screen.run_id, screen.incident_id) == ("run-1", "run-1-inc-1")
        assert link.watched == ["run-1"]
        await press(pilot, "escape", "escape", then=InboxScreen)
        await until(pilot, lambda: link.watched == [])
        await pilot.press("end", "enter")
        await settled(pilot)
        assert link.watched == ["run-0"]
        assert "Bonjour" in text_of(pilot)


async def test_with_no_runs_the_home_says_what_to_type() -> None:
    async with console() as (pilot, _):
        assert all(line in text_of(pilot) for line in first_use_text(RenderContext(START)).splitlines())


async def test_before_anything_is_known_the_home_says_so() -> None:
    link = MemoryLink()
    link.ready = False
    link.status = LinkStatus("connecting")
    async with OrbiterApp(ConsoleContext(link, clock=lambda: START)).run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "Connecting to the runtime" in text_of(pilot)
        assert "connecting" in text_of(pilot).splitlines()[0]
        link.lose("nobody there")
        await until(pilot, lambda: "Nothing is known yet" in text_of(pilot))
        assert "Connecting" not in text_of(pilot)


async def test_the_inbox_is_live_and_rings_for_a_new_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story()
    root = story.begin()
    async with console(story) as (pilot, link):
        rung: list[bool] = []
        monkeypatch.setattr(pilot.app, "bell", lambda: rung.append(True))
        link.changed()
        assert rung == []
        story.park(story.start("tool", "write", root), DENIED, need="fs.write:/x")
        await changed(pilot, link, then="Needs a decision")
        link.changed()
        assert rung == [True]


async def test_where_there_is_room_the_inbox_tells_more_of_its_row() -> None:
    async with console(digest(), size=(120, 40)) as (pilot, _):
        assert 'write_file(path="/data/out/digest.md"' in text_of(pilot)
    async with console(digest(), size=(80, 12)) as (pilot, _):
        assert 'write_file(path="/data/out/digest.md"' not in text_of(pilot)


async def test_n_goes_to_the_next_decision_wherever_it_is() -> None:
    async with console(digest(), broken(), asks_for_input()) as (pilot, _):
        seen = []
        for _step in range(3):
            if isinstance(pilot.app.focused, TextArea):
                await pilot.press("escape")
            await pilot.press("n")
            await settled(pilot)
            await until(pilot, lambda: isinstance(pilot.app.screen, RunScreen) and bool(pilot.app.screen.incident_id))
            assert isinstance(pilot.app.screen, RunScreen)
            seen.append(pilot.app.screen.incident_id)
        assert len(set(seen)) == 3
        await press(pilot, "escape", "escape", then=InboxScreen)


@pytest.mark.mishaps
async def test_a_place_that_cannot_be_opened_is_a_line_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async with console(Story("run-1", "ask", START)) as (pilot, _):
        with monkeypatch.context() as broken:
            broken.setitem(SCREENS, "settings", SCREENS["settings"]._replace(module="screens.nowhere"))
            await pilot.press("6")
            await settled(pilot)
            assert isinstance(pilot.app.screen, InboxScreen)
            assert "This cannot be opened" in text_of(pilot)
            assert "screens.nowhere" in text_of(pilot)
        await pilot.press("6")
        await settled(pilot)
        assert isinstance(pilot.app.screen, SettingsScreen)
        await pilot.press("escape")
        await settled(pilot)
        assert isinstance(pilot.app.screen, InboxScreen)


async def test_n_says_that_nothing_waits() -> None:
    async with console(finished()) as (pilot, _):
        await pilot.press("n")
        await pilot.pause()
        assert "No decision is waiting." in text_of(pilot)
        await pilot.press("down")
        await pilot.pause()
        assert "No decision is waiting." not in text_of(pilot)


async def test_the_inbox_is_filtered_while_one_types() -> None:
    async with console(digest(), finished(), broken(), size=(100, 24)) as (pilot, link):
        await press(pilot, "slash", *"manual", then=lambda: "weekly digest" not in text_of(pilot))
        assert "translate manual" in text_of(pilot)
        await press(pilot, "enter", "n", then=RunScreen)
        await press(pilot, "escape", "escape", then=InboxScreen)
        await redrawn(pilot)
        assert "/manual" in text_of(pilot)
        await press(pilot, "slash", *"x", then="Nothing matches")
        await press(pilot, "escape", then="weekly digest")
        assert "/manual" not in text_of(pilot)
        assert link.said == []


# -- the run ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_a_run_shows_its_tree_its_report_and_its_prompt(size: tuple[int, int]) -> None:
    async with console(digest(), run_id="run-1", size=size) as (pilot, _):
        await armed(pilot)
        text = text_of(pilot)
        assert "write_file" in text
        assert "waits 3m" in text
        assert "researcher asks for permission" in text
        assert "Needs  fs.write:/data/out/digest.md" in text
        report = "\n".join(pilot.app.screen.query_one("#page", TextPage).plain_lines())
        assert "PERMISSION REQUEST" in report
        assert '"recorded_as": "permission_denied"' in report
        assert 'write_file(path="/data/out/digest.md"' in text
        for label in ("Decide later", "Grant permission once", "Deny, with a word to the agent", "Abort execution"):
            assert label in text
        tree = pilot.app.screen.query_one(NodeTree)
        assert tree.cursor_key.endswith("write_file~2")


async def test_the_tree_is_live() -> None:
    story = Story()
    agent = story.open("agent", "a", story.begin())
    async with console(story, run_id="run-1") as (pilot, link):
        call = story.start("llm", "gpt", agent)
        await changed(pilot, link, then="gpt model")
        story.wait(2).end(call, "x", tokens=(1200, 300))
        await changed(pilot, link, then=lambda: "1.5k" in text_of(pilot) and "done" in text_of(pilot))


async def test_a_reply_is_shown_while_it_streams() -> None:
    story = Story()
    call = story.start("llm", "gpt", story.open("agent", "a", story.begin()))
    async with console(story, run_id="run-1") as (pilot, link):
        pilot.app.screen.query_one(NodeTree).reveal(call)
        link.streamed["run-1", call] = StreamedText(1, "Once upon a \x1b[2J time")
        await changed(pilot, link, then="Once upon a ␛[2J time")


async def test_the_page_follows_the_cursor() -> None:
    async with console(digest(), run_id="run-1") as (pilot, _):
        page = pilot.app.screen.query_one("#page", TextPage)
        await until(pilot, lambda: str(page.border_title).startswith("Report"))
        pilot.app.screen.query_one(NodeTree).focus()
        await press(pilot, "up", then=lambda: str(page.border_title).startswith("Node"))
        assert '"query": "textual"' in "\n".join(page.plain_lines())
        await press(pilot, "home", then=lambda: str(page.border_title).startswith("Report"))
        await pilot.press("f")
        assert pilot.app.screen.query_one(NodeTree).cursor_key.endswith("write_file~2")


async def test_the_analysis_fills_in_without_moving_the_reader() -> None:
    story = digest()
    async with console(story, run_id="run-1", size=(120, 40)) as (pilot, link):
        await until(pilot, lambda: "asks for permission" in text_of(pilot))
        story.analyse("run-1-inc-1", "The folder lies outside.")
        await changed(pilot, link, then="The folder lies outside.")


async def test_zoom_gives_a_pane_all_the_room() -> None:
    async with console(digest(), run_id="run-1", size=(120, 40)) as (pilot, _):
        await armed(pilot)
        tree, page = pilot.app.screen.query_one(NodeTree), pilot.app.screen.query_one("#page", TextPage)
        both = tree.size.width
        await pilot.press("z")
        assert (tree.display, page.display) == (True, False)
        await until(pilot, lambda: tree.size.width > both)
        await pilot.press("z")
        assert (tree.display, page.display) == (False, True)
        await pilot.press("z")
        assert (tree.display, page.display) == (True, True)


async def test_where_rows_are_short_the_prompt_has_the_report_and_tab_leads_to_the_page_and_back() -> None:
    async with console(broken(), run_id="run-3", size=(80, 24)) as (pilot, _):
        prompt = await armed(pilot)
        tree, page = pilot.app.screen.query_one(NodeTree), pilot.app.screen.query_one("#page", TextPage)
        assert (tree.display, page.display) == (True, False)
        assert "What   query failed" in text_of(pilot)
        await press(pilot, "tab", then=lambda: page.has_focus and not tree.display)
        await until(pilot, lambda: text_of(pilot).count("What   query failed") == 1)
        await press(pilot, "tab", then=lambda: tree.has_focus and not page.display)
        await press(pilot, "tab", then=lambda: prompt.has_focus_within)
        await pilot.press("z")
        assert (tree.display, page.display) == (False, True)


async def test_a_run_that_cannot_be_shown_says_why() -> None:
    async with console(finished(), run_id="run-9") as (pilot, _):
        await until(pilot, lambda: "unknown run run-9" in text_of(pilot))


# -- the runtime goes away -------------------------------------------------------------------------------------


async def test_a_lost_runtime_is_said_in_a_line_and_a_key_brings_it_back() -> None:
    async with console(digest()) as (pilot, link):
        assert "brings it back" not in text_of(pilot)
        link.lose("nobody listens at the socket")
        await until(pilot, lambda: "nobody listens at the socket" in text_of(pilot))
        assert "b brings it back" in text_of(pilot)
        await press(pilot, "b", then=lambda: "brings it back" not in text_of(pilot))
        assert link.revived == 1


async def test_b_does_nothing_while_the_runtime_is_there() -> None:
    async with console(digest()) as (pilot, link):
        await pilot.press("b")
        assert link.revived == 0


async def test_a_runtime_that_cannot_be_brought_back_says_why() -> None:
    async with console(digest()) as (pilot, link):
        link.cannot_revive = "the state directory is read-only"
        link.lose("gone")
        await press(pilot, "b", then="the state directory is read-only")


async def test_an_answer_without_a_runtime_is_said_and_can_be_given_again() -> None:
    async with console(broken(), run_id="run-3") as (pilot, link):
        prompt = await armed(pilot)
        link.lose("gone")
        await press(pilot, "r", then=lambda: prompt.mode == "choose" and bool(link.said))
        assert "gone" in text_of(pilot)
        await press(pilot, "b", then=lambda: link.status.phase == "connected")
        await press(pilot, "r", then=lambda: len(answers(link)) == 2)


# -- around it -------------------------------------------------------------------------------------------------


async def test_help_is_made_from_the_bindings() -> None:
    async with console(digest(), run_id="run-1") as (pilot, link):
        await armed(pilot)
        await press(pilot, "question_mark", then=HelpScreen)
        await pilot.pause()
        text = text_of(pilot)
        assert "This decision" in text.splitlines()[1]
        assert "The next decision" in text
        await press(pilot, "end", then="Take the marked choice")
        await pilot.press("r", "a")
        assert link.said == []
        await press(pilot, "escape", then=RunScreen)


async def test_q_closes_the_console_and_nothing_else() -> None:
    async with console(digest()) as (pilot, link):
        await pilot.press("q")
        await pilot.pause()
        assert link.said == []
        assert pilot.app.return_code == 0
        assert not pilot.app.is_running


async def test_a_resize_storm_leaves_everything_in_place() -> None:
    async with console(digest(), run_id="run-1", size=(120, 40)) as (pilot, _):
        await armed(pilot)
        for width, height in ((30, 10), (200, 60), (1, 1), (81, 25), (40, 8), (120, 40)):
            await pilot.resize_terminal(width, height)
        await redrawn(pilot)
        text = text_of(pilot)
        assert "PERMISSION REQUEST" in text
        assert "Grant permission once" in text


async def test_in_ascii_nothing_else_is_drawn() -> None:
    async with console(digest(), finished(), ascii_only=True, size=(80, 24)) as (pilot, _):
        lists = pilot.app.screen.query_one(RowList)
        lines = [plain_text(lists.line_at(index, 78)[0]) for index in range(len(lists.keys))]
        lines += [plain_text(bar.shown) for bar in pilot.app.screen.query(Bar)]
        assert [line for line in lines if not line.isascii()] == []
        await pilot.press("enter")
        await settled(pilot)
        await armed(pilot)
        tree = pilot.app.screen.query_one(NodeTree)
        lines = [plain_text(tree.line_at(index, 78)[0]) for index in range(len(tree.keys))]
        lines.append(pilot.app.screen.query_one(OptionColumns).text)
        assert [line for line in lines if not line.isascii()] == []


async def test_nothing_is_painted_while_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """An idle screen sends nothing to the terminal, though it looks at the clock every second."""
    async with console(digest(), run_id="run-1") as (pilot, link):
        await armed(pilot)
        for _ in range(3):  # what lies under the screen gets its last paint, too
            await redrawn(pilot)
            await pilot.pause(0.1)
        painted: list[Any] = []
        real = pilot.app._display

        def display(screen: Any, renderable: Any) -> None:
            painted.append(renderable)
            real(screen, renderable)

        monkeypatch.setattr(pilot.app, "_display", display)
        for _ in range(5):
            link.changed()
            await redrawn(pilot)
        assert painted == []


async def test_only_themes_with_all_our_colours_can_be_chosen_and_they_can() -> None:
    async with console(digest(), run_id="run-1") as (pilot, _):
        await armed(pilot)
        assert set(pilot.app.available_themes) == set(BUILTIN_NAMES)
        for theme in BUILTIN_NAMES:
            pilot.app.theme = theme
            await redrawn(pilot)


async def test_what_is_known_is_drawn_as_soon_as_the_screen_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RedrawThrottle, "request", lambda self: None)  # nothing is drawn later
    link = MemoryLink(finished())
    app = OrbiterApp(ConsoleContext(link, clock=lambda: link.now))
    async with app.run_test(size=(100, 36)) as pilot:
        await until(pilot, lambda: bool(pilot.app.screen.query("#list")))
        await pilot.pause()
        assert app.screen.query_one("#list", RowList).keys


@pytest.mark.parametrize("at_once", [True, False])
async def test_where_opening_takes_no_time_nothing_is_painted_before_the_first_screen(*, at_once: bool) -> None:
    link = MemoryLink(finished())
    app = OrbiterApp(lambda: ConsoleContext(link, clock=lambda: link.now), opening="looking", at_once=at_once)
    async with app.run_test(size=(100, 36)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, InboxScreen))
        await settled(pilot)
        assert bool(app.screen_stack[0].query("#opening")) is not at_once
