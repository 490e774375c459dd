"""The ten rules of the prompt, each by its number (docs and facts call them so)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from runtime.judgement.reports.audit import audit_entries
from runtime.judgement.reports.explanation.explain import explain
from runtime.operations.bulk_answers import answer_equal_incidents
from runtime.operations.decisions import Decisions, InvalidCommand
from runtime.operations.requests.answers import AnswerEqual
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from screens.render.layout import plain_text
from screens.shell.armed_keys import ARM_AFTER_S
from screens.views.decisions.prompt import title_line
from screens.views.decisions.prompt_choices import LATER_OPTION, prompt_choices
from screens.views.decisions.prompt_lines import PromptContent, prompt_blocks, question_lines
from screens.views.run.explanation import explanation_lines, model_line, sentence_words, unasked_model_lines
from screens.views.shared.render_context import RenderContext
from screens.widgets.editor import Editor
from screens.widgets.prompts.option_columns import OptionColumns
from tests.console.app.console_bench import (
    NEVER,
    answers,
    armed,
    asks_for_input,
    broken,
    console,
    pressed,
    prompt_of,
    text_of,
)
from tests.screens.stories import BROKEN_TOOL, DENIED, START, Story, digest, incident_of
from tests.screens.twelve_incidents import TWELVE
from tests.screens.waiting import changed, drawn, press, until


async def test_rule_1_an_answer_carries_incident_and_revision_and_a_stale_one_is_refused_with_the_reason() -> None:
    story = broken()
    async with console(story, run_id="run-3") as (pilot, link):
        await armed(pilot)
        link.overtaken = lambda: story.answer("run-3-inc-1", "skip", who="grace")
        await press(pilot, "r", then="grace was first and answered skip")
        assert (link.said[0][1]["incident_id"], link.said[0][1]["revision"]) == ("run-3-inc-1", 1)


async def test_rule_2_it_arms_after_a_moment_and_counts_what_it_swallowed() -> None:
    assert ARM_AFTER_S == 0.4
    async with console(broken(), run_id="run-3", arm_after=NEVER) as (pilot, link):
        await press(pilot, "r", "r", "a", then="ignored 3 keys")
        assert link.said == []


async def test_rule_3_the_focus_is_on_the_harmless_choice_and_enter_grants_nothing() -> None:
    async with console(digest(), run_id="run-1") as (pilot, link):
        await armed(pilot)
        assert prompt_choices(incident_of(link.stories["run-1"]), RenderContext(START))[0].option == LATER_OPTION
        await pilot.press("down", "enter")
        assert "enter does not grant" in text_of(pilot)
        await pressed(pilot, "G", "a", "enter")
        assert prompt_of(pilot).mode == "choose"  # enter took "Back", on which the cursor was
        assert link.said == []


def test_rule_4_lineage_and_the_exact_action_with_its_invisibles_marked() -> None:
    story = Story()
    agent = story.open("agent", "mailer", story.begin())
    tool = story.start("tool", "send", agent)
    story.park(tool, DENIED, need="net:x", action={"tool": "send", "arguments": {"to": "a\u202eb"}}, task="Tell Ada")
    opened = incident_of(story)
    said = [plain_text(line) for line in question_lines(PromptContent(opened), RenderContext(story.at))]
    assert 'Call   send(to="a⟨U+202E⟩b")' in said
    assert "By     weekly_digest › mailer › send" in said
    holds = {
        ("mailer", "flow"): "holds up mailer, flow",
        ("a\x1b[2J", "b", "c"): "holds up a␛[2J, b and 1 more",
        (): "waits 0s",
    }
    for held, ends in holds.items():
        assert plain_text(title_line(opened, RenderContext(story.at), held)).endswith(ends)


def lines_of(story: Story, **more: Any) -> list[str]:
    blocks = prompt_blocks(PromptContent(incident_of(story)), RenderContext(story.at), **more)
    return [plain_text(line) for each in blocks for line in each.lines]


def test_what_an_error_carried_stands_apart_from_its_name_and_not_where_it_is_empty() -> None:
    story = Story()
    tool = story.start("tool", "query", story.open("agent", "a", story.begin()))
    story.park(tool, replace(BROKEN_TOOL, context={"request_id": "", "connection_id": "c7"}))
    found = lines_of(story)
    assert [line for line in found if "request_id" in line] == []
    assert 'connection_id  "c7"' in found


def test_a_permission_prompt_names_what_the_call_asks_for_next() -> None:
    story = Story()
    tool = story.start("tool", "write", story.open("agent", "a", story.begin()))
    also = ["shell", "net:\u0430.example.com:443", "agent.invoke:b", "ledger:x", "ledger:y"]
    story.park(tool, DENIED, need="fs.write:/x", action={"tool": "write", "arguments": {}, "also_needs": also})
    found = lines_of(story)
    begins = found.index("Needs  fs.write:/x")
    assert found[begins + 1] == "Next   shell"
    assert "⟨U+0430⟩" in found[begins + 2]
    assert [line.strip() for line in found[begins + 3 : begins + 5]] == ["agent.invoke:b", "and 2 more"]
    assert not [line for line in found if "also_needs" in line.lower()]


def test_of_a_folded_argument_as_much_is_shown_as_there_is_room() -> None:
    story = Story()
    tool = story.start("tool", "write", story.open("agent", "a", story.begin()))
    story.park(tool, DENIED, need="fs.write:/x", action={"tool": "write", "arguments": {"text": "word " * 100}})

    def shown(chars: int) -> int:
        return sum(line.count("word") for line in lines_of(story, fold_chars=chars))

    assert 10 < shown(140) < shown(300) < shown(600) == 100
    assert [line for line in lines_of(story, fold_chars=600) if "more characters" in line] == []


def test_no_line_of_the_prompt_says_that_no_model_was_asked() -> None:
    story = broken()
    incident = story.state.open_incidents[0]
    context = RenderContext(story.at)
    assert model_line(incident, context) == ()
    told = [plain_text(line) for line in explanation_lines(explain(incident, story.state), context, incident)]
    assert [line for line in told if "no model" in line] == [], "not advice: it stands at the end of the page"
    page = [plain_text(line) for line in unasked_model_lines(incident, context)]
    assert page[1].startswith("Model  no model analysed it")


async def test_rule_4_what_is_folded_is_said_with_its_size_and_page_down_unfolds_it() -> None:
    story = Story("run-4", "long", START)
    tool = story.start("tool", "write", story.open("agent", "a", story.begin()))
    story.park(tool, DENIED, need="fs.write:/x", action={"tool": "write", "arguments": {"letter": "line\n" * 80}})
    async with console(story, run_id="run-4", size=(80, 24)) as (pilot, _):
        await armed(pilot)
        assert "more characters" in text_of(pilot)
        await pressed(pilot, "pagedown", then="more lines below")


async def test_a_lasting_grant_is_offered_once_the_whole_action_was_in_sight() -> None:
    story = Story("run-4", "long", START)
    tool = story.start("tool", "write", story.open("agent", "a", story.begin()))
    story.park(tool, DENIED, need="fs.write:/x", action={"tool": "write", "arguments": {"letter": "line " * 200}})
    async with console(story, run_id="run-4", size=(80, 24)) as (pilot, link):
        await armed(pilot)
        await pressed(pilot, "G", then="Read the action to its end first")
        assert prompt_of(pilot).mode == "choose"
        await pressed(pilot, "pagedown", "pagedown", "pagedown", "G", then=lambda: prompt_of(pilot).mode == "lifetime")
        assert link.said == []


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("name", TWELVE)
async def test_cause_evidence_and_choices_stand_on_the_first_screen_and_each_is_said_once(
    name: str, size: tuple[int, int]
) -> None:
    """Of each kind of incident: what, why, what is proposed and every option are in sight; no outcome is cut."""
    story = TWELVE[name]()
    async with console(story, run_id=story.run_id, size=size) as (pilot, _):
        await armed(pilot)
        await drawn(pilot)
        shown = text_of(pilot)
        opened = incident_of(story)
        if opened.question:
            assert opened.question in shown
            return
        once = [line for line in shown.splitlines() if "What   " in line]
        needs = [line for line in shown.splitlines() if "Needs  " in line]
        assert len(once) == (0 if needs else 1)
        assert [option.label for option in opened.options if option.label not in shown] == []
        rows = [line for line in shown.splitlines() if any(each.label in line for each in opened.options)]
        assert not any(line.rstrip().endswith(("…", "… ▏")) for line in rows), "no row says half of what it will do"
        if size == (80, 24):
            assert "Nothing runs; it keeps waiting." in shown  # what the marked one does
        told = explain(story.state.open_incidents[0], story.state)
        wordings = [sentence_words(each, RenderContext(story.at)) for each in told.wordings.get(told.option, ())]
        assert any(each in " ".join(shown.split()) for each in wordings)
        stars = sum(line.startswith(" * ") for line in rows)
        assert stars == (told.act is None), "what something has to be done before is not marked to press"
        assert "more line" not in shown.partition("press a key")[2]


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
        await pressed(pilot, "G", "s", then="It would have matched 3 past actions and 1 pending.")
        assert "researcher may fs.write:/data/out/digest.md, in every run of this swarm" in text_of(pilot)


async def test_rule_7_a_denial_takes_a_word_to_the_agent() -> None:
    async with console(digest(), run_id="run-1") as (pilot, link):
        await armed(pilot)
        await press(pilot, "d", *"use /tmp", "enter", then=lambda: bool(link.said))
        assert answers(link) == [("deny", {"message": "use /tmp"})]


async def test_rule_8_a_field_in_which_someone_types_is_never_stolen_and_the_new_decision_is_counted() -> None:
    story = asks_for_input()
    async with console(story, run_id="run-2") as (pilot, link):
        await armed(pilot)
        await until(pilot, lambda: isinstance(pilot.app.focused, Editor))
        await pilot.press(*"Q4")
        other = story.start("tool", "other", story.state.roots[0], 5)
        story.park(other, BROKEN_TOOL)
        await changed(pilot, link, then="2 decisions")
        await pilot.press(*" r")
        assert prompt_of(pilot).query_one(Editor).text == "Q4 r"
        assert link.said == []


async def test_rule_9_a_bulk_answer_never_makes_a_grant_that_lasts(tmp_path: Path) -> None:
    """The verb behind the inbox's groups refuses it before anything is looked up."""
    journal = await open_journal(tmp_path)
    try:
        for lifetime in ("run", "swarm", "always"):
            with pytest.raises(InvalidCommand, match="grants once only"):
                await answer_equal_incidents(
                    Decisions(journal, tmp_path), journal, AnswerEqual("i-1", "grant", {"for": lifetime}), by=ev.Actor()
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
    found.opened = replace(found.opened, deadline=story.at + timedelta(seconds=59))
    async with console(story, run_id="run-1", size=(120, 40)) as (pilot, _):
        await armed(pilot)
        assert "in 1m00s, without an answer: Deny, with a word to the agent" in text_of(pilot)
        assert pilot.app.screen.query_one(OptionColumns).has_focus


# -- room --------------------------------------------------------------------------------------------------------------

_TOUR = "1 of 4: a service that is not there. Up and down: the line below says what each option does. " * 2


@pytest.mark.parametrize(
    ("name", "size", "guide"),
    [
        ("permission", (80, 24), _TOUR),
        ("network", (80, 24), _TOUR),
        ("permission", (60, 15), ""),
        ("network", (60, 15), _TOUR),
        ("network", (40, 8), ""),
    ],
    ids=["permission-tour", "network-tour", "permission-60", "network-60-tour", "network-40"],
)
async def test_prompt_and_keys_are_in_sight_however_small_the_screen(
    name: str, size: tuple[int, int], guide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with the words of a tour above: nothing has to be scrolled to."""
    monkeypatch.setattr("console.demo.tour.tour_text", lambda state, incident_id: guide)
    story = TWELVE[name]()
    async with console(story, run_id=story.run_id, size=size) as (pilot, _):
        await until(pilot, lambda: guide[:20] in text_of(pilot))
        await armed(pilot)
        await drawn(pilot)
        lines = text_of(pilot).splitlines()
        assert pilot.app.screen.max_scroll_y == 0
        assert lines[-1].rstrip().endswith("q quit")
        assert lines[-2].startswith(" press a key")
        assert any("esc Decide later" in line for line in lines)


async def test_while_a_text_is_typed_the_foot_shows_keys_that_are_no_part_of_it() -> None:
    story = TWELVE["question"]()
    async with console(story, run_id=story.run_id, size=(80, 24)) as (pilot, _):
        await armed(pilot)
        await until(pilot, lambda: text_of(pilot).rstrip().endswith("ctrl+p commands   f1 help   ctrl+q quit"))
        await pressed(pilot, "escape", then=lambda: text_of(pilot).rstrip().endswith(": commands   ? help   q quit"))
