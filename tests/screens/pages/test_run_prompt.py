"""The prompt on the screen of a run: answers that are typed, ticked, chosen and edited."""

from __future__ import annotations

import base64
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from console.app.app import OrbiterApp
from screens.pages.run import RunScreen
from screens.shell import file_input
from screens.shell.context import ConsoleContext
from screens.widgets.editor import Editor, SecretInput
from screens.widgets.forms.answer_form import AnswerForm
from screens.widgets.line_list import LineList
from screens.widgets.prompts.prompt import Prompt
from tests.console.app.console_bench import prompt_of, typing
from tests.screens.pages.run_page import asks, edits, opened, page_of, shown
from tests.screens.run_link import RunLink
from tests.screens.stories import BROKEN_TOOL, MISSING, START, Story, digest, limited
from tests.screens.waiting import until
from tests.screens.widgets.test_live_widgets import screen_text


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
        await pilot.press("q", "3", "enter")
        await until(pilot, lambda: bool(link.said))
        assert link.said[0][1]["params"] == {"value": "q3"}


async def test_an_answer_that_does_not_fit_is_mended_where_it_was_typed() -> None:
    async with opened(asks({"type": "integer"})) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("i", *"four", "enter")
        await until(pilot, lambda: shown(pilot, "integer"))
        assert link.said == []
        assert pilot.app.screen.query_one(Prompt).query_one("#editor", Editor).text == "four"
        await pilot.press(*["backspace"] * 4, "4", "enter")
        await until(pilot, lambda: bool(link.said))
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
        await pilot.press("enter")
        await until(pilot, lambda: bool(link.said))
        assert [(verb, args["params"]) for verb, args in link.said] == [("answer", {"value": ["[bold]green", "blue"]})]


async def test_one_of_several_answers_is_marked_and_sent_with_enter_and_escape_goes_back() -> None:
    async with opened(asks({"enum": ["low", 7, None]})) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("i")
        await until(pilot, lambda: shown(pilot, "down or a digit marks one · enter sends it · esc other options"))
        await pilot.press("down", "escape")
        await until(pilot, lambda: prompt_of(pilot).armed)
        assert link.said == []
        await pilot.press("i", "down", "down", "enter")
        await until(pilot, lambda: bool(link.said))
        assert link.said[0][1]["params"] == {"value": 7}


async def test_a_file_is_named_by_its_path_and_read_where_the_console_is(tmp_path: Path) -> None:
    picture = tmp_path / "a b.png"
    picture.write_bytes(b"\x89PNG\x00")
    async with opened(asks({"type": "string", "contentEncoding": "base64"})) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("i")
        await until(pilot, lambda: shown(pilot, "the path of a file on this machine"))
        editor = prompt_of(pilot).query_one("#editor", Editor)
        editor.load_text(str(tmp_path / "nowhere"))
        await pilot.press("enter")
        await until(pilot, lambda: shown(pilot, "no such file here"))
        assert link.said == []
        editor.load_text(str(picture))
        await pilot.press("enter")
        await until(pilot, lambda: bool(link.said))
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
        await pilot.press("f4")
        await until(pilot, lambda: shown(pilot, "sh ended with code 3"))
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
        await pilot.press("i", *"hunt")
        await until(pilot, lambda: shown(pilot, "masked only where it stands by itself"))
        await pilot.press(*"er2")
        await until(pilot, lambda: not shown(pilot, "masked only"))
        secret = pilot.app.screen.query_one(SecretInput)
        assert secret.value == "hunter2"
        assert not shown(pilot, "hunter2")
        assert not shown(pilot, "hunter")
        await pilot.press("escape")
        assert secret.value == ""
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("i", *"hunter2", "enter")
        await until(pilot, lambda: bool(link.said))
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
        link.changed()
        await until(pilot, lambda: shown(pilot, "grace answered this: Skip."))


async def test_wait_and_retry_is_u_since_w_asks_what_is_waited_for() -> None:
    story = Story()
    call = story.start("llm", "m", story.open("agent", "a", story.begin()))
    story.park(call, replace(BROKEN_TOOL, retry_after_s=3.0))
    async with opened(story) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("w")
        await until(pilot, lambda: str(page_of(pilot).border_title).startswith("Waits for"))
        assert link.said == []
        await pilot.press("u")
        await until(pilot, lambda: shown(pilot, "seconds, empty: 3 s from the fault (server)"))
        await pilot.press("enter")
        await until(pilot, lambda: bool(link.said))
        said = link.said[0][1]
        assert (said["option"], said["params"]) == ("wait_retry", {"seconds": 3.0}), "what is left stood in the field"


async def test_an_operator_says_for_how_long_to_wait_and_is_told_what_is_no_wait() -> None:
    async with opened(limited(1)) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("u")
        await until(pilot, lambda: shown(pilot, "empty: 30 s from the fault (retry-after header)"))
        editor = prompt_of(pilot).query_one("#editor", Editor)
        for wrong, why in (("soon", "'soon'; give a number of 0 or more"), ("4e7", "the most is 31622400")):
            editor.load_text(wrong)
            await pilot.press("enter")
            await until(pilot, partial(shown, pilot, why))
            assert editor.text == wrong
        assert link.said == []
        editor.load_text(" 90 ")
        await pilot.press("enter")
        await until(pilot, lambda: bool(link.said))
        assert (link.said[0][1]["option"], link.said[0][1]["params"]) == ("wait_retry", {"seconds": 90.0})


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60), (40, 12)])
async def test_every_state_of_the_screen_stands_at_any_size(size: tuple[int, int]) -> None:
    async with opened(digest(), size=size) as (pilot, _):
        for keys in (("T",), ("T", "w"), ("F",), ("escape", "p")):
            await pilot.press(*keys)
            await pilot.pause()
        await pilot.resize_terminal(30, 8)
        await pilot.resize_terminal(*size)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, RunScreen))


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
        await pilot.press(*["backspace"] * 4, "5", "enter", "2", "enter")
        await until(pilot, lambda: bool(link.said))
        assert link.said[0][1]["params"] == {"arguments": {"path": "/tmp/x", "lines": 5, "mode": "a"}}


@pytest.mark.parametrize("path", ["as a text", "as JSON"])
async def test_arguments_that_a_terminal_would_obey_are_shown_and_sent_as_they_were(path: str) -> None:
    foul = "x\x9b2J\x1b]0;y\x07\u202ez\U000e0041"
    given: dict[str, Any] = (
        {"path": foul, "lines": 3} if path == "as a text" else {"path": "/a", "lines": 3, "other": {foul: foul}}
    )
    async with opened(edits(**given)) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("e")
        form = pilot.app.screen.query_one(AnswerForm)
        await until(pilot, lambda: bool(form.rows) and form.rows[0].has_focus_within)
        for _ in form.rows:
            await pilot.pause()
            assert not any(char in line for line in screen_text(pilot.app) for char in "\x9b\x1b\x07\u202e\U000e0041")
            await pilot.press("tab")
        form.rows[1].take_focus()
        await pilot.press("backspace", "4", "ctrl+s")
        await until(pilot, lambda: bool(link.said))
        assert link.said[0][1]["params"] == {"arguments": {**given, "lines": 4}}


async def test_a_form_that_is_left_changes_nothing_and_opens_anew() -> None:
    async with opened(edits()) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("e")
        form = pilot.app.screen.query_one(AnswerForm)
        await until(pilot, lambda: bool(form.rows) and form.rows[0].has_focus_within)
        await pilot.press(*"abort", "escape")
        await until(pilot, lambda: prompt_of(pilot).armed)
        assert link.said == []
        await pilot.press("e")
        await until(pilot, lambda: bool(form.rows) and form.rows[0].has_focus_within)
        assert form.filled == {("path",): "/nowhere", ("lines",): 3}
