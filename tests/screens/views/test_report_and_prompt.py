"""The report of an incident and its prompt, without a terminal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from runtime.judgement.recovery.option_table import option_keys
from runtime.judgement.reports.incident_report import NO_ANALYSIS, build_report
from runtime.record.state import events as ev
from screens.render.layout import (
    plain_text,
)
from screens.views.decisions.prompt import (
    action_text,
    grant_words,
    is_whole,
    title_line,
)
from screens.views.decisions.prompt_block import mark_invisible
from screens.views.decisions.prompt_choices import LATER_OPTION, prompt_choices
from screens.views.decisions.prompt_lines import PromptContent, question_lines
from screens.views.decisions.typed_answer import answer_params
from screens.views.run.report import answer_lines, report_lines, traceback_lines
from tests.screens.stories import BROKEN_TOOL, DENIED, Story, digest
from tests.screens.views.story_views import at, words

# -- report ----------------------------------------------------------------------------------------------------


def report_of(story: Story) -> list[str]:
    incident = next(iter(story.state.incidents.values()))
    return words(report_lines(build_report(story.state, incident.opened), at(story), incident))


def test_the_report_has_the_seeds_sections_in_the_seeds_order() -> None:
    story = Story()
    agent = story.open("agent", "researcher", story.begin())
    done = story.start("tool", "fetch", agent, 0)
    story.wait(1.5).end(done, "ok")
    broken = story.start("tool", "query", agent, 1)
    story.fail(broken, BROKEN_TOOL)
    story.start("tool", "query", agent, 1, attempt=2)
    story.park(broken, BROKEN_TOOL, message="no such table: releases")
    found = report_of(story)
    assert found[0] == "⚠ ERROR REPORT - 2026-11-20 09:00:01"
    labels = [line.split(":")[0] for line in found if ":" in line and not line.startswith(("⚠", " ", "✓", "✗"))]
    assert labels == [
        "Error Type", "Severity", "Task", "Failed Operation", "Error Message", "Capability", "Error Metadata",
        "Execution Stats", "Execution Summary", "Attempts", "Waits For This", "Analysis",
    ]  # fmt: skip
    assert "  - Attempt 1: tool_failed after 0.0s: ValueError: no such table: releases" in found
    assert "Execution Stats: Total operations: 2, Execution time: 1.5s, Retry attempts: 1" in found
    assert "✓ Step 1: tool fetch" in found
    assert '    "technical_details": "no such table: releases",' in found
    assert found[-2:] == ["", f"Analysis: {NO_ANALYSIS}"]


def test_the_analysis_fills_in() -> None:
    story = digest()
    assert not any("rror" in line for line in report_of(story)), "a request must not be called an error"
    story.analyse("run-1-inc-1", "The folder is outside of\nthe workspace.")
    assert report_of(story)[-3:] == [
        "Analysis: scripted:analyst says, not checked",
        "  The folder is outside of",
        "  the workspace.",
    ]


def test_an_answered_incident_says_who_and_what() -> None:
    story = digest()
    incident = story.state.incidents["run-1-inc-1"]
    assert answer_lines(incident, at(story)) == []
    story.answer("run-1-inc-1", "deny", who="grace", text="use ./out")
    found = words(answer_lines(incident, at(story)))
    assert found[0] == "✓ Answered: Deny, with a word to the agent by grace (console) after 3m05s"
    assert "text  use ./out" in found


def test_a_traceback_is_shown_apart() -> None:
    story = Story()
    story.park(story.begin(), BROKEN_TOOL, traceback="Traceback …\n  line 1")
    incident = story.state.open_incidents[0]
    found = words(traceback_lines(build_report(story.state, incident.opened), at(story)))
    assert found == ["", "Traceback:", "  Traceback …", "    line 1"]


# -- prompt ----------------------------------------------------------------------------------------------------


def opened_in(story: Story) -> ev.IncidentOpened:
    return story.state.open_incidents[0].opened


def test_a_prompt_begins_with_the_choice_that_does_nothing_and_enter_never_grants() -> None:
    story = digest()
    found = prompt_choices(opened_in(story), at(story))
    assert [(choice.key, choice.option) for choice in found] == [
        ("escape", LATER_OPTION), ("g", "grant"), ("G", "grant"), ("d", "deny"), ("s", "skip"), ("a", "abort"),
    ]  # fmt: skip
    assert [choice.enter for choice in found if choice.option == "grant"] == [False, False]
    assert found[2].standing
    assert found[2].standing


def test_no_two_options_share_a_key_and_none_takes_a_key_that_moves() -> None:
    assert len(set(option_keys().values())) == len(option_keys())
    capitals = {option_keys()["grant"].upper()}
    assert not ({*option_keys().values(), *capitals} & set("hjklnq?:/zy "))


def test_an_option_of_a_newer_runtime_gets_a_number() -> None:
    story = digest()
    opened = replace(opened_in(story), options=(ev.Option(id="teleport", label="Teleport"),))
    assert [choice.key for choice in prompt_choices(opened, at(story))] == ["escape", "1"]


def test_the_exact_action_is_shown_with_invisible_characters_marked() -> None:
    story = Story()
    tool = story.start("tool", "shell", story.begin())
    story.park(
        tool, DENIED, need="shell", action={"tool": "shell", "arguments": {"cmd": "ls \u202e; rm -rf /\x1b[8m\t"}}
    )
    lines = question_lines(PromptContent(opened_in(story)), at(story))
    text = "\n".join(words(lines))
    assert "⟨U+202E⟩" in text
    assert "\\u001b[8m\\t" in text
    marks = [piece.text for line in lines for piece in line if piece.ink == "ink-mark"]
    assert marks == ["⟨U+202E⟩"]
    assert [piece.text for piece in mark_invisible("a␛b⟨U+200B⟩")] == ["a", "␛", "b", "⟨U+200B⟩"]


def test_what_cannot_be_shown_whole_gets_no_standing_grant() -> None:
    story = Story()
    tool = story.start("tool", "shell", story.begin())
    story.park(tool, DENIED, need="shell", action={"tool": "shell", "arguments": {"cmd": "x" * 30_000}})
    opened = opened_in(story)
    assert not is_whole(opened)
    standing = next(choice for choice in prompt_choices(opened, at(story)) if choice.standing)
    assert "too long" in standing.refused


def test_a_grant_says_who_what_and_for_how_long() -> None:
    story = digest()
    assert grant_words(opened_in(story), "swarm") == (
        "researcher may fs.write:/data/out/digest.md, in every run of this swarm"
    )
    assert plain_text(title_line(opened_in(story), at(story))).endswith("waits 3m")
    assert json.loads(action_text(opened_in(story)))["tool"] == "write_file"


def choice_for(option: str) -> Any:
    story = Story()
    tool = story.start("tool", "query", story.begin())
    story.park(tool, BROKEN_TOOL if option != "grant" else DENIED, need="shell" if option in ("grant", "deny") else "")
    return next(choice for choice in prompt_choices(opened_in(story), at(story)) if choice.option == option)


@pytest.mark.parametrize(
    ("option", "value", "params"),
    [
        ("retry", None, {}),
        ("grant", None, {"for": "once"}),
        ("deny", "not there", {"message": "not there"}),
        ("deny", "", {}),
        ("edit", '{"a": 1}', {"arguments": {"a": 1}}),
        ("result", " kept as typed ", {"value": " kept as typed "}),
    ],
)
def test_what_was_typed_becomes_parameters(option: str, value: Any, params: dict[str, Any]) -> None:
    assert answer_params(choice_for(option), value) == params


@pytest.mark.parametrize(("value", "says"), [("{", "line 1"), ("[1]", "object"), ("", "needed")])
def test_what_cannot_be_read_is_said(value: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        answer_params(choice_for("edit"), value)
