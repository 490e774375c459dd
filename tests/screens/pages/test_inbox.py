"""The inbox: which decision comes first, those that are the same on one line, and one answer for all of them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from textual.pilot import Pilot

from runtime.judgement.recovery.option_table import option_keys
from runtime.judgement.reports.explanation.explain import explain
from runtime.operations.requests.answers import Precedent
from runtime.record.journal import OpenIncident
from runtime.record.state.durable_run import DurableRun, Incident
from screens.dialogs.batch_action import BatchActionScreen
from screens.dialogs.bulk_answer import BulkAnswerScreen
from screens.pages.inbox import InboxScreen, first_use_text
from screens.pages.swarms import SwarmsScreen
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
from screens.views.decisions.incident_groups import group_key, group_members
from screens.views.decisions.priority import blocked_count, by_priority, priority_of
from screens.views.lists.inbox import inbox_rows
from screens.views.run.preview import preview_lines
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_cache import RowCache
from tests.screens.lonely import line_with, showing, text_of
from tests.screens.stories import BROKEN_TOOL, DENIED, MISSING, START, Story, digest, finished, limited
from tests.screens.twelve_incidents import TWELVE, network
from tests.screens.waiting import changed, drawn, press, until


def waiting_of(*stories: Story) -> list[OpenIncident]:
    return [
        OpenIncident(story.run_id, story.title, found.opened)
        for story in stories
        for found in story.state.open_incidents
    ]


def summaries_of(*stories: Story) -> dict[str, Any]:
    return {story.run_id: story.state.summary() for story in stories}


def ranked(*stories: Story, minutes: float = 60) -> list[str]:
    found = by_priority(waiting_of(*stories), summaries_of(*stories), START + timedelta(minutes=minutes))
    return [each.run_id for each in found]


# -- which comes first -----------------------------------------------------------------------------------------


def test_what_waits_longer_costs_more_or_blocks_more_comes_first() -> None:
    one, older = limited(1, 30, fingerprint="a"), limited(2, 0, fingerprint="b")
    assert ranked(one, older) == ["run-2", "run-1"]
    dear = limited(3, 30, fingerprint="c", usd=9.0)
    assert ranked(one, dear) == ["run-3", "run-1"]
    deep = limited(4, 30, fingerprint="d")
    state = deep.state
    deep.park(
        deep.start("tool", "look", deep.open("group", "inner", state.nodes[state.roots[0]].children[0])), BROKEN_TOOL
    )
    assert ranked(one, deep)[0] == "run-4"


def test_in_a_run_where_everything_waits_all_that_is_left_of_it_is_blocked() -> None:
    story = limited(1)
    (found,) = waiting_of(story)
    summary = story.state.summary()
    around = len(found.opened.lineage)
    assert blocked_count(found, summary) == around
    parked = replace(summary, state="waiting", nodes={"running": 9, "waiting": 3, "succeeded": 50})
    assert blocked_count(found, parked) == 12
    assert blocked_count(found, replace(parked, open_incidents=3)) == max(around, 4)
    assert blocked_count(found, None) == around


def test_those_that_are_the_same_count_together_and_stand_together_the_oldest_first() -> None:
    alone = limited(1, 0, fingerprint="alone")
    many = [limited(n, 20 + n, fingerprint="many") for n in (5, 4, 3)]
    assert ranked(alone, *many) == ["run-3", "run-4", "run-5", "run-1"]


@given(
    st.lists(st.tuples(st.integers(0, 90), st.sampled_from("abc"), st.none() | st.integers(0, 9)), max_size=7),
    st.randoms(),
)
def test_the_order_does_not_depend_on_how_they_arrive(made: list[tuple[int, str, int | None]], random: Any) -> None:
    stories = [limited(n, minutes, fingerprint=mark, usd=usd) for n, (minutes, mark, usd) in enumerate(made)]
    expected = ranked(*stories)
    mixed = list(stories)
    random.shuffle(mixed)
    assert ranked(*mixed) == expected
    assert sorted(expected) == sorted(story.run_id for story in stories)
    groups = [limited_mark for limited_mark, _ in _runs([_mark(stories, run_id) for run_id in expected])]
    assert len(groups) == len(set(groups)), "a group stands in one piece"


def _mark(stories: list[Story], run_id: str) -> str:
    return next(waiting_of(story)[0].opened.fingerprint for story in stories if story.run_id == run_id)


def _runs(marks: list[str]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for mark in marks:
        if not found or found[-1][0] != mark:
            found.append((mark, 1))
    return found


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_waiting_longer_never_weighs_less(one: float, more: float) -> None:
    (found,) = waiting_of(limited(1))
    now = found.opened.ts + timedelta(seconds=one)
    assert priority_of(found, None, now) <= priority_of(found, None, now + timedelta(seconds=more))


async def test_the_order_stays_while_nothing_comes_or_goes_and_n_follows_it() -> None:
    slow, quick = limited(1, 10, fingerprint="a"), limited(2, 0, fingerprint="b")
    async with showing(InboxScreen, slow, quick) as (pilot, link):
        session = pilot.app.screen.session  # type: ignore[attr-defined]
        before = [found.run_id for found in session.decisions()]
        assert before == ["run-2", "run-1"]
        agent = next(node.id for node in slow.state.nodes.values() if node.kind == "agent")
        more = slow.start("llm", "openai:gpt-4o", agent, 7, messages=1)
        slow.end(more, {"content": "x"}, tokens=(1, 1), usd=500.0)
        link.changed()
        await drawn(pilot)
        assert [found.run_id for found in session.decisions()] == before, "a cost that grew moves nothing"
        await pilot.press("n")
        assert pilot.app.opened[-1].run_id == "run-2"  # type: ignore[attr-defined]
        await pilot.press("o", "o", "o", "o", "o", "o", "o")
        await drawn(pilot)
        assert [found.run_id for found in session.decisions()] == ["run-1", "run-2"], "it was asked for again"


# -- groups ----------------------------------------------------------------------------------------------------


def test_equal_decisions_are_one_line_with_the_others_under_it() -> None:
    stories = [limited(n, n) for n in range(1, 4)]
    rows = inbox_rows({}, by_priority(waiting_of(*stories), {}, START), RenderContext(START + timedelta(minutes=9)))
    above, *under = rows[1:]
    assert plain_text(above.cells[1]) == "3 alike"
    assert plain_text(above.cells[2]).startswith("rate limited · openai:gpt-4o")
    assert plain_text(above.cells[5]) == "7m", "as old as the oldest"
    assert above.fold is True
    assert [row.under for row in under] == [above.key] * 3
    assert plain_text(rows[0].cells[1]).strip() == "3", "the heading counts decisions, not lines"


def test_one_of_a_kind_or_without_a_fingerprint_or_of_another_host_is_no_group() -> None:
    stories = [limited(1, fingerprint=""), limited(2, fingerprint=""), limited(3), limited(4)]
    waiting = waiting_of(*stories)
    where = {"run-3": "east", "run-4": "west"}.get
    rows = inbox_rows({}, waiting, RenderContext(START), lambda run_id: where(run_id, ""))
    assert [row.fold for row in rows if not row.heading] == [None] * 4
    assert len({group_key(found, where(found.run_id, "")) for found in waiting}) == 4
    assert [found.run_id for found in group_members("incident:run-3-inc-1", waiting)] == ["run-3", "run-4"]
    assert group_members("incident:nobody", waiting) == []


def test_a_row_is_made_anew_only_when_it_says_something_else() -> None:
    stories, memory = [digest(), limited(2, fingerprint="b"), finished()], RowCache()
    summaries, waiting = summaries_of(*stories), waiting_of(*stories)

    def rows(seconds: float) -> list[Any]:
        context = RenderContext(START + timedelta(seconds=seconds))
        return [row for row in inbox_rows(summaries, waiting, context, memory=memory) if not row.heading]

    first, again = rows(3620), rows(3621)
    assert all(one is other for one, other in zip(first, again, strict=True))
    summaries["run-1"] = replace(summaries["run-1"], steps=99)
    changed = [one.key for one, other in zip(first, rows(3622), strict=True) if one is not other]
    assert changed == ["run:run-1"]
    assert len([1 for one, other in zip(first, rows(9000), strict=True) if one is not other]) >= 4, "ages went on"


async def test_a_group_unfolds_and_enter_opens_its_oldest() -> None:
    async with showing(InboxScreen, *[limited(n, n) for n in (3, 1, 2)]) as (pilot, _):
        assert "3 alike" in text_of(pilot)
        assert text_of(pilot).count("◆ needs you") == 1
        await pilot.press("enter")
        await pilot.pause()
        assert (pilot.app.opened[-1].run_id, pilot.app.opened[-1].incident_id) == ("run-1", "run-1-inc-1")  # type: ignore[attr-defined]
        await pilot.press("right")
        await drawn(pilot)
        assert text_of(pilot).count("◆ needs you") == 4
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert pilot.app.opened[-1].run_id == "run-2"  # type: ignore[attr-defined]
        await pilot.press("left")
        await pilot.pause()
        assert pilot.app.screen.row_list.cursor_key.startswith("group:")  # type: ignore[attr-defined]
        await pilot.press("space")
        await drawn(pilot)
        assert text_of(pilot).count("◆ needs you") == 1


async def test_beside_the_list_a_group_names_its_runs() -> None:
    async with showing(InboxScreen, *[limited(n, n) for n in range(1, 20)], size=(200, 60)) as (pilot, _):
        text = text_of(pilot)
        assert "19 alike" in text
        assert "chapter 12 · run-12" in text
        assert "and 7 more" in text
    assert preview_lines("group::gone", {}, {}, RenderContext(START)) == []


# -- one answer for all of them --------------------------------------------------------------------------------


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
        await press(pilot, "r", then="enter opens the decision first: r answers there; B answers all")
        await press(pilot, "down", "s", then="enter opens the decision first: s answers there.")
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
        await press(pilot, "B", then="3 alike")
        await pilot.press("r")
        await until(pilot, lambda: "1 of 3: Did it happen?" in text_of(pilot) and "pay(sum=1)" in text_of(pilot))
        await press(pilot, "n", then="2 of 3: Did it happen?")
        await press(pilot, "y", then="3 of 3: Did it happen?")
        await press(pilot, "y", then="the other too")
        assert link.said == [] or {verb for verb, _ in link.said} == {"precedent"}
        await press(pilot, "y", then=lambda: any(verb == "answer_like" for verb, _ in link.said))
        said = next(args for verb, args in link.said if verb == "answer_like")
        assert (said["incident_id"], said["option"]) == ("r2-inc-1", "retry")
        assert said["only"] == said["looked_at"] == ["r2-inc-1", "r3-inc-1"]


async def test_where_all_of_them_may_have_happened_nothing_is_repeated() -> None:
    async with showing(InboxScreen, *[doubtful(n) for n in (1, 2)], size=(140, 40)) as (pilot, link):
        await press(pilot, "B", then="2 alike")
        await press(pilot, "r", then="1 of 2: Did it happen?")
        await press(pilot, "n", then="2 of 2: Did it happen?")
        await press(pilot, "n", then="Nothing was repeated")
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
        await press(pilot, "B", then="None of them was answered yet")
        await pilot.press("enter", "y")
        assert not any(verb == "answer_like" for verb, _ in link.said)
        await press(pilot, "r", then="the other 2 too")
        await press(pilot, "escape", then=lambda: "the other 2 too" not in text_of(pilot))
        await pilot.press("r", "enter")
        assert not any(verb == "answer_like" for verb, _ in link.said), "enter answers nothing"
        stories[2].answer("run-3-inc-1", "deny", who="bob")
        await press(pilot, "y", then="2 went on, 1 refused")
        said = next(args for verb, args in link.said if verb == "answer_like")
        assert said == {
            "incident_id": "run-1-inc-1",
            "option": "retry",
            "only": ["run-1-inc-1", "run-2-inc-1", "run-3-inc-1"],
        }
        assert "ada answered" in line_with(pilot, "chapter 3 ·")
        await press(pilot, "escape", then=InboxScreen)


async def test_b_answers_the_rest_as_the_one_that_proved_right() -> None:
    async with showing(InboxScreen, *[limited(n, n) for n in (1, 2)], size=(140, 40)) as (pilot, link):
        link.precedent = {"id": "i-0", "option": "switch_model", "by": "ada", "state": "went on", "detail": "succeeded"}
        await press(pilot, "B", then="Answer all 2 the same: switch_model")
        await press(pilot, "B", "y", then="2 went on")
        said = next(args for verb, args in link.said if verb == "answer_like")
        assert (said["incident_id"], said["option"], "params" in said) == ("i-0", "switch_model", False)


async def test_what_was_not_proven_yet_is_looked_at_again_when_its_run_went_on() -> None:
    first = limited(7, 9, fingerprint="f-other")
    async with showing(InboxScreen, first, *[limited(n, n) for n in (1, 2)], size=(140, 40)) as (pilot, link):
        link.precedent = {"id": "i-0", "run_id": "run-7", "option": "retry", "by": "ada", "state": "not proven"}
        pilot.app.screen.row_list.go_to("group::f-rate")  # type: ignore[attr-defined]
        await press(pilot, "B", then="not proven")
        link.precedent = {**link.precedent, "state": "went on"}
        first.answer("run-7-inc-1", "retry")
        await changed(pilot, link, then="Answer all 2 the same: retry")


async def test_an_answer_that_needs_a_value_is_typed_once_and_mistakes_are_said() -> None:
    async with showing(InboxScreen, *[limited(n, n) for n in (1, 2)], size=(140, 40)) as (pilot, link):
        link.precedent = {"id": "i-0", "option": "retry", "by": "ada", "state": "failed again", "detail": "i-1"}
        await press(pilot, "B", then="failed again")
        await pilot.press("B")
        assert "y answers" not in text_of(pilot), "what failed again is not offered"
        await press(pilot, "m", "enter", then="something is needed here: model")
        await press(pilot, *"openai:o", "enter", then="Retry with another model: openai:o")
        link.refuses["answer_like"] = "unknown provider 'x'"
        await press(pilot, "y", then="unknown provider 'x'")
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
    if proposed_alone(incident.opened, context, alone):
        assert alone.option == explain(incident, story.state).option


async def test_a_decision_is_not_explained_where_the_list_needs_the_rows() -> None:
    many = [limited(n, n, fingerprint=f"f-{n}") for n in range(14)]
    async with showing(InboxScreen, *many, size=(80, 24)) as (pilot, _link):
        await until(pilot, lambda: "chapter 13" in text_of(pilot))
        assert "opens it; there" not in text_of(pilot)


async def test_for_all_of_them_a_model_is_chosen_from_the_list_of_providers() -> None:
    async with showing(InboxScreen, *[limited(n, n) for n in (1, 2)], size=(140, 40)) as (pilot, link):
        link.keys = ("ANTHROPIC_API_KEY",)
        await press(pilot, "B", then="None of them was answered")
        await press(pilot, "m", then="1 anthropic: · its key is there; you name the model")
        await pilot.press("1", "enter")
        await press(pilot, *"claude-haiku-4-5", "enter", then="Retry with another model: anthropic:claude-haiku-4-5")


def asks(number: int, schema: dict[str, Any]) -> Story:
    story = Story(f"run-{number}", f"chapter {number}", START)
    ask = story.start("value", "ask", story.open("agent", "asker", story.begin("Ask.")), agent="asker")
    incident = story.park(ask, MISSING, question="Which of them?", fingerprint="f-ask")
    found = story.state.incidents[incident]
    found.opened = found.opened.model_copy(update={"answer_schema": schema})
    return story


async def test_several_answers_are_ticked_once_for_all_that_ask_the_same() -> None:
    several = {"type": "array", "items": {"enum": ["Rome, Italy", "Bern", "Oslo"]}, "minItems": 1}
    async with showing(InboxScreen, *[asks(n, several) for n in (1, 2)], size=(140, 40)) as (pilot, link):
        await press(pilot, "B", then=BulkAnswerScreen)
        await pilot.press("i", "enter")
        await until(pilot, lambda: "Nothing is ticked" in text_of(pilot) and "with commas" not in text_of(pilot))
        await pilot.press("1", "1", "enter", "enter")  # ticked, and not ticked any more
        await until(pilot, lambda: "at least 1 items" in text_of(pilot) and "space ticks" in text_of(pilot))
        await pilot.press("3", "1", "enter")
        await until(pilot, lambda: "Rome, Italy, Oslo" in text_of(pilot) and "y answers" in text_of(pilot))
        await press(pilot, "y", then=lambda: any(verb == "answer_like" for verb, _ in link.said))
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


# -- filter, sort, selection -----------------------------------------------------------------------------------


async def test_the_filter_says_how_many_it_leaves_out_and_comes_back_as_it_was() -> None:
    async with showing(InboxScreen, digest(), finished(), size=(80, 24)) as (pilot, _):
        await press(pilot, "slash", *"manual", then="/manual · 2 left out")
        await press(pilot, "enter", "escape", then=lambda: "left out" not in text_of(pilot))
        assert "weekly digest" in text_of(pilot)
        await press(pilot, "slash", then="/manual · 2 left out")
        await press(pilot, *"!(", "enter", then="not a valid regular expression: missing )")
        assert "weekly digest" in text_of(pilot)


async def test_the_filter_goes_through_inputs_and_results_that_no_row_shows() -> None:
    asked = finished()
    asked.state.output = "The quetzal nests in March."
    for screen in (InboxScreen, SwarmsScreen):
        async with showing(screen, digest(), asked, size=(80, 24)) as (pilot, _):
            await until(pilot, lambda: "weekly digest" in text_of(pilot))
            await pilot.press("slash", *"quetzal")
            await until(pilot, lambda: "translate manual" in text_of(pilot) and "weekly digest" not in text_of(pilot))
            await press(pilot, *"x", then=lambda: "translate manual" not in text_of(pilot))
            await press(pilot, "escape", then="weekly digest")


async def test_a_filter_goes_on_without_a_runtime_through_what_is_shown() -> None:
    async with showing(InboxScreen, digest(), finished(), size=(80, 24)) as (pilot, link):
        link.lose("the runtime was stopped")
        await press(pilot, "slash", *"manual", then="/manual · 2 left out")
        await until(pilot, lambda: "Only what is shown is searched" in text_of(pilot))


async def test_faults_only_and_sorting_by_the_columns() -> None:
    dear = limited(7, 3, usd=2.0)
    dear.open("agent", "editor", dear.state.roots[0], 1)  # at work, while the other waits for a person
    async with showing(InboxScreen, digest(), finished(), dear, size=(120, 24)) as (pilot, _):
        await pilot.press("F")
        await drawn(pilot)
        assert "faults only · 1 left out" in text_of(pilot)
        assert "translate manual" not in text_of(pilot)
        await pilot.press("F", "o", "o", "o", "o", "o")
        await drawn(pilot)
        assert "cost↑" in text_of(pilot).splitlines()[1]
        working = text_of(pilot).partition("Working")[2]
        assert working.index("weekly digest") < working.index("chapter 7")
        await pilot.press("O")
        await drawn(pilot)
        assert "cost↓" in text_of(pilot).splitlines()[1]
        working = text_of(pilot).partition("Working")[2]
        assert working.index("chapter 7") < working.index("weekly digest")


async def confirmed(pilot: Pilot[None], key: str, question: str) -> None:
    """Press a key and confirm what it asks."""
    await press(pilot, key, then=lambda: question in text_of(pilot) and "takes keys" not in text_of(pilot))
    await pilot.press("y")


async def test_what_is_selected_is_frozen_together_and_aborted_after_its_number_was_said() -> None:
    stories = [limited(n, n, fingerprint=f"f{n}") for n in (1, 2, 3)]
    async with showing(InboxScreen, *stories, finished(), size=(140, 40)) as (pilot, link):
        await pilot.press("space", "space")
        await drawn(pilot)
        assert "2 selected" in text_of(pilot)
        await confirmed(pilot, "p", "Freeze 2 runs?")
        await until(pilot, lambda: "2 frozen" in text_of(pilot))
        await press(pilot, "escape", then=InboxScreen)
        await confirmed(pilot, "p", "Thaw 2 runs?")
        await until(pilot, lambda: "2 thawed" in text_of(pilot))
        await press(pilot, "escape", then=InboxScreen)
        await press(pilot, "ctrl+a", "A", then="Abort 3 runs?")
        await press(pilot, "enter", "n", then=InboxScreen)
        assert not any(verb == "abort" for verb, _ in link.said)
        await press(pilot, "A", then=BatchActionScreen)
        stories[1].finish("failed", error="too late")
        await press(pilot, "y", then="2 aborting, 1 refused")
        assert "has ended: it is failed" in line_with(pilot, "✗ refused")
        await press(pilot, "escape", then=InboxScreen)
        await pilot.press("escape")
        await drawn(pilot)
        assert "selected" not in text_of(pilot)
        ended = [args["run_id"] for verb, args in link.said if verb == "abort"]
        assert sorted(ended) == ["run-1", "run-2", "run-3"]


async def test_a_page_that_is_closed_stops_nothing_and_what_came_of_it_is_said() -> None:
    stories = [limited(n, n, fingerprint=f"f{n}") for n in (1, 2, 3)]
    async with showing(InboxScreen, *stories, size=(140, 40)) as (pilot, link):
        go_on = asyncio.Event()
        real = link.command

        async def slow(verb: str, /, **args: Any) -> Any:
            if verb == "freeze":
                await go_on.wait()
            return await real(verb, **args)

        link.command = slow  # type: ignore[method-assign]
        await pilot.press("ctrl+a")
        await confirmed(pilot, "p", "Freeze 3 runs?")
        await until(pilot, lambda: "1 under way, 2 not yet" in text_of(pilot))
        await press(pilot, "escape", then=InboxScreen)
        go_on.set()
        await until(pilot, lambda: "Freeze 3 runs: 3 frozen" in text_of(pilot))


async def test_one_run_is_frozen_by_a_key_and_thawed_by_the_same() -> None:
    async with showing(InboxScreen, limited(1)) as (pilot, link):
        await confirmed(pilot, "p", "Freeze the run chapter 1?")
        await until(pilot, lambda: "1 frozen" in text_of(pilot))
        await pilot.press("escape")
        await confirmed(pilot, "p", "Thaw the run chapter 1?")
        await until(pilot, lambda: "1 thawed" in text_of(pilot))
        await pilot.press("escape")
        link.refuses["freeze"] = "a viewer may look, not act"
        await confirmed(pilot, "p", "Freeze the run chapter 1?")
        await until(pilot, lambda: "a viewer may look" in text_of(pilot))


async def test_a_decision_that_came_is_marked_as_new() -> None:
    story = digest()
    async with showing(InboxScreen, story) as (pilot, link):
        assert not line_with(pilot, "asks permission").startswith("+")
        new = limited(8, 60)
        link.stories[new.run_id] = new
        await changed(pilot, link, then="rate limited")
        assert line_with(pilot, "rate limited").startswith("+")
        new.wait(120)
        link.changed()
        await drawn(pilot)
        assert line_with(pilot, "rate limited").startswith(" ")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_with_no_runs_the_inbox_says_how_to_start_one(size: tuple[int, int]) -> None:
    async with showing(InboxScreen, size=size) as (pilot, _):
        assert all(line in text_of(pilot) for line in first_use_text(RenderContext(START)).splitlines())
