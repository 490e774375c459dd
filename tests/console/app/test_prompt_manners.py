"""The prompt of a console key by key: when it takes keys, what each decides, and what it never takes."""

from __future__ import annotations

import pytest
from textual.widgets import TextArea

from screens.shell.armed_keys import ARM_AFTER_S
from screens.widgets.node_tree import NodeTree
from screens.widgets.prompts.option_columns import OptionColumns
from screens.widgets.prompts.prompt_display import RequestText
from tests.console.app.console_bench import (
    NEVER,
    answers,
    armed,
    asks_for_input,
    broken,
    console,
    pressed,
    prompt_of,
    redrawn,
    text_of,
    typing,
)
from tests.screens.stepping import Clock
from tests.screens.stories import BROKEN_TOOL, DENIED, Story, digest
from tests.screens.waiting import until


async def test_it_arms_after_a_moment_and_says_what_it_swallowed() -> None:
    async with console(digest(), run_id="run-1", arm_after=NEVER) as (pilot, link):
        prompt = prompt_of(pilot)
        await until(pilot, lambda: prompt.opened is not None)
        await pilot.press("a", "g", "y")
        await until(pilot, lambda: "ignored 3 keys" in text_of(pilot))
        assert link.said == []
        assert not prompt.armed


async def test_every_early_key_starts_the_moment_anew() -> None:
    clock = Clock()
    async with console(digest(), run_id="run-1", arm_after=ARM_AFTER_S, monotonic=clock) as (pilot, link):
        prompt = prompt_of(pilot)
        await until(pilot, lambda: prompt._arming._keys.started)
        for _ in range(5):
            clock.now += 0.9 * ARM_AFTER_S
            await pilot.press("g")
        assert link.said == []
        clock.now += ARM_AFTER_S
        assert prompt.armed


async def test_enter_before_it_is_armed_decides_nothing() -> None:
    async with console(broken(), run_id="run-3", arm_after=NEVER) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).opened is not None)
        await pilot.press("down", "enter")
        assert link.said == []


async def test_it_begins_on_the_choice_that_does_nothing() -> None:
    async with console(digest(), run_id="run-1") as (pilot, link):
        await armed(pilot)
        await until(pilot, lambda: isinstance(pilot.app.focused, OptionColumns))
        await pilot.press("enter")
        assert link.said == []
        assert isinstance(pilot.app.focused, NodeTree)


async def test_enter_never_grants() -> None:
    async with console(digest(), run_id="run-1") as (pilot, link):
        await armed(pilot)
        await until(pilot, lambda: isinstance(pilot.app.focused, OptionColumns))
        await pilot.press("down", "enter")
        assert link.said == []
        assert "enter does not grant: press g" in text_of(pilot)
        await pilot.press("down", "enter")
        assert link.said == []


async def test_one_key_grants_once() -> None:
    async with console(digest(), run_id="run-1") as (pilot, link):
        prompt = await armed(pilot)
        await pilot.press("g")
        await until(pilot, lambda: bool(link.said))
        assert link.said[0][1] == {
            "incident_id": "run-1-inc-1", "option": "grant", "params": {"for": "once"}, "revision": 1,
        }  # fmt: skip
        await until(pilot, lambda: prompt.opened is None)
        assert isinstance(pilot.app.focused, NodeTree)


async def test_one_key_decides() -> None:
    async with console(broken(), run_id="run-3") as (pilot, link):
        await armed(pilot)
        await pilot.press("r")
        await until(pilot, lambda: bool(link.said))
        assert answers(link) == [("retry", {})]


@pytest.mark.parametrize(("key", "option"), [("s", "skip"), ("a", "abort")])
async def test_what_ends_something_takes_a_second_key_and_says_how_to_start_again(key: str, option: str) -> None:
    async with console(broken(), run_id="run-3") as (pilot, link):
        await pressed(pilot, key)
        assert link.said == []
        await pilot.press("y")
        await until(pilot, lambda: "R starts again from here" in text_of(pilot))
        assert answers(link) == [(option, {})]


async def test_the_keys_count_wherever_the_operator_looks_around() -> None:
    async with console(broken(), run_id="run-3") as (pilot, link):
        await armed(pilot)
        pilot.app.screen.query_one(NodeTree).focus()
        await pilot.press("k", "j", "r")
        await until(pilot, lambda: bool(link.said))
        assert answers(link) == [("retry", {})]


async def test_a_standing_grant_takes_the_capital_letter_a_lifetime_and_a_confirmation() -> None:
    async with console(digest(), run_id="run-1") as (pilot, link):
        await armed(pilot)
        await pilot.press("G")
        assert "in every run of this workspace" in text_of(pilot)
        await pressed(pilot, "enter", "G", "s")
        assert "researcher may fs.write:/data/out/digest.md, in every run of this swarm" in text_of(pilot)
        await until(pilot, lambda: "It would have matched 3 past actions and 1 pending." in text_of(pilot))
        await pressed(pilot, "enter", "G", "s", "down", "enter")
        assert link.said == []
        await pilot.press("y")
        await until(pilot, lambda: bool(link.said))
        assert answers(link) == [("grant", {"for": "swarm"})]


async def test_a_letter_that_was_on_its_way_does_not_mean_another_choice() -> None:
    """`a` is "in every run" among the lifetimes, and "abort" among the options that stand there a moment later."""
    clock = Clock()
    async with console(digest(), run_id="run-1", arm_after=ARM_AFTER_S, monotonic=clock) as (pilot, link):
        prompt = prompt_of(pilot)
        await until(pilot, lambda: prompt._arming._keys.started)
        clock.now += 60
        await pilot.press("G", "a", "escape", "a", "g")
        assert (prompt.mode, prompt.armed, link.said) == ("choose", False, [])
        assert "ignored 3 keys typed before" in text_of(pilot)


async def test_escape_leads_back_from_a_standing_grant() -> None:
    async with console(digest(), run_id="run-1") as (pilot, link):
        prompt = await armed(pilot)
        await pressed(pilot, "G", "r", "escape")
        assert prompt.mode == "choose"
        assert link.said == []


async def test_what_was_not_read_to_its_end_gets_no_standing_grant() -> None:
    story = Story()
    tool = story.start("tool", "shell", story.begin())
    lines = {f"line_{n}": "x" for n in range(60)}
    story.park(tool, DENIED, need="shell", action={"tool": "shell", "arguments": lines})
    async with console(story, run_id="run-1", size=(80, 24)) as (pilot, link):
        prompt = await armed(pilot)
        await until(pilot, lambda: "more lines below" in text_of(pilot))
        await pilot.press("G")
        assert "to its end first" in text_of(pilot)
        for _ in range(40):
            await pilot.press("pagedown")
        await until(pilot, lambda: prompt.query_one(RequestText).seen_whole)
        await pilot.press("G")
        assert prompt.mode == "lifetime"
        assert link.said == []


async def test_a_denial_takes_a_word_to_the_agent() -> None:
    async with console(digest(), run_id="run-1") as (pilot, link):
        await armed(pilot)
        await pilot.press("d", *"use q", "enter")
        await until(pilot, lambda: bool(link.said))
        assert answers(link) == [("deny", {"message": "use q"})]


async def test_a_denial_needs_no_word() -> None:
    async with console(digest(), run_id="run-1") as (pilot, link):
        await armed(pilot)
        await pilot.press("d", "enter")
        await until(pilot, lambda: bool(link.said))
        assert answers(link) == [("deny", {})]


async def test_input_is_typed_and_escape_takes_it_back() -> None:
    async with console(asks_for_input(), run_id="run-2") as (pilot, link):
        prompt = await armed(pilot)
        assert "Which quarter is meant?" in text_of(pilot)
        await typing(pilot)
        await pilot.press(*"Q3", "escape")
        assert prompt.mode == "choose"
        assert link.said == []
        await armed(pilot)
        await pilot.press("i")
        assert pilot.app.screen.query_one(TextArea).text == "Q3", "what was typed stays"
        await armed(pilot)
        await pilot.press("backspace", "backspace", *"Q4 a", "enter")
        await until(pilot, lambda: bool(link.said))
        assert answers(link) == [("input", {"value": "Q4 a"})]


async def test_arguments_are_edited_as_json_and_mistakes_are_said() -> None:
    async with console(broken(), run_id="run-3") as (pilot, link):
        await armed(pilot)
        await pilot.press("e")
        editor = pilot.app.screen.query_one(TextArea)
        assert editor.text == '{\n  "sql": "select 1"\n}'
        await pilot.press("x", "ctrl+s")
        assert "not JSON" in text_of(pilot)
        assert link.said == []
        editor.load_text('{"sql": "select 2"}')
        await pilot.press("ctrl+s")
        await until(pilot, lambda: bool(link.said))
        assert answers(link) == [("edit", {"arguments": {"sql": "select 2"}})]


async def test_a_prompt_never_steals_a_field_in_which_someone_types() -> None:
    story = asks_for_input()
    async with console(story, run_id="run-2") as (pilot, link):
        prompt = await armed(pilot)
        await typing(pilot)
        await pilot.press("Q")
        story.park(story.start("tool", "write", story.state.roots[0], 7), DENIED, need="fs.write:/x")
        link.changed()
        await redrawn(pilot)
        await pilot.press(*"4 g")
        editor = pilot.app.screen.query_one(TextArea)
        assert editor.text == "Q4 g"
        assert prompt.opened is not None
        assert prompt.opened.question == "Which quarter is meant?"
        assert "◆ 2 decisions" in text_of(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: answers(link) == [("input", {"value": "Q4 g"})])
        await until(pilot, lambda: prompt.opened is not None and prompt.opened.question == "")


async def test_an_answer_that_comes_too_late_is_refused_with_the_reason() -> None:
    story = broken()
    async with console(story, run_id="run-3") as (pilot, link):
        await armed(pilot)
        link.overtaken = lambda: story.answer("run-3-inc-1", "skip", who="grace")
        await pilot.press("r")
        await until(pilot, lambda: "grace was first and answered skip" in text_of(pilot))


async def test_what_another_operator_decided_goes_away_but_a_text_that_is_typed_stays() -> None:
    story = asks_for_input()
    async with console(story, run_id="run-2") as (pilot, link):
        prompt = await armed(pilot)
        await typing(pilot)
        await pilot.press(*"Q4")
        story.answer("run-2-inc-1", "input", who="grace", value="Q1")
        link.changed()
        await until(pilot, lambda: "grace answered this: Provide corrected input." in text_of(pilot))
        assert pilot.app.screen.query_one(TextArea).text == "Q4"
        await pilot.press("escape")
        link.changed()
        await until(pilot, lambda: prompt.opened is None)


async def test_one_decision_follows_the_other() -> None:
    story = broken()
    tool = story.start("tool", "other", story.state.roots[0], 5)
    story.wait(1).park(tool, BROKEN_TOOL, message="second")
    async with console(story, run_id="run-3") as (pilot, link):
        prompt = await armed(pilot)
        assert prompt.opened is not None
        assert prompt.opened.incident_id == "run-3-inc-1"
        await pilot.press("r")
        await until(pilot, lambda: prompt.opened is not None and prompt.opened.incident_id == "run-3-inc-2")
        await armed(pilot)
        await pressed(pilot, "s")
        await pilot.press("y")
        await until(pilot, lambda: answers(link) == [("retry", {}), ("skip", {})])


async def test_a_prompt_that_comes_back_shows_the_new_action_and_nothing_of_the_old_one() -> None:
    story = asks_for_input()
    async with console(story, run_id="run-2") as (pilot, link):
        prompt = await armed(pilot)
        await typing(pilot)
        await pilot.press(*"Q4", "enter")
        await until(pilot, lambda: prompt.opened is None)
        await pilot.pause(0.2)
        assert not prompt.display
        tool = story.start("tool", "write", story.state.roots[0], 7)
        story.park(tool, DENIED, need="fs.write:/x", action={"tool": "write", "arguments": {"path": "/x"}})
        link.changed()
        await armed(pilot)
        text = text_of(pilot)
        assert 'write(path="/x")' in text
        assert "Which quarter is meant?" not in text[text.index("asks for permission") :]


async def test_a_click_marks_and_a_later_one_on_the_mark_is_enter() -> None:
    async with console(broken(), run_id="run-3") as (pilot, link):
        await armed(pilot)
        columns = pilot.app.screen.query_one(OptionColumns)
        pilot.app.screen.query_one(NodeTree).focus()
        await pilot.pause()
        await pilot.click(OptionColumns, offset=(10, 0))
        assert columns.has_focus, "the mark was there already: the click that brings the focus takes nothing"
        await pilot.click(OptionColumns, offset=(10, 1), times=2)
        assert columns.marked is not None
        assert columns.marked.option == "retry"
        assert link.said == [], "nor does a double click"
        await pilot.click(OptionColumns, offset=(12, 1))
        assert [said[0] for said in link.said] == ["answer"]


async def test_a_new_decision_does_not_take_the_focus_from_the_tree() -> None:
    story = Story()
    root = story.begin()
    async with console(story, run_id="run-1") as (pilot, link):
        tree = pilot.app.screen.query_one(NodeTree)
        tree.focus()
        await pilot.pause()
        story.park(story.start("tool", "write", root), DENIED, need="fs.write:/x")
        link.changed()
        await until(pilot, lambda: prompt_of(pilot).opened is not None)
        await redrawn(pilot)
        assert pilot.app.focused is tree
