"""One answer for all decisions that are the same: what is said before, and what came of each."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from runtime.judgement.recovery.option_table import option_keys
from runtime.judgement.reports.explanation.explain import explain
from runtime.operations.requests.answers import Precedent
from runtime.record.state.durable_run import DurableRun, Incident
from screens.dialogs.bulk_answer import BulkAnswerScreen
from screens.pages.inbox import InboxScreen
from screens.render.layout import plain_text
from screens.views.decisions.bulk_answer import (
    MAX_VALUE_CHARS,
    before_words,
    common_choices,
    head_lines,
    items_of,
    outcomes_so_far,
    plan_words,
    same_words,
    to_look_at,
)
from screens.views.decisions.decision_preview import proposed_alone
from screens.views.shared.render_context import RenderContext
from tests.screens.lonely import line_with, showing, text_of
from tests.screens.stories import BROKEN_TOOL, DENIED, MISSING, START, Story, digest, finished, limited, waiting_of
from tests.screens.twelve_incidents import TWELVE, network
from tests.screens.waiting import until


def wide(story: Story) -> Story:
    """A permission for a path of its own, with the fingerprint of all others."""
    tool = story.start("tool", "write_file", story.open("agent", "a", story.begin("Go.")), path=f"/data/{story.run_id}")
    need = f"fs.write:/data/{story.run_id}"
    story.park(tool, DENIED, need=need, fingerprint="f-write", action={"tool": "write_file"})
    return story


def test_only_what_is_for_once_is_said_to_several_and_each_action_is_shown() -> None:
    alike_ones = waiting_of(*[wide(Story(f"r{n}", f"t{n}")) for n in (1, 2)])
    context = RenderContext(START)
    choices = {
        (choice.option, choice.standing): choice for choice in common_choices(alike_ones, context, option_keys())
    }
    assert choices["grant", True].refused
    assert not choices["grant", False].refused
    assert [item.title for item in items_of(alike_ones, context)] == [
        "t1 · fs.write:/data/r1",
        "t2 · fs.write:/data/r2",
    ]
    assert plan_words("Grant", alike_ones, context, proven=False, option="grant") == (
        "Answer the oldest (t1) with Grant? 1 asks for something else: left alone."
    )
    assert "the other too" in plan_words("Deny", alike_ones, context, proven=False, option="deny")
    long = waiting_of(wide(Story("r3" * MAX_VALUE_CHARS, "t3")))
    refused = {
        choice.option: choice.refused
        for choice in common_choices([*alike_ones, *long], context, option_keys())
        if not choice.standing
    }
    assert "too long to be shown" in refused["grant"]
    assert not refused["deny"]


def test_of_those_that_are_alike_only_what_tells_them_apart_is_named() -> None:
    def fetching(run_id: str, *pages: str) -> Story:
        story = Story(run_id, "survey")
        agent = story.open("agent", "librarian", story.begin("Go.\n- there"))
        for page in pages:
            action = {"tool": "fetch", "arguments": {"page": page}}
            story.park(story.start("tool", "fetch", agent, page=page), BROKEN_TOOL, fingerprint="f", action=action)
        return story

    def named(*stories: Story) -> list[str]:
        return [item.title for item in items_of(waiting_of(*stories), RenderContext(START))]

    assert named(fetching("r1", "a", "b")) == ['fetch(page="a")', 'fetch(page="b")'], (
        "one run: its title tells nothing apart"
    )
    assert named(fetching("r1", "a"), fetching("r2", "b")) == [
        'survey · r1 · fetch(page="a")',
        'survey · r2 · fetch(page="b")',
    ]
    assert named(fetching("r1", "a", "a")) == ['fetch(page="a") · librarian › fetch · Go. - there'] * 2


async def test_a_key_of_a_decision_says_in_the_inbox_what_comes_before_it() -> None:
    async with showing(InboxScreen, limited(1), limited(2), limited(3, fingerprint="other")) as (pilot, link):
        await pilot.press("r")
        await until(pilot, lambda: "enter opens the decision first: r answers there; B answers all" in text_of(pilot))
        await pilot.press("down", "s")
        await until(pilot, lambda: "enter opens the decision first: s answers there." in text_of(pilot))
        await pilot.press("d")  # a limit cannot be answered so
        await until(pilot, lambda: "enter opens the decision first: u r m v s a answer there." in text_of(pilot))
        assert [verb for verb, _ in link.said if verb.startswith("answer")] == []


def doubtful(number: int) -> Story:
    """A payment of which it is not known whether it happened."""
    story = Story(f"r{number}", f"t{number}", START + timedelta(minutes=number))
    tool = story.start("tool", "pay", story.open("agent", "a", story.begin("Go.")), sum=number)
    action = {"tool": "pay", "arguments": {"sum": number}}
    story.park(tool, DENIED, in_doubt=True, fingerprint="f-pay", action=action)
    return story


def test_that_one_did_not_happen_says_nothing_of_the_others() -> None:
    several, context = waiting_of(doubtful(1), doubtful(2)), RenderContext(START)
    assert to_look_at(several, "retry") == several
    assert to_look_at(several, "result") == []
    retried, told = (Precedent(id="i-0", state="went on", option=option) for option in ("retry", "result"))
    assert (same_words(retried, several), same_words(told, several)) == ("", "result")
    assert "you are asked one by one" in str(head_lines(several, (), context))


async def test_before_a_retry_of_what_may_have_happened_each_is_asked_about_and_only_those_are_repeated() -> None:
    async with showing(InboxScreen, *[doubtful(n) for n in (1, 2, 3)], size=(140, 40)) as (pilot, link):
        await pilot.press("B")
        await until(pilot, lambda: "3 alike" in text_of(pilot))
        await pilot.press("r")
        await until(pilot, lambda: "1 of 3: Did it happen?" in text_of(pilot) and "pay(sum=1)" in text_of(pilot))
        await pilot.press("n")
        await until(pilot, lambda: "2 of 3: Did it happen?" in text_of(pilot))
        await pilot.press("y")
        await until(pilot, lambda: "3 of 3: Did it happen?" in text_of(pilot))
        await pilot.press("y")
        await until(pilot, lambda: "the other too" in text_of(pilot))
        assert link.said == [] or {verb for verb, _ in link.said} == {"precedent"}
        await pilot.press("y")
        await until(pilot, lambda: any(verb == "answer_like" for verb, _ in link.said))
        said = next(args for verb, args in link.said if verb == "answer_like")
        assert (said["incident_id"], said["option"]) == ("r2-inc-1", "retry")
        assert said["only"] == said["looked_at"] == ["r2-inc-1", "r3-inc-1"]


async def test_where_all_of_them_may_have_happened_nothing_is_repeated() -> None:
    async with showing(InboxScreen, *[doubtful(n) for n in (1, 2)], size=(140, 40)) as (pilot, link):
        await pilot.press("B")
        await until(pilot, lambda: "2 alike" in text_of(pilot))
        await pilot.press("r")
        await until(pilot, lambda: "1 of 2: Did it happen?" in text_of(pilot))
        await pilot.press("n")
        await until(pilot, lambda: "2 of 2: Did it happen?" in text_of(pilot))
        await pilot.press("n")
        await until(pilot, lambda: "Nothing was repeated" in text_of(pilot))
        assert not [verb for verb, _ in link.said if verb == "answer_like"]


def test_a_permission_without_an_object_is_for_the_very_call_and_the_call_is_shown() -> None:
    def commanded(number: int, line: str) -> Story:
        story = Story(f"r{number}", f"t{number}")
        tool = story.start("tool", "run", story.open("agent", "a", story.begin("Go.")), line=line)
        action = {"tool": "run", "arguments": {"line": line}}
        story.park(tool, DENIED, need="shell", fingerprint="f-shell", action=action)
        return story

    found = waiting_of(commanded(1, "ls"), commanded(2, "rm -r /"), commanded(3, "ls"))
    context = RenderContext(START)
    assert [item.title for item in items_of(found, context)][:2] == [
        't1 · shell: run {"line": "ls"}',
        't2 · shell: run {"line": "rm -r /"}',
    ]
    plan = plan_words("Grant", found, context, proven=False, option="grant")
    assert "the other too" in plan
    assert "1 asks for something else" in plan


def test_the_plan_names_how_many_and_what_proved_right() -> None:
    found, context = waiting_of(*[limited(n) for n in (1, 2, 3)]), RenderContext(START)
    first = plan_words("Retry operation", found, context, proven=False)
    assert first == "Answer the oldest (chapter 1) with Retry operation? If it works, the other 2 too, once each."
    assert plan_words("retry", found, context, proven=True).startswith("Answer 3 decisions with retry, once each")
    words = plain_text(
        before_words(Precedent(id="i-0", option="retry", by="a\x1bda", state="failed again", detail="i-9"), context)
    )
    assert words == "a␛da answered one of them retry: ✗ failed again · i-9"


def test_what_shows_before_the_runtime_tells_what_came_of_each() -> None:
    stories = [limited(n, n) for n in (1, 2, 3)]
    asked = waiting_of(*stories)
    stories[0].answer("run-1-inc-1", "retry")
    stories[1].answer("run-2-inc-1", "retry")
    node = asked[1].opened.node_id
    stories[1].wait(5).park(node, BROKEN_TOOL, fingerprint="f-rate")
    now = {found.opened.incident_id: found for found in waiting_of(*stories)}
    came = outcomes_so_far(asked, now)
    assert {key: found.word for key, found in came.items()} == {
        "run-1-inc-1": "answered",
        "run-2-inc-1": "failed again",
    }
    assert came["run-2-inc-1"].detail == "run-2-inc-2"


async def test_b_answers_the_oldest_and_the_rest_after_y_and_lists_what_came_of_each() -> None:
    stories = [limited(n, n) for n in (1, 2, 3)]
    async with showing(InboxScreen, *stories, size=(140, 40)) as (pilot, link):
        await pilot.press("B")
        await until(pilot, lambda: "None of them was answered yet" in text_of(pilot))
        await pilot.press("enter", "y")
        assert not any(verb == "answer_like" for verb, _ in link.said)
        await pilot.press("r")
        await until(pilot, lambda: "the other 2 too" in text_of(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: "the other 2 too" not in text_of(pilot))
        await pilot.press("r", "enter")
        assert not any(verb == "answer_like" for verb, _ in link.said), "enter answers nothing"
        stories[2].answer("run-3-inc-1", "deny", who="bob")
        await pilot.press("y")
        await until(pilot, lambda: "2 went on, 1 refused" in text_of(pilot))
        said = next(args for verb, args in link.said if verb == "answer_like")
        assert said == {
            "incident_id": "run-1-inc-1",
            "option": "retry",
            "only": ["run-1-inc-1", "run-2-inc-1", "run-3-inc-1"],
        }
        assert "ada answered" in line_with(pilot, "chapter 3 ·")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, InboxScreen))


async def test_b_answers_the_rest_as_the_one_that_proved_right() -> None:
    async with showing(InboxScreen, *[limited(n, n) for n in (1, 2)], size=(140, 40)) as (pilot, link):
        link.precedent = {"id": "i-0", "option": "switch_model", "by": "ada", "state": "went on", "detail": "succeeded"}
        await pilot.press("B")
        await until(pilot, lambda: "Answer all 2 the same: switch_model" in text_of(pilot))
        await pilot.press("B", "y")
        await until(pilot, lambda: "2 went on" in text_of(pilot))
        said = next(args for verb, args in link.said if verb == "answer_like")
        assert (said["incident_id"], said["option"], "params" in said) == ("i-0", "switch_model", False)


async def test_what_was_not_proven_yet_is_looked_at_again_when_its_run_went_on() -> None:
    first = limited(7, 9, fingerprint="f-other")
    async with showing(InboxScreen, first, *[limited(n, n) for n in (1, 2)], size=(140, 40)) as (pilot, link):
        link.precedent = {"id": "i-0", "run_id": "run-7", "option": "retry", "by": "ada", "state": "not proven"}
        pilot.app.screen.row_list.go_to("group::f-rate")  # type: ignore[attr-defined]
        await pilot.press("B")
        await until(pilot, lambda: "not proven" in text_of(pilot))
        link.precedent = {**link.precedent, "state": "went on"}
        first.answer("run-7-inc-1", "retry")
        link.changed()
        await until(pilot, lambda: "Answer all 2 the same: retry" in text_of(pilot))


async def test_an_answer_that_needs_a_value_is_typed_once_and_mistakes_are_said() -> None:
    async with showing(InboxScreen, *[limited(n, n) for n in (1, 2)], size=(140, 40)) as (pilot, link):
        link.precedent = {"id": "i-0", "option": "retry", "by": "ada", "state": "failed again", "detail": "i-1"}
        await pilot.press("B")
        await until(pilot, lambda: "failed again" in text_of(pilot))
        await pilot.press("B")
        assert "y answers" not in text_of(pilot), "what failed again is not offered"
        await pilot.press("m", "enter")
        await until(pilot, lambda: "something is needed here: model" in text_of(pilot))
        await pilot.press(*"openai:o", "enter")
        await until(pilot, lambda: "Retry with another model: openai:o" in text_of(pilot))
        link.refuses["answer_like"] = "unknown provider 'x'"
        await pilot.press("y")
        await until(pilot, lambda: "unknown provider 'x'" in text_of(pilot))
        assert "2 not yet" in text_of(pilot)


async def test_where_rows_are_free_the_decision_under_the_cursor_is_explained_below_the_list() -> None:
    async with showing(InboxScreen, network(), size=(80, 24)) as (pilot, _link):
        for words in ("What   fetch_index could not reach", "Why    Connection refused", "Try    r Retry operation"):
            await until(pilot, lambda words=words: words in text_of(pilot))  # type: ignore[misc]
        assert "enter opens it; there: r" in text_of(pilot)


@pytest.mark.parametrize("kind", TWELVE)
def test_what_a_list_proposes_is_what_the_run_proposes(kind: str) -> None:
    story = TWELVE[kind]()
    incident, context = story.state.open_incidents[0], RenderContext(START)
    alone = explain(Incident(incident.opened), DurableRun())
    proposed = proposed_alone(incident.opened, context, alone)
    if proposed:
        assert alone.option == explain(incident, story.state).option
    assert ("If yes: v. If no: r." in proposed) == bool(alone.otherwise)


async def test_a_decision_is_not_explained_where_the_list_needs_the_rows() -> None:
    many = [limited(n, n, fingerprint=f"f-{n}") for n in range(14)]
    async with showing(InboxScreen, *many, size=(80, 24)) as (pilot, _link):
        await until(pilot, lambda: "chapter 13" in text_of(pilot))
        assert "opens it; there" not in text_of(pilot)


async def test_for_all_of_them_a_model_is_chosen_from_the_list_of_providers() -> None:
    async with showing(InboxScreen, *[limited(n, n) for n in (1, 2)], size=(140, 40)) as (pilot, link):
        link.keys = ("ANTHROPIC_API_KEY",)
        await pilot.press("B")
        await until(pilot, lambda: "None of them was answered" in text_of(pilot))
        await pilot.press("m")
        await until(pilot, lambda: "1 anthropic: · its key is there; you name the model" in text_of(pilot))
        await pilot.press("1", "enter")
        await pilot.press(*"claude-haiku-4-5", "enter")
        await until(pilot, lambda: "Retry with another model: anthropic:claude-haiku-4-5" in text_of(pilot))


def asks(number: int, schema: dict[str, Any]) -> Story:
    story = Story(f"run-{number}", f"chapter {number}", START)
    ask = story.start("value", "ask", story.open("agent", "asker", story.begin("Ask.")), agent="asker")
    incident = story.park(ask, MISSING, question="Which of them?", fingerprint="f-ask")
    found = story.state.incidents[incident]
    found.opened = replace(found.opened, answer_schema=schema)
    return story


async def test_several_answers_are_ticked_once_for_all_that_ask_the_same() -> None:
    several = {"type": "array", "items": {"enum": ["Rome, Italy", "Bern", "Oslo"]}, "minItems": 1}
    async with showing(InboxScreen, *[asks(n, several) for n in (1, 2)], size=(140, 40)) as (pilot, link):
        await pilot.press("B")
        await until(pilot, lambda: isinstance(pilot.app.screen, BulkAnswerScreen))
        await pilot.press("i", "enter")
        await until(pilot, lambda: "Nothing is ticked" in text_of(pilot) and "with commas" not in text_of(pilot))
        await pilot.press("1", "1", "enter", "enter")  # ticked, and not ticked any more
        await until(pilot, lambda: "at least 1 items" in text_of(pilot) and "space ticks" in text_of(pilot))
        await pilot.press("3", "1", "enter")
        await until(pilot, lambda: "Rome, Italy, Oslo" in text_of(pilot) and "y answers" in text_of(pilot))
        await pilot.press("y")
        await until(pilot, lambda: any(verb == "answer_like" for verb, _ in link.said))
        said = next(args for verb, args in link.said if verb == "answer_like")
        assert (said["option"], said["params"]) == ("input", {"value": ["Rome, Italy", "Oslo"]})


async def test_keys_that_were_typed_before_the_page_stood_choose_nothing() -> None:
    async with showing(InboxScreen, *[limited(n, n) for n in (1, 2)]) as (pilot, _):
        screen = pilot.app.screen
        assert isinstance(screen, InboxScreen)
        session = type(screen.session)(screen.link, clock=screen.session.clock, arm_after=3600.0)
        slow = BulkAnswerScreen(session, screen._alike())
        await pilot.app.push_screen(slow)
        await pilot.press("r", "y")
        assert slow._mode == "choose"


async def test_what_is_like_no_other_has_no_such_key() -> None:
    async with showing(InboxScreen, digest(), finished()) as (pilot, _):
        await pilot.press("B")
        await pilot.pause()
        assert isinstance(pilot.app.screen, InboxScreen)
        assert "B answer all" not in text_of(pilot)
