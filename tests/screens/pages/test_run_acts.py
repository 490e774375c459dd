"""What is done to a run on its screen, key by key."""

from __future__ import annotations

from screens.pages.run import RunScreen
from screens.widgets.editor import Editor
from tests.console.app.console_bench import NEVER, prompt_of, text_of
from tests.screens.pages.run_page import act, opened, page_of, shown, tree_of
from tests.screens.stories import digest, finished, limited
from tests.screens.waiting import until


async def test_a_freeze_is_read_confirmed_and_its_drain_is_seen() -> None:
    story = digest()
    async with opened(story) as (pilot, link):
        await act(pilot, "p")
        assert shown(pilot, "No new step begins until it is thawed")
        await pilot.press("enter")
        assert link.said == []
        await until(pilot, lambda: shown(pilot, "y: freeze it"))
        await pilot.press("y")
        await until(pilot, lambda: link.said == [("freeze", {"run_id": "run-1"})])
        await until(pilot, lambda: shown(pilot, "freezing: 1 call still out: search_releases"))
        story.end(next(key for key in story.state.nodes if "search_" in key), "x")
        link.changed()
        await until(pilot, lambda: shown(pilot, "frozen: no call is out"))
        await act(pilot, "p")
        assert shown(pilot, "Thaw this run")


async def test_escape_leaves_it_undone() -> None:
    async with opened(digest()) as (pilot, link):
        await act(pilot, "p")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, RunScreen))
        assert link.said == []


async def test_before_the_run_has_come_a_key_that_would_touch_it_says_so() -> None:
    async with opened(digest()) as (pilot, link):
        known, link.stories = link.stories, {}
        await pilot.press("p")
        await until(pilot, lambda: shown(pilot, "The run is still being loaded"))
        assert isinstance(pilot.app.screen, RunScreen)
        link.stories = known
        await act(pilot, "p")
        assert link.said == []


async def test_a_key_that_was_on_its_way_does_nothing_and_is_said_to_be_ignored() -> None:
    async with opened(digest(), arm_after=NEVER) as (pilot, link):
        await act(pilot, "p")
        await pilot.press("y", "x")
        assert shown(pilot, "ignored 2 keys")
        assert link.said == []


async def test_an_abort_takes_a_reason_and_a_fresh_key() -> None:
    async with opened(digest()) as (pilot, link):
        screen = await act(pilot, "A")
        await pilot.press(*"yes y", "enter")
        await until(pilot, lambda: screen.armed)
        await pilot.press("y")
        await until(pilot, lambda: link.said == [("abort", {"run_id": "run-1", "reason": "yes y"})])
        await until(pilot, lambda: shown(pilot, "being aborted by ada"))


async def test_running_again_from_here_says_afterwards_where_it_was_turned_back_to() -> None:
    story = digest()
    async with opened(story) as (pilot, link):
        await pilot.press("home")
        screen = await act(pilot, "R")
        assert shown(pilot, "dropped: 7 nodes")
        await pilot.press("enter")
        await until(pilot, lambda: screen.armed)
        await pilot.press("y")
        await until(pilot, lambda: bool(link.said))
        assert link.said[0][1]["confirm"] is True
        await until(pilot, lambda: shown(pilot, "started again from weekly_digest by ada"))
        assert shown(pilot, "Nothing has run yet")
        assert not prompt_of(pilot).has_class("-shown")


async def test_a_fork_is_shown_at_once() -> None:
    async with opened(digest()) as (pilot, link):
        await pilot.press("home")
        screen = await act(pilot, "K")
        await pilot.press(*"openai:o1", "enter")
        await until(pilot, lambda: screen.armed)
        await pilot.press("y")
        await until(pilot, lambda: shown(pilot, "fork of weekly digest"))
        assert link.said[0][1]["changes"] == {"model": "openai:o1"}


async def test_from_which_step_on_another_model_is_asked_is_chosen_from_the_runs_models() -> None:
    story = limited(1)
    async with opened(story) as (pilot, link):
        link.keys = ("ANTHROPIC_API_KEY",)
        await pilot.press("home")
        screen = await act(pilot, "K")
        for row in (
            "1 the same models as before",
            "2 openai:gpt-4o · answered in this run",
            "3 anthropic: · its key is there",
            "4 another: type its name",
        ):
            assert shown(pilot, row)
        await pilot.press("down", "enter")
        await until(pilot, lambda: screen.armed and shown(pilot, "Asked from here on: openai:gpt-4o"))
        await pilot.press("y")
        await until(pilot, lambda: bool(link.said))
        assert link.said[0][1]["changes"] == {"model": "openai:gpt-4o"}


async def test_a_model_that_would_be_refused_is_said_before_anything_is_sent() -> None:
    async with opened(limited(1)) as (pilot, link):
        await pilot.press("home")
        screen = await act(pilot, "R")
        await pilot.press(*"antropic:x", "enter")
        await until(pilot, lambda: shown(pilot, "did you mean 'anthropic:x'?"))
        assert not screen.armed
        await pilot.press(*["backspace"] * 10, *"nonsense", "enter")
        await until(pilot, lambda: shown(pilot, "'nonsense' names no provider"))
        assert link.said == []


async def test_a_message_is_typed_and_sent_without_another_question() -> None:
    story = digest()
    async with opened(story) as (pilot, link):
        await act(pilot, "M")
        await pilot.press("enter")
        assert shown(pilot, "something is needed here")
        await pilot.press(*"hurry", "enter")
        await until(pilot, lambda: bool(link.said))
        verb, args = link.said[0]
        assert (verb, args["text"], args["agent"].endswith("researcher~1")) == ("inject", "hurry", True)


async def test_a_breakpoint_is_set_where_the_cursor_is_and_stands_in_the_head() -> None:
    async with opened(digest()) as (pilot, _):
        screen = await act(pilot, "B")
        await until(pilot, lambda: screen.armed)
        await pilot.press("y")
        await until(pilot, lambda: shown(pilot, "stops before tool write_file"))


async def test_what_cannot_be_done_is_said_and_what_is_refused_too() -> None:
    async with opened(finished()) as (pilot, link):
        await until(pilot, lambda: not shown(pilot, "p freeze"))
        foot = text_of(pilot).splitlines()[-1]
        assert "enter read on   R again from here   K another run   T timeline   esc back" in foot
        await pilot.press("A")
        await until(pilot, lambda: shown(pilot, "Abort: the run has ended."))
        link.refused = {"rewind": "run run-0 is looked at only"}
        screen = await act(pilot, "R")
        await pilot.press("enter")
        await until(pilot, lambda: screen.armed)
        await pilot.press("y")
        await until(pilot, lambda: shown(pilot, "run run-0 is looked at only"))


async def test_escape_leads_from_the_page_to_the_tree_and_from_there_back() -> None:
    async with opened(digest()) as (pilot, _):
        await pilot.press("enter")
        await until(pilot, lambda: page_of(pilot).has_focus)
        await pilot.press("escape")
        assert tree_of(pilot).has_focus
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, RunScreen))


async def test_a_viewer_is_told_that_it_only_looks() -> None:
    async with opened(digest()) as (pilot, link):
        link.role = "viewer"
        await pilot.press("p")
        await until(pilot, lambda: shown(pilot, "A viewer may look, not act"))
        assert isinstance(pilot.app.screen, RunScreen)


async def test_where_only_looking_is_possible_it_is_said_why() -> None:
    async with opened(digest(), who_may="this is an export, a file: no run is behind it") as (pilot, link):
        link.role = "viewer"
        await pilot.press("p")
        await until(pilot, lambda: shown(pilot, "A viewer may look, not act; this is an export, a file"))


async def test_letters_of_acts_are_letters_where_someone_types() -> None:
    async with opened(digest()) as (pilot, link):
        await act(pilot, "A")
        await pilot.press(*"pARKMBy")
        assert pilot.app.screen.query_one(Editor).text == "pARKMBy"
        assert link.said == []
