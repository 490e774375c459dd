"""What an operator types at a prompt is safe: second keys, early keys, fields."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from runtime.judgement.recovery.options import make_option
from runtime.judgement.reports.explanation.explain import explain
from runtime.link.client.client import PictureProgress
from screens.shell.armed_keys import ARM_AFTER_S
from screens.views.decisions.prompt_choices import explained_choices, prompt_choices
from screens.views.shared.render_context import RenderContext
from screens.widgets.editor import Editor
from screens.widgets.prompts.prompt import Prompt
from tests.console.app.console_bench import (
    answers,
    asks_for_input,
    console,
    prompt_of,
    text_of,
)
from tests.patience import PATIENCE_S
from tests.screens.memory_link import MemoryLink as MemoryDesk
from tests.screens.stepping import Clock
from tests.screens.stories import BROKEN_TOOL, DENIED, MISSING, RATE_LIMITED, START, Story, digest, incident_of
from tests.screens.twelve_incidents import TWELVE
from tests.screens.waiting import changed, until

DESTROY = {
    "skip": "s",
    "accept": "c",
    "acknowledge": "o",
    "abort": "a",
}


def offering(*options: str, in_doubt: bool = False, **more: Any) -> Story:
    """A run that waits for a decision with exactly these options."""
    story = Story("run-5", "pay", START)
    tool = story.start("tool", "pay", story.open("agent", "clerk", story.begin("Pay.")), agent="clerk")
    incident = story.park(tool, BROKEN_TOOL, in_doubt=in_doubt, action={"tool": "pay", **more})
    found = story.state.incidents[incident]
    found.opened = replace(found.opened, options=tuple(make_option(each) for each in options))
    return story


@asynccontextmanager
async def deciding(*stories: Story, run_id: str = "run-5") -> AsyncIterator[tuple[Pilot[None], MemoryDesk, Clock]]:
    """A prompt whose moment is painted and over."""
    clock = Clock()
    async with console(*stories, run_id=run_id, arm_after=ARM_AFTER_S, monotonic=clock) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        clock.now += 60
        yield pilot, link, clock


@pytest.mark.parametrize("name", DESTROY)
async def test_what_destroys_takes_a_second_different_key_after_a_second(name: str) -> None:
    key = DESTROY[name]
    for others in ([key], ["enter"], ["y"], [key, key, "enter", "y"]):
        async with deciding(offering(name, "result")) as (pilot, link, _):
            await pilot.press(key, *others)
            assert link.said == [], others
    async with deciding(offering(name, "result")) as (pilot, link, clock):
        await pilot.press(key)
        assert prompt_of(pilot).mode == "confirm"
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        clock.now += 0.9
        await pilot.press("y")
        clock.now += 60
        await pilot.press("x")
        assert (prompt_of(pilot).mode, link.said) == ("choose", []), "any other key leaves it"
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        clock.now += 60
        await pilot.press(key)
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        clock.now += 1.1
        await pilot.press("y")
        await until(pilot, lambda: answers(link) == [(name, {})])


async def test_any_other_key_leaves_the_second_key_wherever_the_focus_is() -> None:
    async with deciding(offering("abort", "result")) as (pilot, link, clock):
        await pilot.press("tab")
        assert not prompt_of(pilot).has_focus_within
        await pilot.press(DESTROY["abort"])
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        assert prompt_of(pilot).mode == "confirm"
        clock.now += 60
        await pilot.press("x")
        assert prompt_of(pilot).mode == "choose"
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        clock.now += 60
        await pilot.press("y")
        assert link.said == []


async def test_a_retry_of_what_may_have_happened_and_a_reset_for_several_runs_take_a_second_key_too() -> None:
    async with deciding(offering("retry", "result", in_doubt=True)) as (pilot, _, _clock):
        await pilot.press("r")
        assert prompt_of(pilot).mode == "confirm"
    async with deciding(offering("retry", "result")) as (pilot, link, _clock):
        await pilot.press("r")
        await until(pilot, lambda: answers(link) == [("retry", {})])
    async with deciding(offering("reset", breaker="openai")) as (pilot, link, _clock):
        await pilot.press("t")
        await until(pilot, lambda: answers(link) == [("reset", {})])
    async with deciding(offering("reset", breaker="openai"), held_back("run-6")) as (pilot, link, _clock):
        await pilot.press("t")
        assert (prompt_of(pilot).mode, link.said) == ("confirm", [])
    async with deciding(offering("reset", breaker="openai")) as (pilot, link, clock):
        link.loading = {"": PictureProgress(1, 9, 1, 9)}
        await changed(pilot, link, then="(then y)")
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        clock.now += 60
        await pilot.press("t")
        assert (prompt_of(pilot).mode, link.said) == ("confirm", []), "others may wait for it: not all are told yet"


async def test_a_call_that_was_stopped_to_be_looked_at_takes_a_second_key_and_stands_there_until_then() -> None:
    async with deciding(TWELVE["breakpoint"](), run_id="run-1") as (pilot, link, clock):
        assert "Go on (then y)" in text_of(pilot)
        await pilot.press("r")
        await until(pilot, lambda: "What it does cannot be taken back." in text_of(pilot))
        assert (prompt_of(pilot).mode, link.said) == ("confirm", [])
        assert 'send_mail(to="team@example.org"' in text_of(pilot)
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        clock.now += 60
        await pilot.press("y")
        await until(pilot, lambda: answers(link) == [("retry", {})])


async def test_a_letter_of_an_option_that_is_not_offered_says_so_and_an_edit_without_a_change_is_not_sent() -> None:
    async with deciding(TWELVE["breakpoint"](), run_id="run-1") as (pilot, link, clock):
        await pilot.press("x")
        await until(pilot, lambda: "x (Extend the budget) is not offered here" in text_of(pilot))
        await pilot.press("e")
        await until(pilot, lambda: prompt_of(pilot).mode == "type" and prompt_of(pilot)._arming._keys.started)
        clock.now += 60
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Nothing is changed: change an argument, or go back with esc." in text_of(pilot))
        assert link.said == []


def held_back(run_id: str) -> Story:
    """Another run that waits for the breaker."""
    story = Story(run_id, "pay", START)
    tool = story.start("tool", "pay", story.begin("Pay."))
    story.park(tool, BROKEN_TOOL, action={"tool": "pay", "breaker": "openai"})
    return story


@pytest.mark.parametrize("word", ["analysts", "some words", "alice", "y", "say yes, g G a s r d v q n : ?"])
async def test_what_is_typed_at_a_question_stands_in_its_field_and_decides_nothing(word: str) -> None:
    async with deciding(asks_for_input(), run_id="run-2") as (pilot, link, _):
        await until(pilot, lambda: isinstance(pilot.app.focused, Editor))
        await pilot.press(*word)
        assert prompt_of(pilot).query_one(Editor).text == word
        assert link.said == []
        await pilot.press("enter")
        await until(pilot, lambda: answers(link) == [("input", {"value": word})])


async def test_keys_that_come_before_a_question_can_be_read_are_dropped_and_counted() -> None:
    clock = Clock()
    async with console(asks_for_input(), run_id="run-2", arm_after=ARM_AFTER_S, monotonic=clock) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        await pilot.press(*"as", "enter")
        await until(pilot, lambda: "ignored 3 keys" in text_of(pilot))
        clock.now += 60
        await until(pilot, lambda: isinstance(pilot.app.focused, Editor))
        await pilot.press(*"Q4")
        assert (prompt_of(pilot).query_one(Editor).text, link.said) == ("Q4", [])


async def test_keys_that_came_early_are_told_until_one_counts() -> None:
    clock = Clock()
    async with console(digest(), run_id="run-1", arm_after=ARM_AFTER_S, monotonic=clock) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        await pilot.press("g", "d")
        await until(pilot, lambda: "ignored 2 keys" in text_of(pilot))
        clock.now += 60
        await until(pilot, lambda: prompt_of(pilot).armed)
        assert "ignored 2 keys" in text_of(pilot)
        await pilot.press("down")
        await until(pilot, lambda: "ignored" not in text_of(pilot))
        assert link.said == []


async def test_the_next_question_takes_what_is_typed_however_late_the_app_comes_to_set_the_focus() -> None:
    story = asks_for_input()
    first = incident_of(story).incident_id
    second = story.start("value", "ask", story.state.roots[0], 1, agent="asker")
    story.park(second, MISSING, question="Which year is meant?")
    async with console(story, run_id="run-2") as (pilot, link):
        await until(pilot, lambda: isinstance(pilot.app.focused, Editor))
        shown = prompt_of(pilot).opened
        assert shown is not None
        assert shown.incident_id == first
        busy = asyncio.Event()
        pilot.app.call_later(busy.wait)
        story.answer(first, "input", value="Q4")
        link.changed()
        async with asyncio.timeout(PATIENCE_S):
            while not _takes_keys_for_another_than(first, prompt_of(pilot)):  # noqa: ASYNC110 - a pilot's pause waits for the app
                await asyncio.sleep(0.01)
        busy.set()
        await until(pilot, lambda: isinstance(pilot.app.focused, Editor))
        await pilot.press(*"2026", "enter")
        await until(pilot, lambda: answers(link) == [("input", {"value": "2026"})])


async def test_the_other_options_of_a_question_are_behind_escape_and_the_text_stays() -> None:
    async with deciding(asks_for_input(), run_id="run-2") as (pilot, link, clock):
        await until(pilot, lambda: isinstance(pilot.app.focused, Editor))
        await pilot.press(*"half", "escape")
        await until(pilot, lambda: "Abort execution" in text_of(pilot))
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        clock.now += 60
        await pilot.press("i")
        assert prompt_of(pilot).query_one(Editor).text == "half"
        assert link.said == []


def _takes_keys_for_another_than(incident_id: str, prompt: Prompt) -> bool:
    return prompt.opened is not None and prompt.opened.incident_id != incident_id and prompt.armed


@pytest.mark.parametrize("in_doubt", [True, False])
def test_an_option_is_starred_only_if_nothing_has_to_be_done_outside_before_it(in_doubt: bool) -> None:
    story = Story("run-7", "pay")
    call = story.start("tool", "pay", story.open("agent", "payer", story.begin()))
    fault = DENIED if in_doubt else RATE_LIMITED
    story.park(call, fault, in_doubt=in_doubt, action={"tool": "pay", "arguments": {}})
    incident, context = story.state.open_incidents[0], RenderContext(START)
    told = explain(incident, story.state)
    offered = explained_choices(prompt_choices(incident.opened, context), told, context)
    (proposed,) = [each for each in offered if each.proposed]
    assert (told.act is not None, proposed.starred) == (in_doubt, not in_doubt)
