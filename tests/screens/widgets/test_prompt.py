"""The ten rules of the prompt, each by its number (docs and facts call them so)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from runtime.judgement.recovery.options import make_option
from runtime.judgement.reports.audit import audit_entries
from runtime.operations.bulk_answers import answer_equal_incidents
from runtime.operations.decisions import Decisions, InvalidCommand
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from screens.render.layout import plain_text
from screens.shell.armed_keys import ARM_AFTER
from screens.views.decisions.prompt import (
    LATER_OPTION,
    prompt_choices,
    question_lines,
    title_line,
)
from screens.views.shared.render_context import RenderContext
from screens.widgets.editor import Editor
from screens.widgets.option_columns import Choices
from tests.console.app.test_app import (
    NEVER,
    answers,
    armed,
    asks_for_input,
    broken,
    console,
    pressed,
    prompt_of,
    text_of,
    until,
)
from tests.screens.desk import Desk as MemoryDesk
from tests.screens.stepping import Clock
from tests.screens.stories import BROKEN_TOOL, DENIED, START, Story, digest


def incident_of(story: Story) -> ev.IncidentOpened:
    return story.state.open_incidents[0].opened


async def test_rule_1_an_answer_carries_incident_and_revision_and_a_stale_one_is_refused_with_the_reason() -> None:
    story = broken()
    async with console(story, run_id="run-3") as (pilot, desk):
        await armed(pilot)
        desk.overtaken = lambda: story.answer("run-3-inc-1", "skip", who="grace")
        await pilot.press("r")
        await until(pilot, lambda: "grace was first and answered skip" in text_of(pilot))
        assert (desk.said[0][1]["incident_id"], desk.said[0][1]["revision"]) == ("run-3-inc-1", 1)


async def test_rule_2_it_arms_after_a_moment_and_counts_what_it_swallowed() -> None:
    assert ARM_AFTER == 0.4
    async with console(broken(), run_id="run-3", arm_after=NEVER) as (pilot, desk):
        await pilot.press("r", "r", "a")
        await until(pilot, lambda: "ignored 3 keys" in text_of(pilot))
        assert desk.said == []


async def test_rule_3_the_focus_is_on_the_harmless_choice_and_enter_grants_nothing() -> None:
    async with console(digest(), run_id="run-1") as (pilot, desk):
        await armed(pilot)
        assert prompt_choices(incident_of(desk.stories["run-1"]), RenderContext(START))[0].option == LATER_OPTION
        await pilot.press("down", "enter")
        assert "enter does not grant" in text_of(pilot)
        await pressed(pilot, "G", "a", "enter")
        assert prompt_of(pilot).mode == "choose"  # enter took "Back", on which the cursor was
        assert desk.said == []


def test_rule_4_lineage_task_and_the_exact_action_with_its_invisibles_marked() -> None:
    story = Story()
    agent = story.open("agent", "mailer", story.begin())
    tool = story.start("tool", "send", agent)
    story.park(tool, DENIED, need="net:x", action={"tool": "send", "arguments": {"to": "a\u202eb"}}, task="Tell Ada")
    opened = incident_of(story)
    said = [plain_text(line) for line in question_lines(opened, RenderContext(story.at))]
    assert 'with   to = "a⟨U+202E⟩b"' in said
    assert "who    weekly_digest › mailer › send" in said
    assert "task   Tell Ada" in said
    assert "holds up 2 more" in plain_text(title_line(opened, RenderContext(story.at), 2))


async def test_rule_4_what_does_not_fit_is_said_to_be_below() -> None:
    story = Story("run-4", "long", START)
    tool = story.start("tool", "write", story.open("agent", "a", story.begin()))
    story.park(tool, DENIED, need="fs.write:/x", action={"tool": "write", "arguments": {"text": "line\n" * 60}})
    async with console(story, run_id="run-4", size=(80, 24)) as (pilot, _):
        await armed(pilot)
        assert "more lines below" in text_of(pilot)


def test_rule_5_what_cannot_be_shown_whole_is_granted_only_once() -> None:
    story = Story()
    tool = story.start("tool", "write", story.open("agent", "a", story.begin()))
    story.park(tool, DENIED, need="fs.write:/x", action={"tool": "write", "arguments": {"text": "x" * 50_000}})
    standing = [each for each in prompt_choices(incident_of(story), RenderContext(START)) if each.standing]
    assert standing
    assert all(each.refused for each in standing)


async def test_rule_6_a_grant_says_subject_verb_object_lifetime_and_what_it_would_have_matched() -> None:
    async with console(digest(), run_id="run-1") as (pilot, _):
        await armed(pilot)
        await pressed(pilot, "G", "s")
        await until(pilot, lambda: "It would have matched 3 past actions and 1 pending." in text_of(pilot))
        assert "researcher may fs.write:/data/out/digest.md, in every run of this swarm" in text_of(pilot)


async def test_rule_7_a_denial_takes_a_word_to_the_agent() -> None:
    async with console(digest(), run_id="run-1") as (pilot, desk):
        await armed(pilot)
        await pilot.press("d", *"use /tmp", "enter")
        await until(pilot, lambda: bool(desk.said))
        assert answers(desk) == [("deny", {"message": "use /tmp"})]


async def test_rule_8_a_field_in_which_someone_types_is_never_stolen_and_the_new_decision_is_counted() -> None:
    story = asks_for_input()
    async with console(story, run_id="run-2") as (pilot, desk):
        await armed(pilot)
        await until(pilot, lambda: isinstance(pilot.app.focused, Editor))
        await pilot.press(*"Q4")
        other = story.start("tool", "other", story.state.roots[0], 5)
        story.park(other, BROKEN_TOOL)
        desk.changed()
        await until(pilot, lambda: "2 decisions" in text_of(pilot))
        await pilot.press(*" r")
        assert prompt_of(pilot).query_one(Editor).text == "Q4 r"
        assert desk.said == []


async def test_rule_9_a_bulk_answer_never_makes_a_grant_that_lasts(tmp_path: Path) -> None:
    """The verb behind the inbox's groups refuses it before anything is looked up."""
    journal = await open_journal(tmp_path)
    try:
        for lifetime in ("run", "swarm", "always"):
            with pytest.raises(InvalidCommand, match="for once"):
                await answer_equal_incidents(
                    Decisions(journal, tmp_path), journal, "i-1", "grant", {"for": lifetime}, by=ev.Actor()
                )
    finally:
        await journal.close()


def test_rule_10_every_answer_is_an_audit_event_with_person_channel_and_time_to_answer() -> None:
    story = digest()
    story.answer("run-1-inc-1", "deny", who="grace", message="no")
    entry = next(each for each in audit_entries(story.events) if each.option == "deny")
    assert (entry.person, entry.channel, entry.seconds) == ("grace", "console", 185.0)


async def test_the_deadline_and_its_effect_stand_in_the_prompt_and_it_grants_nothing() -> None:
    story = digest()
    found = story.state.incidents["run-1-inc-1"]
    found.opened = found.opened.model_copy(update={"deadline": story.at + timedelta(seconds=59)})
    async with console(story, run_id="run-1", size=(120, 40)) as (pilot, _):
        await armed(pilot)
        assert "in 1m00s, without an answer: Deny, with a word to the agent" in text_of(pilot)
        assert pilot.app.screen.query_one(Choices).has_focus


# -- what an operator types is safe --------------------------------------------------------------------------------


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
    found.opened = found.opened.model_copy(update={"options": tuple(make_option(each) for each in options)})
    return story


@asynccontextmanager
async def deciding(*stories: Story, run_id: str = "run-5") -> AsyncIterator[tuple[Pilot[None], MemoryDesk, Clock]]:
    """A prompt whose moment is painted and over."""
    clock = Clock()
    async with console(*stories, run_id=run_id, arm_after=ARM_AFTER, monotonic=clock) as (pilot, desk):
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        clock.now += 60
        yield pilot, desk, clock


@pytest.mark.parametrize("name", DESTROY)
async def test_what_destroys_takes_a_second_different_key_after_a_second(name: str) -> None:
    key = DESTROY[name]
    for others in ([key], ["enter"], ["y"], [key, key, "enter", "y"]):
        async with deciding(offering(name, "result")) as (pilot, desk, _):
            await pilot.press(key, *others)
            assert desk.said == [], others
    async with deciding(offering(name, "result")) as (pilot, desk, clock):
        await pilot.press(key)
        assert prompt_of(pilot).mode == "confirm"
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        clock.now += 0.9
        await pilot.press("y")
        clock.now += 60
        await pilot.press("x")
        assert (prompt_of(pilot).mode, desk.said) == ("choose", []), "any other key leaves it"
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        clock.now += 60
        await pilot.press(key)
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        clock.now += 1.1
        await pilot.press("y")
        await until(pilot, lambda: answers(desk) == [(name, {})])


async def test_any_other_key_leaves_the_second_key_wherever_the_focus_is() -> None:
    async with deciding(offering("abort", "result")) as (pilot, desk, clock):
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
        assert desk.said == []


async def test_a_retry_of_what_may_have_happened_and_a_reset_for_several_runs_take_a_second_key_too() -> None:
    async with deciding(offering("retry", "result", in_doubt=True)) as (pilot, _, _clock):
        await pilot.press("r")
        assert prompt_of(pilot).mode == "confirm"
    async with deciding(offering("retry", "result")) as (pilot, desk, _clock):
        await pilot.press("r")
        await until(pilot, lambda: answers(desk) == [("retry", {})])
    async with deciding(offering("reset", breaker="openai")) as (pilot, desk, _clock):
        await pilot.press("t")
        await until(pilot, lambda: answers(desk) == [("reset", {})])
    async with deciding(offering("reset", breaker="openai"), held_back("run-6")) as (pilot, desk, _clock):
        await pilot.press("t")
        assert (prompt_of(pilot).mode, desk.said) == ("confirm", [])


def held_back(run_id: str) -> Story:
    """Another run that waits for the breaker."""
    story = Story(run_id, "pay", START)
    tool = story.start("tool", "pay", story.begin("Pay."))
    story.park(tool, BROKEN_TOOL, action={"tool": "pay", "breaker": "openai"})
    return story


@pytest.mark.parametrize("word", ["analysts", "some words", "alice", "y", "say yes, g G a s r d v q n : ?"])
async def test_what_is_typed_at_a_question_stands_in_its_field_and_decides_nothing(word: str) -> None:
    async with deciding(asks_for_input(), run_id="run-2") as (pilot, desk, _):
        await until(pilot, lambda: isinstance(pilot.app.focused, Editor))
        await pilot.press(*word)
        assert prompt_of(pilot).query_one(Editor).text == word
        assert desk.said == []
        await pilot.press("enter")
        await until(pilot, lambda: answers(desk) == [("input", {"value": word})])


async def test_keys_that_come_before_a_question_can_be_read_are_dropped_and_counted() -> None:
    clock = Clock()
    async with console(asks_for_input(), run_id="run-2", arm_after=ARM_AFTER, monotonic=clock) as (pilot, desk):
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        await pilot.press(*"as", "enter")
        await until(pilot, lambda: "ignored 3 keys" in text_of(pilot))
        clock.now += 60
        await until(pilot, lambda: isinstance(pilot.app.focused, Editor))
        await pilot.press(*"Q4")
        assert (prompt_of(pilot).query_one(Editor).text, desk.said) == ("Q4", [])


async def test_the_other_options_of_a_question_are_behind_escape_and_the_text_stays() -> None:
    async with deciding(asks_for_input(), run_id="run-2") as (pilot, desk, clock):
        await until(pilot, lambda: isinstance(pilot.app.focused, Editor))
        await pilot.press(*"half", "escape")
        await until(pilot, lambda: "Abort execution" in text_of(pilot))
        await until(pilot, lambda: prompt_of(pilot)._arming._keys.started)
        clock.now += 60
        await pilot.press("i")
        assert prompt_of(pilot).query_one(Editor).text == "half"
        assert desk.said == []
