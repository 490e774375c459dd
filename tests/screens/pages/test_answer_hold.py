"""An answer can be taken back for some seconds: until then nothing is sent, whatever happens to the console."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot

from console.app.app import OrbiterApp
from screens.dialogs.bulk_answer import BulkAnswerScreen
from screens.pages.inbox import InboxScreen
from screens.shell.answer_hold import AnswerHold
from screens.shell.armed_keys import ARM_AFTER_S
from screens.shell.context import ConsoleContext
from screens.widgets.editor import Editor
from tests.console.app.console_bench import prompt_of, settled, text_of
from tests.screens.pictures import asks
from tests.screens.run_link import RunLink
from tests.screens.stepping import Clock
from tests.screens.stories import Story, limited
from tests.screens.waiting import changed, press, until

LONG_S = 600.0
"""Longer than any test: it is not the clock that sends."""


@asynccontextmanager
async def held(
    *stories: Story, seconds: float = LONG_S, key: str = "r", run_id: str = "run-1"
) -> AsyncIterator[tuple[Pilot[None], RunLink]]:
    """A run's decision, answered by a key."""
    link = RunLink(*(stories or (limited(1),)))
    session = ConsoleContext(link, clock=lambda: link.now, arm_after=0.0, hold=AnswerHold(seconds))
    app = OrbiterApp(session, run_id=run_id)
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: prompt_of(pilot).armed)
        if key:
            await press(pilot, key, then=lambda: session.hold.held is not None or bool(answers(link)))
            await settled(pilot)
        yield pilot, link


def answers(link: RunLink) -> list[tuple[str, str]]:
    return [(args["incident_id"], args["option"]) for verb, args in link.said if verb == "answer"]


async def test_while_it_is_held_nothing_is_sent_and_the_prompt_says_how_to_take_it_back() -> None:
    async with held() as (pilot, link):
        await until(pilot, lambda: "u takes it back, enter sends now" in text_of(pilot))
        assert answers(link) == []
        await press(pilot, "u", then="Taken back: nothing was sent.")
        assert prompt_of(pilot).mode == "choose"
        await press(pilot, "v", then=lambda: prompt_of(pilot).mode == "type")
        assert answers(link) == []


async def test_enter_sends_at_once() -> None:
    async with held() as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).mode == "held" and prompt_of(pilot).armed)
        await press(pilot, "enter", then=lambda: answers(link) == [("run-1-inc-1", "retry")])
        await until(pilot, lambda: "openai:gpt-4o: Retry operation" in text_of(pilot))


async def test_what_is_said_of_an_answer_names_the_step_as_the_prompt_does() -> None:
    async with held(asks(), seconds=0.0, key="", run_id="run-2") as (pilot, _):
        prompt = prompt_of(pilot)
        field = prompt.query_one("#editor", Editor)
        await until(pilot, lambda: prompt.mode == "type" and field.has_focus)
        assert "analyst asks" in text_of(pilot)
        await press(pilot, *"Q4", then=lambda: field.text == "Q4")
        await press(pilot, "enter", then="analyst: your answer")


async def test_after_its_time_it_is_sent() -> None:
    async with held(seconds=0.05) as (pilot, link):
        await until(pilot, lambda: answers(link) == [("run-1-inc-1", "retry")])


async def test_what_asks_before_is_not_held_after() -> None:
    async with held(key="") as (pilot, link):
        await press(pilot, "a", then=lambda: prompt_of(pilot).mode == "confirm" and prompt_of(pilot).armed)
        await press(pilot, "y", then=lambda: answers(link) == [("run-1-inc-1", "abort")])
        await until(pilot, lambda: "R starts again from here" in text_of(pilot))


async def test_on_another_screen_it_is_said_and_ctrl_t_takes_it_back() -> None:
    async with held() as (pilot, link):
        await press(pilot, "escape", "1", then=InboxScreen)
        await until(pilot, lambda: "Retry operation sends in" in text_of(pilot))
        await press(pilot, "ctrl+t", then="Taken back, nothing was sent: openai:gpt-4o: Retry operation.")
        await until(pilot, lambda: "sends in" not in text_of(pilot))
        assert answers(link) == []


async def test_a_console_that_is_killed_sends_nothing_and_the_decision_stays_open() -> None:
    async with held() as (_, link):
        pass  # its app ends without having been left
    assert answers(link) == []
    async with held(link.stories["run-1"], key="") as (pilot, _):
        await until(pilot, lambda: prompt_of(pilot).opened is not None)


async def test_leaving_the_console_sends_it() -> None:
    async with held() as (pilot, link):
        await press(pilot, "q", then=lambda: not pilot.app.is_running)
    assert answers(link) == [("run-1-inc-1", "retry")]


async def test_the_answer_of_a_second_console_wins_and_the_held_one_is_dropped() -> None:
    async with held() as (pilot, link):
        link.stories["run-1"].answer("run-1-inc-1", "deny", who="bob")
        await changed(pilot, link, then="bob answered this")
        assert "Yours was not sent: openai:gpt-4o: Retry operation." in text_of(pilot)
        assert pilot.app.screen.session.hold.held is None  # type: ignore[attr-defined]
        assert answers(link) == []


async def test_a_bulk_answer_sends_first_what_is_held() -> None:
    async with held(*(limited(n, n) for n in (1, 2, 3))) as (pilot, link):
        await press(pilot, "escape", "1", then=InboxScreen)
        await settled(pilot)
        await press(pilot, "home", "B", then=BulkAnswerScreen)
        await until(pilot, lambda: "None of them was answered yet" in text_of(pilot))
        await press(pilot, "r", then="the other 2 too")
        await press(pilot, "y", then="1 refused, 2 went on")
        assert [verb for verb, _ in link.said if verb.startswith("answer")] == ["answer", "answer_like"]


async def test_a_second_answer_sends_the_first() -> None:
    async with held(limited(1), limited(2, 1)) as (pilot, link):
        await press(pilot, "n", then=lambda: prompt_of(pilot).opened is not None and "chapter 2" in text_of(pilot))
        await until(pilot, lambda: prompt_of(pilot).armed)
        await press(pilot, "r", then=lambda: answers(link) == [("run-1-inc-1", "retry")])
        await until(pilot, lambda: prompt_of(pilot).mode == "held")


@asynccontextmanager
async def prompted() -> AsyncIterator[tuple[Pilot[None], RunLink, Clock]]:
    """A run's decision whose keys count, with a clock that stands."""
    link, clock = RunLink(limited(1)), Clock()
    session = ConsoleContext(link, clock=lambda: link.now, monotonic=clock, hold=AnswerHold(LONG_S))
    async with OrbiterApp(session, run_id="run-1").run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        clock.now += 60
        await until(pilot, lambda: prompt_of(pilot).armed)
        yield pilot, link, clock


@pytest.mark.parametrize("word", ["rest", "run", "rk", "r7"])
async def test_a_word_is_no_decision(word: str) -> None:
    """The first letter decides, and the next one that comes at once says that it was typed as text."""
    async with prompted() as (pilot, link, _):
        await press(pilot, *word, then=lambda: prompt_of(pilot).mode == "choose")
        if word[1] != "u":  # that takes it back, as it always does
            await until(pilot, lambda: "look like typing: nothing was sent." in text_of(pilot))
        assert answers(link) == []


async def test_a_letter_that_comes_later_leaves_what_is_held() -> None:
    async with prompted() as (pilot, link, clock):
        await press(pilot, "r", then=lambda: prompt_of(pilot).mode == "held")
        clock.now += ARM_AFTER_S
        await press(pilot, "k", then=lambda: prompt_of(pilot).armed)
        assert prompt_of(pilot).mode == "held"
        await press(pilot, "enter", then=lambda: answers(link) == [("run-1-inc-1", "retry")])


async def test_a_text_that_is_taken_back_stands_in_its_field_again() -> None:
    async with held(asks(), key="", run_id="run-2") as (pilot, link):
        prompt = prompt_of(pilot)
        field = prompt.query_one("#editor", Editor)
        await until(pilot, lambda: prompt.mode == "type" and field.has_focus)
        await press(pilot, *"Q4", then=lambda: field.text == "Q4")
        await press(pilot, "enter", then=lambda: prompt.mode == "held")
        await press(pilot, "u", then=lambda: prompt.mode == "type" and field.text == "Q4")
        assert answers(link) == []
