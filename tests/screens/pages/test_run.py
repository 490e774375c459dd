"""The run screen key by key: looking around in a run, and what is done to it."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from console.app.app import OrbiterApp
from runtime.record.state import events as ev
from screens.dialogs.confirm_action import ConfirmActionScreen
from screens.pages.run import RunScreen
from screens.pages.run_graph import GraphView
from screens.shell import file_input
from screens.shell.context import ConsoleContext
from screens.widgets.editor import Editor, SecretInput
from screens.widgets.forms.answer_form import AnswerForm
from screens.widgets.line_list import LineList
from screens.widgets.node_tree import NodeTree
from screens.widgets.prompts.prompt import Prompt
from screens.widgets.text_page import TextPage
from tests.console.app.test_app import NEVER, prompt_of, settled, text_of, typing
from tests.screens.run_link import RunLink
from tests.screens.stories import BROKEN_TOOL, MISSING, START, Story, digest, finished, limited
from tests.screens.waiting import changed, press, until


@asynccontextmanager
async def opened(
    story: Story, *, size: tuple[int, int] = (120, 40), arm_after: float = 0.0, **session: Any
) -> AsyncIterator[tuple[Pilot[None], RunLink]]:
    """The run's screen, with the focus in its tree."""
    link = RunLink(story)
    context = ConsoleContext(link, clock=lambda: link.now, arm_after=arm_after, **session)
    app = OrbiterApp(context, run_id=story.run_id)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        tree_of(pilot).focus()
        await pilot.pause()
        yield pilot, link


def tree_of(pilot: Pilot[None]) -> NodeTree:
    return pilot.app.screen_stack[-1].query_one("#tree", NodeTree)


def page_of(pilot: Pilot[None]) -> TextPage:
    return pilot.app.screen.query_one("#page", TextPage)


def page_text(pilot: Pilot[None]) -> str:
    return "\n".join(page_of(pilot).plain_lines())


def shown(pilot: Pilot[None], words: str) -> bool:
    return words in text_of(pilot)


async def act(pilot: Pilot[None], key: str) -> ConfirmActionScreen:
    """Press a key that asks before it acts."""
    await press(pilot, key, then=ConfirmActionScreen)
    screen = pilot.app.screen
    assert isinstance(screen, ConfirmActionScreen)
    await pilot.pause()
    return screen


# -- looking around --------------------------------------------------------------------------------------------


async def test_w_goes_to_what_holds_it_up_and_back_to_the_page() -> None:
    async with opened(digest()) as (pilot, _):
        await pilot.press("home")
        await press(pilot, "w", then=lambda: str(page_of(pilot).border_title).startswith("Waits for"))
        assert "weekly_digest  waits for researcher" in page_text(pilot)
        assert tree_of(pilot).cursor_key.endswith("write_file~2")
        await press(pilot, "w", then=lambda: str(page_of(pilot).border_title).startswith("Report"))


async def test_the_chain_goes_away_when_the_cursor_moves_on() -> None:
    async with opened(digest()) as (pilot, _):
        await press(pilot, "home", "w", then=lambda: str(page_of(pilot).border_title).startswith("Waits for"))
        await press(pilot, "up", then=lambda: str(page_of(pilot).border_title).startswith("Node"))


async def test_t_shows_bars_in_place_of_the_page_and_enter_leads_back_to_it() -> None:
    async with opened(digest()) as (pilot, _):
        await press(pilot, "T", then=lambda: shown(pilot, "5m00s from 09:00:00"))
        assert not page_of(pilot).display
        assert shown(pilot, "▒▒▒▒")
        await pilot.press("enter")
        await until(pilot, lambda: page_of(pilot).display and not shown(pilot, "▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒"))
        assert page_of(pilot).has_focus


async def test_faults_only_and_the_filter_leave_out_the_rest_until_escape() -> None:
    async with opened(digest()) as (pilot, _):
        await press(pilot, "F", then=lambda: len(tree_of(pilot).keys) == 3)
        assert shown(pilot, "faults only")
        await press(pilot, "escape", then=lambda: len(tree_of(pilot).keys) > 3)
        await press(pilot, "slash", *"planner", then=lambda: len(tree_of(pilot).keys) == 3)
        await pilot.press("enter")
        assert not pilot.app.screen.query(Input).filter("#filter")
        assert tree_of(pilot).has_focus
        assert shown(pilot, "/planner")
        await press(pilot, "escape", then=lambda: len(tree_of(pilot).keys) > 3)
        assert isinstance(pilot.app.screen, RunScreen)
        await press(pilot, "escape", then=lambda: not isinstance(pilot.app.screen, RunScreen))


async def test_letters_typed_into_the_filter_answer_nothing() -> None:
    async with opened(digest()) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("slash", *"gasd")
        await pilot.pause()
        assert link.said == []
        assert pilot.app.screen.query_one("#filter", Input).value == "gasd"


async def test_a_pattern_that_cannot_be_read_says_so_and_hides_nothing() -> None:
    async with opened(digest()) as (pilot, _):
        before = len(tree_of(pilot).keys)
        await press(pilot, "slash", "left_square_bracket", then=lambda: shown(pilot, "not a valid regular expression"))
        assert len(tree_of(pilot).keys) == before


async def test_a_reference_in_an_analysis_leads_to_the_event_and_its_node() -> None:
    story = digest()
    call = next(event for event in story.events if isinstance(event, ev.StepStarted) and "search" in event.name)
    story.analyse("run-1-inc-1", f"It began with [#{call.seq}].")
    async with opened(story) as (pilot, _):
        await until(pilot, lambda: f"[#{call.seq}]" in page_text(pilot))
        page_of(pilot).focus()
        await pilot.press("right", "right")  # the first link is the rules' own evidence
        await until(pilot, lambda: shown(pilot, f">#{call.seq}]"))
        await press(pilot, "enter", then=lambda: str(page_of(pilot).border_title).startswith("Event"))
        assert tree_of(pilot).cursor_key == call.node_id
        assert "step.started" in page_text(pilot)


async def test_new_nodes_are_marked_and_the_cursor_stays() -> None:
    story = digest()
    async with opened(story) as (pilot, link):
        await pilot.press("home")
        story.wait(1).start("tool", "late", story.state.roots[0], 9)
        await changed(pilot, link, then=lambda: any(line.startswith("+") for line in tree_of(pilot).plain_lines()))
        assert ["late" in line for line in tree_of(pilot).plain_lines() if line.startswith("+")] == [True]
        assert tree_of(pilot).cursor_key == story.state.roots[0]


# -- what is done ----------------------------------------------------------------------------------------------


async def test_a_freeze_is_read_confirmed_and_its_drain_is_seen() -> None:
    story = digest()
    async with opened(story) as (pilot, link):
        await act(pilot, "p")
        assert shown(pilot, "No new step begins until it is thawed")
        await pilot.press("enter")
        assert link.said == []
        await until(pilot, lambda: shown(pilot, "y: freeze it"))
        await press(pilot, "y", then=lambda: link.said == [("freeze", {"run_id": "run-1"})])
        await until(pilot, lambda: shown(pilot, "freezing: 1 call still out: search_releases"))
        story.end(next(key for key in story.state.nodes if "search_" in key), "x")
        await changed(pilot, link, then=lambda: shown(pilot, "frozen: no call is out"))
        await act(pilot, "p")
        assert shown(pilot, "Thaw this run")


async def test_escape_leaves_it_undone() -> None:
    async with opened(digest()) as (pilot, link):
        await act(pilot, "p")
        await press(pilot, "escape", then=RunScreen)
        assert link.said == []


async def test_before_the_run_has_come_a_key_that_would_touch_it_says_so() -> None:
    async with opened(digest()) as (pilot, link):
        known, link.stories = link.stories, {}
        await press(pilot, "p", then=lambda: shown(pilot, "The run is still being loaded"))
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
        await press(pilot, *"yes y", "enter", then=lambda: screen.armed)
        await press(pilot, "y", then=lambda: link.said == [("abort", {"run_id": "run-1", "reason": "yes y"})])
        await until(pilot, lambda: shown(pilot, "being aborted by ada"))


async def test_running_again_from_here_says_afterwards_where_it_was_turned_back_to() -> None:
    story = digest()
    async with opened(story) as (pilot, link):
        await pilot.press("home")
        screen = await act(pilot, "R")
        assert shown(pilot, "dropped: 7 nodes")
        await press(pilot, "enter", then=lambda: screen.armed)
        await press(pilot, "y", then=lambda: bool(link.said))
        assert link.said[0][1]["confirm"] is True
        await until(pilot, lambda: shown(pilot, "started again from weekly_digest by ada"))
        assert shown(pilot, "Nothing has run yet")
        assert not prompt_of(pilot).has_class("-shown")


async def test_a_fork_is_shown_at_once() -> None:
    async with opened(digest()) as (pilot, link):
        await pilot.press("home")
        screen = await act(pilot, "K")
        await press(pilot, *"openai:o1", "enter", then=lambda: screen.armed)
        await press(pilot, "y", then=lambda: shown(pilot, "fork of weekly digest"))
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
        await press(pilot, "y", then=lambda: bool(link.said))
        assert link.said[0][1]["changes"] == {"model": "openai:gpt-4o"}


async def test_a_model_that_would_be_refused_is_said_before_anything_is_sent() -> None:
    async with opened(limited(1)) as (pilot, link):
        await pilot.press("home")
        screen = await act(pilot, "R")
        await press(pilot, *"antropic:x", "enter", then=lambda: shown(pilot, "did you mean 'anthropic:x'?"))
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
        await press(pilot, *"hurry", "enter", then=lambda: bool(link.said))
        verb, args = link.said[0]
        assert (verb, args["text"], args["agent"].endswith("researcher~1")) == ("inject", "hurry", True)


async def test_a_breakpoint_is_set_where_the_cursor_is_and_stands_in_the_head() -> None:
    async with opened(digest()) as (pilot, _):
        screen = await act(pilot, "B")
        await until(pilot, lambda: screen.armed)
        await press(pilot, "y", then=lambda: shown(pilot, "stops before tool write_file"))


async def test_what_cannot_be_done_is_said_and_what_is_refused_too() -> None:
    async with opened(finished()) as (pilot, link):
        await until(pilot, lambda: not shown(pilot, "p freeze"))
        foot = text_of(pilot).splitlines()[-1]
        assert "enter read on   R again from here   K another run   T timeline   esc back" in foot
        await press(pilot, "A", then=lambda: shown(pilot, "Abort: the run has ended."))
        link.refused = {"rewind": "run run-0 is looked at only"}
        screen = await act(pilot, "R")
        await press(pilot, "enter", then=lambda: screen.armed)
        await press(pilot, "y", then=lambda: shown(pilot, "run run-0 is looked at only"))


async def test_escape_leads_from_the_page_to_the_tree_and_from_there_back() -> None:
    async with opened(digest()) as (pilot, _):
        await press(pilot, "enter", then=lambda: page_of(pilot).has_focus)
        await pilot.press("escape")
        assert tree_of(pilot).has_focus
        await press(pilot, "escape", then=lambda: not isinstance(pilot.app.screen, RunScreen))


async def test_a_viewer_is_told_that_it_only_looks() -> None:
    async with opened(digest()) as (pilot, link):
        link.role = "viewer"
        await press(pilot, "p", then=lambda: shown(pilot, "A viewer may look, not act"))
        assert isinstance(pilot.app.screen, RunScreen)


async def test_where_only_looking_is_possible_it_is_said_why() -> None:
    async with opened(digest(), who_may="this is an export, a file: no run is behind it") as (pilot, link):
        link.role = "viewer"
        await press(pilot, "p", then=lambda: shown(pilot, "A viewer may look, not act; this is an export, a file"))


async def test_letters_of_acts_are_letters_where_someone_types() -> None:
    async with opened(digest()) as (pilot, link):
        await act(pilot, "A")
        await pilot.press(*"pARKMBy")
        assert pilot.app.screen.query_one(Editor).text == "pARKMBy"
        assert link.said == []


# -- the prompt ------------------------------------------------------------------------------------------------


def asks(schema: dict[str, Any], **more: Any) -> Story:
    story = Story("run-2", "ask the boss", START)
    agent = story.open("agent", "asker", story.begin("Ask."))
    tool = story.start("value", "ask", agent, agent="asker")
    incident = story.park(tool, MISSING, question="Which quarter is meant?")
    found = story.state.incidents[incident]
    found.opened = found.opened.model_copy(update={"answer_schema": schema, **more})
    return story


async def test_a_question_that_comes_as_the_first_nodes_do_takes_what_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list puts its cursor on its first line by itself; the operator did not move it."""
    story = Story("run-2", "ask the boss", START)
    tool = story.start("value", "ask", story.open("agent", "asker", story.begin("Ask.")), agent="asker")
    moved = RunScreen.on_line_list_moved

    def a_question_comes_before_it_is_drawn(screen: RunScreen, message: LineList.Moved) -> None:
        if not story.state.open_incidents:
            story.park(tool, MISSING, question="Which quarter is meant?")
        moved(screen, message)

    monkeypatch.setattr(RunScreen, "on_line_list_moved", a_question_comes_before_it_is_drawn)
    link = RunLink(story)
    app = OrbiterApp(ConsoleContext(link, clock=lambda: link.now, arm_after=0.0), run_id=story.run_id)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, RunScreen) and bool(story.state.open_incidents))
        link.changed()
        await typing(pilot)
        await press(pilot, "q", "3", "enter", then=lambda: bool(link.said))
        assert link.said[0][1]["params"] == {"value": "q3"}


async def test_an_answer_that_does_not_fit_is_mended_where_it_was_typed() -> None:
    async with opened(asks({"type": "integer"})) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await press(pilot, "i", *"four", "enter", then=lambda: shown(pilot, "integer"))
        assert link.said == []
        assert pilot.app.screen.query_one(Prompt).query_one("#editor", Editor).text == "four"
        await press(pilot, *["backspace"] * 4, "4", "enter", then=lambda: bool(link.said))
        assert link.said[0][1]["params"] == {"value": "4"}


COLOURS = ["red", "[bold]green", "blue"]


async def test_several_answers_are_ticked_in_a_list_and_a_stray_enter_sends_none() -> None:
    async with opened(asks({"type": "array", "items": {"enum": COLOURS}, "minItems": 1})) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("i", "enter")
        await until(pilot, lambda: shown(pilot, "Nothing is ticked: space ticks, enter once more sends none."))
        await until(pilot, lambda: not shown(pilot, "n next"))
        await pilot.press("enter")  # none of them: too few
        await until(pilot, lambda: shown(pilot, "at least 1"))
        assert link.said == []
        # Letters that mean something elsewhere on the screen mean nothing here.
        await pilot.press("down", "space", "3", "1", "1", "A", "q", "n")
        await until(pilot, lambda: shown(pilot, "enter sends [bold]green, blue"))
        assert shown(pilot, "[ ] red")
        await press(pilot, "enter", then=lambda: bool(link.said))
        assert [(verb, args["params"]) for verb, args in link.said] == [("answer", {"value": ["[bold]green", "blue"]})]


async def test_one_of_several_answers_is_marked_and_sent_with_enter_and_escape_goes_back() -> None:
    async with opened(asks({"enum": ["low", 7, None]})) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("i")
        await until(pilot, lambda: shown(pilot, "down or a digit marks one · enter sends it · esc other options"))
        await press(pilot, "down", "escape", then=lambda: prompt_of(pilot).armed)
        assert link.said == []
        await press(pilot, "i", "down", "down", "enter", then=lambda: bool(link.said))
        assert link.said[0][1]["params"] == {"value": 7}


async def test_a_file_is_named_by_its_path_and_read_where_the_console_is(tmp_path: Path) -> None:
    picture = tmp_path / "a b.png"
    picture.write_bytes(b"\x89PNG\x00")
    async with opened(asks({"type": "string", "contentEncoding": "base64"})) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await press(pilot, "i", then=lambda: shown(pilot, "the path of a file on this machine"))
        editor = prompt_of(pilot).query_one("#editor", Editor)
        editor.load_text(str(tmp_path / "nowhere"))
        await press(pilot, "enter", then=lambda: shown(pilot, "no such file here"))
        assert link.said == []
        editor.load_text(str(picture))
        await press(pilot, "enter", then=lambda: bool(link.said))
        assert link.said[0][1]["params"] == {"value": base64.b64encode(b"\x89PNG\x00").decode()}


def test_what_cannot_be_read_as_an_answer_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff")
    with (tmp_path / "large").open("wb") as large:
        large.truncate(file_input.MAX_FILE_BYTES + 1)
    for path, said in (("", "needed"), (".", "is a directory"), ("bytes", "not UTF-8"), ("large", "is too large")):
        with pytest.raises(ValueError, match=said):
            file_input.read_file_input(path and str(tmp_path / path), binary=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert file_input.read_file_input(" ~/bytes ", binary=True) == "/w=="


async def test_ones_own_editor_is_offered_where_there_is_one_and_sends_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "shout"
    script.write_text("#!/bin/sh\nread line < $1; [ $line = bad ] && exit 3; echo $line | tr a-z A-Z > $1\n")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"sh {script}")
    async with opened(asks({"type": "string"})) as (pilot, link):
        monkeypatch.setattr(pilot.app, "suspend", nullcontext)  # there is no terminal to give away
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("i", *"loud", "f4")
        editor = prompt_of(pilot).query_one("#editor", Editor)
        await until(pilot, lambda: editor.text == "LOUD")
        assert link.said == []
        editor.load_text("bad")
        await press(pilot, "f4", then=lambda: shown(pilot, "sh ended with code 3"))
        assert editor.text == "bad"
        monkeypatch.delenv("EDITOR")
        assert editor.check_action("external", ()) is False


async def test_how_an_answer_is_sent_is_said_however_many_choices_there_are() -> None:
    colours = [f"colour number {number}" for number in range(30)]
    async with opened(asks({"type": "array", "items": {"enum": colours}})) as (pilot, _desk):
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("i")
        await until(
            pilot, lambda: shown(pilot, "ticks any number · enter sends (none: asks if sure) · esc other options")
        )
        await pilot.press(*["down"] * 12)
        await until(pilot, lambda: shown(pilot, "colour number 11") and not shown(pilot, "colour number 3"))


async def test_a_secret_is_typed_unseen_and_gone_when_it_is_left() -> None:
    async with opened(asks({"type": "string", "format": "password"}, secret_key="k")) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await press(pilot, "i", *"hunt", then=lambda: shown(pilot, "masked only where it stands by itself"))
        await press(pilot, *"er2", then=lambda: not shown(pilot, "masked only"))
        secret = pilot.app.screen.query_one(SecretInput)
        assert secret.value == "hunter2"
        assert not shown(pilot, "hunter2")
        assert not shown(pilot, "hunter")
        await pilot.press("escape")
        assert secret.value == ""
        await until(pilot, lambda: prompt_of(pilot).armed)
        await press(pilot, "i", *"hunter2", "enter", then=lambda: bool(link.said))
        assert link.said[0][1]["params"] == {"value": "hunter2"}


async def test_a_recommended_option_is_marked_and_nothing_more() -> None:
    story = digest()
    story.analyse("run-1-inc-1", "Recommended: deny - outside.")
    async with opened(story) as (pilot, link):
        await until(pilot, lambda: shown(pilot, "(model) a model advises this"))
        assert shown(pilot, "* d Deny, with a word to the agent… (model)")
        assert not shown(pilot, "Grant permission once (model)")
        assert prompt_of(pilot).mode == "choose"
        assert link.said == []


async def test_somebody_elses_answer_is_said_with_who_gave_it() -> None:
    story = digest()
    async with opened(story) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        story.answer("run-1-inc-1", "skip", who="grace")
        await changed(pilot, link, then=lambda: shown(pilot, "grace answered this: Skip."))


async def test_wait_and_retry_is_u_since_w_asks_what_is_waited_for() -> None:
    story = Story()
    call = story.start("llm", "m", story.open("agent", "a", story.begin()))
    story.park(call, BROKEN_TOOL.model_copy(update={"retry_after_s": 3.0}))
    async with opened(story) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await press(pilot, "w", then=lambda: str(page_of(pilot).border_title).startswith("Waits for"))
        assert link.said == []
        await press(pilot, "u", then=lambda: shown(pilot, "seconds, empty: 3 s from the fault (server)"))
        await press(pilot, "enter", then=lambda: bool(link.said))
        said = link.said[0][1]
        assert (said["option"], said["params"]) == ("wait_retry", {"seconds": 3.0}), "what is left stood in the field"


async def test_an_operator_says_for_how_long_to_wait_and_is_told_what_is_no_wait() -> None:
    async with opened(limited(1)) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await press(pilot, "u", then=lambda: shown(pilot, "empty: 30 s from the fault (retry-after header)"))
        editor = prompt_of(pilot).query_one("#editor", Editor)
        for wrong, why in (("soon", "'soon'; give a number of 0 or more"), ("4e7", "the most is 31622400")):
            editor.load_text(wrong)
            await pilot.press("enter")
            await until(pilot, partial(shown, pilot, why))
            assert editor.text == wrong
        assert link.said == []
        editor.load_text(" 90 ")
        await press(pilot, "enter", then=lambda: bool(link.said))
        assert (link.said[0][1]["option"], link.said[0][1]["params"]) == ("wait_retry", {"seconds": 90.0})


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60), (40, 12)])
async def test_every_state_of_the_screen_stands_at_any_size(size: tuple[int, int]) -> None:
    async with opened(digest(), size=size) as (pilot, _):
        for keys in (("T",), ("T", "w"), ("F",), ("escape", "p")):
            await pilot.press(*keys)
            await pilot.pause()
        await pilot.resize_terminal(30, 8)
        await pilot.resize_terminal(*size)
        await press(pilot, "escape", then=RunScreen)


SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "where to write"},
        "lines": {"type": "integer"},
        "mode": {"enum": ["w", "a"]},
    },
    "required": ["path"],
}


def edits(schema: dict[str, Any] = SCHEMA, **arguments: Any) -> Story:
    story = Story("run-3", "write it down", START)
    tool = story.start("tool", "write", story.open("agent", "a", story.begin()))
    story.fail(tool, BROKEN_TOOL)
    asked = arguments or {"path": "/nowhere", "lines": 3}
    incident = story.park(tool, BROKEN_TOOL, action={"tool": "write", "arguments": asked})
    found = story.state.incidents[incident]
    found.opened = found.opened.model_copy(update={"arguments_schema": schema})
    return story


async def test_arguments_are_edited_in_a_form_made_from_the_tools_schema() -> None:
    async with opened(edits()) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("e")
        form = pilot.app.screen.query_one(AnswerForm)
        await until(pilot, lambda: bool(form.rows) and form.rows[0].has_focus_within)
        await until(pilot, lambda: shown(pilot, "path  text, needed") and shown(pilot, "where to write"))
        assert shown(pilot, "mode  one of the choices")
        assert shown(pilot, "Change nothing yet")
        await pilot.press(*["backspace"] * 8, *"/tmp/x")
        await until(pilot, lambda: shown(pilot, "- path = /nowhere") and shown(pilot, "+ path = /tmp/x"))
        await pilot.press("enter", "backspace", *"many", "enter", "ctrl+s")
        await until(pilot, lambda: shown(pilot, "1 to correct: lines") and form.rows[1].has_focus_within)
        assert shown(pilot, "should be a whole number")
        assert link.said == []
        await press(pilot, *["backspace"] * 4, "5", "enter", "2", "enter", then=lambda: bool(link.said))
        assert link.said[0][1]["params"] == {"arguments": {"path": "/tmp/x", "lines": 5, "mode": "a"}}


async def test_a_form_that_is_left_changes_nothing_and_opens_anew() -> None:
    async with opened(edits()) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("e")
        form = pilot.app.screen.query_one(AnswerForm)
        await until(pilot, lambda: bool(form.rows) and form.rows[0].has_focus_within)
        await press(pilot, *"abort", "escape", then=lambda: prompt_of(pilot).armed)
        assert link.said == []
        await press(pilot, "e", then=lambda: bool(form.rows) and form.rows[0].has_focus_within)
        assert form.filled == {("path",): "/nowhere", ("lines",): 3}


def in_stages(*names: str) -> tuple[Story, str, str]:
    """A run of a swarm in as many stages, the first of which is done; its root, and the first member's node."""
    story = Story()
    story.tell(ev.RunCreated(ref="/work/digest.py:swarm", input="Write it."))
    story.tell(ev.RunStarted(epoch=1, owner="runtime-1"))
    stages = [[name] for name in names]
    root = story.open("swarm", "flow", members=list(names), mode="workflow", stages=stages)
    first = story.open("agent", names[0], root, 0)
    story.close(first)
    story.open("agent", names[1], root, 1)
    return story, root, first


async def test_the_graph_of_the_swarm_stands_beside_the_tree_where_there_is_room_and_a_click_goes_to_a_member() -> None:
    story, root, scout = in_stages("scout", "writer")
    async with opened(story, size=(200, 50)) as (pilot, _):
        graph, tree, page = pilot.app.screen.query_one("#graph", GraphView), tree_of(pilot), page_of(pilot)
        await until(pilot, lambda: graph.display and page.region.y == graph.region.bottom)
        assert (graph.region.x, graph.region.y) == (tree.region.right, tree.region.y)
        assert page.region.bottom == tree.region.bottom
        (line,) = graph.plain_lines()
        assert line.split() == ["✓", "scout", "─────", "●", "writer", "running"]
        tree.go_to(root)
        await pilot.click(graph, offset=(2 + line.index("scout"), 1))
        await until(pilot, lambda: tree.cursor_key == scout)
        for width, height, beside in ((109, 50, False), (120, 40, True), (120, 14, False), (110, 32, True)):
            await pilot.resize_terminal(width, height)
            await until(pilot, lambda: graph.display is beside)  # noqa: B023 - waited for within the loop
        assert not pilot.app.screen.query_one("#wide-graph").display
        await press(pilot, "z", "z", then=lambda: not tree.display and not graph.display)
        await press(pilot, "z", then=lambda: tree.display and graph.display)


async def test_a_graph_wider_than_the_page_stands_above_tree_and_page_where_there_is_room() -> None:
    story, _, _ = in_stages(*(f"member_of_stage_{number}" for number in range(7)))
    async with opened(story, size=(200, 50)) as (pilot, _):
        beside, above = (pilot.app.screen.query_one(each, GraphView) for each in ("#graph", "#wide-graph"))
        tree = tree_of(pilot)
        await until(pilot, lambda: above.display and tree.region.y >= above.region.bottom > 0)
        assert not beside.display
        await pilot.resize_terminal(200, 39)
        await until(pilot, lambda: not above.display)
        assert not beside.display
