"""The screen of the log: it follows, stops for its reader, is filtered and searched."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from textual.events import MouseScrollUp
from textual.pilot import Pilot

from runtime.link.client.client import LinkError
from runtime.record.state import events as ev
from screens.pages.log import LogScreen
from screens.pages.run import RunScreen
from screens.widgets.log_list import LogList
from screens.widgets.text_page import TextPage
from tests.screens.desk_data import app_on, filled, shown, text
from tests.screens.list_link import ListLink
from tests.screens.stories import START, Story, digest
from tests.screens.waiting import until
from tests.screens.widgets.test_live_widgets import screen_text

pytestmark = pytest.mark.usefixtures("in_greenwich")


def busy(count: int, run_id: str = "run-7") -> Story:
    story = Story(run_id, "busy", START + timedelta(hours=1))
    root = story.begin("Count.")
    for number in range(count):
        story.tell(ev.Warned(text=f"number {number}"), root)
        story.wait(60)
    return story


def log_of(pilot: Pilot[Any]) -> LogList:
    return pilot.app.screen.query_one("#log", LogList)


async def more(pilot: Pilot[Any], link: ListLink, story: Story, word: str) -> None:
    story.tell(ev.Warned(text=word), story.state.roots[0])
    link.changed()
    screen = pilot.app.screen
    assert isinstance(screen, LogScreen)
    await until(pilot, lambda: any(word in str(line.spans) for line in screen.buffer.lines))
    await pilot.pause()


async def test_the_log_follows_stops_for_its_reader_and_follows_again() -> None:
    story = busy(60)
    link = ListLink(story)
    async with app_on(link).run_test(size=(100, 20)) as pilot:
        await pilot.press("5")
        await shown(pilot, "number 59", "following")
        await more(pilot, link, story, "came while following")
        await shown(pilot, "came while following")
        await pilot.press("pageup")
        await shown(pilot, "stopped: G follows again")
        before = [line[:-1] for line in screen_text(pilot.app)[2:16]]
        await more(pilot, link, story, "came while reading")
        await shown(pilot, "1 new below")
        after = [line[:-1] for line in screen_text(pilot.app)[2:16]]
        assert after == before, "what is being read does not move"
        await pilot.press("G")
        await shown(pilot, "came while reading", "following")
        await pilot.press("up")
        await shown(pilot, "stopped")
        await pilot.press("end")
        await shown(pilot, "following")


async def test_scrolling_up_with_the_mouse_stops_it_too() -> None:
    link = ListLink(busy(60))
    async with app_on(link).run_test(size=(100, 20)) as pilot:
        await pilot.press("5")
        await shown(pilot, "following")
        await pilot._post_mouse_events([MouseScrollUp], "#log")
        await shown(pilot, "stopped")


async def test_the_log_is_filtered_and_searched_apart() -> None:
    link = ListLink(busy(30))
    async with app_on(link).run_test(size=(100, 24)) as pilot:
        await pilot.press("5")
        await shown(pilot, "number 29")
        await pilot.press("slash", *"number (1)", "enter")
        await shown(pilot, "/number (1)", "number 19", "left out")
        assert "number 29" not in text(pilot)
        await pilot.press("slash", "home", "!", "enter")
        await shown(pilot, "number 29")
        assert "number 19" not in text(pilot)
        await pilot.press("escape")
        await shown(pilot, "number 19", "number 29")
        await pilot.press("s", *"number (2)", "enter")
        await shown(pilot, "find number (2)", "11 of 11")
        await pilot.press("less_than_sign")
        await shown(pilot, "10 of 11", "stopped")
        assert log_of(pilot).cursor_entry is not None
        assert "number 28" in str(log_of(pilot).cursor_entry)
        await pilot.press("greater_than_sign", "greater_than_sign")
        await shown(pilot, "1 of 11")
        assert "warns: number 2'" in str(log_of(pilot).cursor_entry)
        await pilot.press("escape", "slash", *"(", "enter")
        await shown(pilot, "not a valid regular expression")


async def test_faults_only_and_jumps_in_time() -> None:
    link = ListLink(digest(), busy(30))
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await pilot.press("5")
        await shown(pilot, "number 29")
        await pilot.press("minus")
        await until(pilot, lambda: "number 19" in str(log_of(pilot).cursor_entry))
        await pilot.press("plus")
        await until(pilot, lambda: "number 29" in str(log_of(pilot).cursor_entry))
        await pilot.press("slash", *"digest", "enter", "F")
        await shown(pilot, "faults only", "rate_limited", "waits for an answer", "attempt 2 of 4")
        assert "planner begins" not in text(pilot)
        await pilot.press("escape", "home")
        await shown(pilot, "planner begins")


async def test_who_comes_to_the_first_line_gets_older_ones() -> None:
    link = ListLink(busy(700))
    async with app_on(link).run_test(size=(100, 20)) as pilot:
        await pilot.press("5")
        await shown(pilot, "500 lines")
        assert "number 199" not in text(pilot)
        await pilot.press("home")
        await shown(pilot, "703 lines")
        await pilot.press("up")
        await shown(pilot, "number 199")
        await pilot.press("home", "up")
        await shown(pilot, "This is the first line.")


async def test_an_event_is_shown_whole_and_leads_to_its_run() -> None:
    long = "the whole of it " * 60
    story = busy(2)
    story.tell(ev.Warned(text=long), story.state.roots[0])
    async with app_on(ListLink(story)).run_test(size=(100, 40)) as pilot:
        await pilot.press("5")
        await shown(pilot, "the whole of it")
        await pilot.press("enter")
        page = pilot.app.screen.query_one("#detail", TextPage)
        await until(pilot, lambda: page.display and text(pilot).count("the whole of it") > 20)
        await pilot.press("escape")
        await until(pilot, lambda: not page.display)
        await pilot.press("r")
        await until(pilot, lambda: isinstance(pilot.app.screen, RunScreen))


async def test_the_log_of_one_run_has_only_its_lines() -> None:
    link = ListLink(digest(), busy(3))
    app = app_on(link)
    async with app.run_test(size=(100, 40)) as pilot:
        await until(pilot, lambda: len(app.screen_stack) > 1)
        await app.push_screen(LogScreen(app.session, "run-1"))
        await shown(pilot, "log of weekly digest", "waits for an answer")
        assert "number 2" not in text(pilot)


async def test_what_comes_too_fast_leaves_a_mark_and_not_a_hole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("screens.pages.log_sources._MAX_NEW_EVENTS", 5)
    story = busy(3)
    link = ListLink(story)
    async with app_on(link).run_test(size=(100, 30)) as pilot:
        await pilot.press("5")
        await shown(pilot, "number 2")
        for number in range(8):
            story.tell(ev.Warned(text=f"burst {number}"), story.state.roots[0])
        link.changed()
        await shown(pilot, "more happened here than is shown", "burst 3", "burst 7")
        assert "burst 2" not in text(pilot)


async def test_a_lost_runtime_is_said_once_and_asked_again_when_it_is_back() -> None:
    link = filled()
    link.lose("it went")
    async with app_on(link).run_test(size=(120, 40)) as pilot:
        await pilot.press("4")
        await shown(pilot, "brings it back: it went")
        assert "used up" not in text(pilot)
        await link.revive()
        await shown(pilot, "used up")
        link.answers["breakers"] = LinkError("the disk is full")
        link.changed()
        await shown(pilot, "the disk is full", "used up")
        await pilot.press("down")
        assert "the disk is full" not in text(pilot), "it was read"


async def test_the_runtimes_own_log_file_is_the_other_source() -> None:
    pages = [
        {"path": "/w/.orbiter/runtime.log", "began": 0, "end": 80,
         "text": "2026-11-20 09:00:00,123 INFO runtime.serve: up\n2026-11-20 09:00:01,000 ERROR broke\nTraceback\n"},
        {"path": "/w/.orbiter/runtime.log", "began": 80, "end": 99,
         "text": "2026-11-20 09:00:02,000 INFO \x1b[2Jmended\n"},
    ]  # fmt: skip
    asked: list[Any] = []

    def logfile(*, after: int | None = None) -> dict[str, Any]:
        asked.append(after)
        return pages[min(len(asked), len(pages)) - 1]

    link = ListLink(digest(), logfile=logfile)
    async with app_on(link).run_test(size=(100, 24)) as pilot:
        await pilot.press("5")
        await shown(pilot, "waits for an answer")
        await pilot.press("v")
        await shown(pilot, "Log file /w/.orbiter/runtime.log", "runtime.serve: up", "Traceback")
        link.changed()
        await shown(pilot, "␛[2Jmended")
        assert asked[:2] == [None, 80]
        await pilot.press("F")
        await until(pilot, lambda: "runtime.serve: up" not in text(pilot))
        assert "Traceback" in text(pilot), "what goes on with a fault is part of it"
        await pilot.press("tab")
        await shown(pilot, "waits for an answer")
