"""What an agent proposes stands in the prompt: one key adopts it, with the manners of every answer."""

from __future__ import annotations

from msgspec.structs import replace

from runtime.judgement.reports.audit import audit_entries
from runtime.record.state import events as ev
from screens.render.layout import plain_text
from screens.views.decisions.prompt_choices import ADOPT_KEY, adopting_choices
from screens.views.decisions.prompt_lines import proposal_lines
from screens.views.shared.render_context import RenderContext
from tests.console.app.console_bench import answers, armed, asks_for_input, broken, console, pressed, prompt_of, text_of
from tests.present import present
from tests.screens.stories import START, digest
from tests.screens.waiting import changed, press

INCIDENT = "run-3-inc-1"


async def test_one_key_adopts_what_an_agent_proposes_and_the_reason_says_so() -> None:
    story = broken()
    story.propose(INCIDENT, "retry", "the table is there now")
    async with console(story, run_id="run-3") as (pilot, link):
        await armed(pilot)
        assert "Claude Code (ada) proposes retry: the table is there now" in text_of(pilot)
        assert "As proposed: Retry" in text_of(pilot)
        await press(pilot, "equals_sign", then=lambda: answers(link) == [("retry", {})])
        assert link.said[0][1]["reason"] == "as Claude Code (ada) proposed: the table is there now"


async def test_a_proposal_with_values_is_read_and_confirmed_with_another_key() -> None:
    story = broken()
    story.propose(INCIDENT, "edit", "it is called release", arguments={"sql": "select 2"})
    async with console(story, run_id="run-3") as (pilot, link):
        await pressed(pilot, "equals_sign")
        assert prompt_of(pilot).mode == "confirm"
        assert '"sql": "select 2"' in text_of(pilot)
        assert link.said == []
        await press(pilot, "y", then=lambda: answers(link) == [("edit", {"arguments": {"sql": "select 2"}})])


async def test_a_proposal_to_end_something_takes_a_second_key() -> None:
    story = broken()
    story.propose(INCIDENT, "abort", "give up")
    async with console(story, run_id="run-3") as (pilot, link):
        await pressed(pilot, "equals_sign")
        assert prompt_of(pilot).mode == "confirm"
        assert link.said == []


async def test_a_proposal_that_comes_while_the_prompt_stands_arms_it_again() -> None:
    story = broken()
    async with console(story, run_id="run-3") as (pilot, link):
        await armed(pilot)
        await pilot.press("equals_sign")
        assert link.said == []
        story.propose(INCIDENT, "retry", "now")
        await changed(pilot, link, then="proposes retry")
        await armed(pilot)
        await press(pilot, "equals_sign", then=lambda: answers(link) == [("retry", {})])


async def test_one_key_adopts_what_is_proposed_as_the_answer_to_a_question() -> None:
    """The field of a question is open by itself: what is proposed takes its place as long as nothing is typed."""
    story = asks_for_input()
    incident = story.state.open_incidents[0].opened.incident_id
    async with console(story, run_id=story.run_id) as (pilot, link):
        await armed(pilot)
        assert prompt_of(pilot).mode == "type"
        story.propose(incident, "input", "as every week", value="blue")
        await changed(pilot, link, then=lambda: prompt_of(pilot).mode == "choose")
        await pressed(pilot, "equals_sign")
        assert prompt_of(pilot).mode == "confirm"
        await press(pilot, "y", then=lambda: answers(link) == [("input", {"value": "blue"})])


def test_a_grant_is_proposed_in_words_and_chosen_by_its_own_key() -> None:
    story = digest()
    incident = story.state.open_incidents[0]
    story.propose(incident.opened.incident_id, "grant", "it is harmless", **{"for": "always"})
    assert incident.proposal is not None
    assert adopting_choices(incident.opened, incident.proposal, RenderContext(START)) == []
    assert [
        each.key
        for each in adopting_choices(
            broken().state.open_incidents[0].opened,
            ev.AnswerProposed(incident_id=INCIDENT, revision=1, option="retry"),
            RenderContext(START),
        )
    ] == [ADOPT_KEY]


def test_the_words_of_an_agent_are_cleaned() -> None:
    story = broken()
    story.propose(INCIDENT, "edit", "a\u202eb\x1b[2J\nyes", who="evil\x1b[0m", arguments={"x": "\u200b"})
    proposal = present(story.state.open_incidents[0].proposal)
    said = [plain_text(line) for line in proposal_lines(proposal, RenderContext(START))]
    assert not [char for line in said for char in line if not char.isprintable()]
    assert "⟨U+202E⟩" in said[0]
    assert "⏎" in said[0]


def test_the_audit_says_who_proposed_and_who_decided() -> None:
    story = broken()
    story.propose(INCIDENT, "retry", "the table is there now")
    story.answer(INCIDENT, "retry")
    proposed, answered = [each for each in audit_entries(story.events) if each.incident_id]
    assert (proposed.what, proposed.person, proposed.channel) == ("proposed", "Claude Code (ada)", "mcp")
    assert (answered.what, answered.person) == ("answered", "ada")


def test_a_proposal_for_another_revision_is_shown_no_more() -> None:
    story = broken()
    story.propose(INCIDENT, "retry", "one")
    incident = story.state.incidents[INCIDENT]
    incident.proposals = [replace(incident.proposals[0], revision=2)]
    assert incident.proposal is None


def test_a_proposal_for_an_answered_incident_is_shown_no_more() -> None:
    story = broken()
    story.propose(INCIDENT, "retry", "two")
    story.answer(INCIDENT, "skip")
    assert story.state.incidents[INCIDENT].proposal is None
