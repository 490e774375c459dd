"""What is said before an operator acts on a run, and what each act takes."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from runtime.operations.requests.runs import (
    AbortRun,
    CancelCall,
    ForkRun,
    FreezeRuns,
    InjectMessage,
    RewindRun,
    SetBreakpoint,
    ThawRuns,
)
from runtime.record.state import events as ev
from screens.views.decisions.run_actions import RUN_ACTIONS, RunAction
from tests.screens.stories import Story, digest, finished
from tests.screens.views.story_views import at, node, words


def act(story: Story, name: str, node_id: str = "") -> RunAction:
    found = RUN_ACTIONS[name](story.state, node_id, at(story))
    assert isinstance(found, RunAction), found
    return found


def test_a_freeze_tells_what_comes_to_its_end_and_becomes_a_thaw() -> None:
    story = digest()
    assert words(list(act(story, "freeze").lines)) == [
        "No new step begins until it is thawed. Nothing is lost.",
        "Calls that are out, each to its end as usual:",
        "  search_releases 3m",
    ]
    assert act(story, "freeze").request == FreezeRuns(run_id="run-1")
    story.tell(ev.RunFrozen())
    assert act(story, "freeze").request == ThawRuns(run_id="run-1")


def test_an_abort_tells_what_it_cancels_and_keeps_the_reason() -> None:
    story = digest()
    found = act(story, "abort")
    said = "\n".join(words(list(found.lines)))
    assert "search_releases" in said
    assert "4 open nodes and 1 open decision" in said
    assert found.filled("wrong input") == AbortRun(run_id="run-1", reason="wrong input")
    assert found.filled("  ") == AbortRun(run_id="run-1")


def test_a_cancel_names_the_one_call_that_it_is_for() -> None:
    story = digest()
    call = node(story, "search_releases~1")
    for under in (call, node(story, "researcher~1")):
        found = act(story, "cancel", under)
        assert words(list(found.lines))[0] == (
            "tool search_releases is cancelled; whether it took effect may stay unknown."
        )
        assert found.filled("too slow") == CancelCall(run_id="run-1", node_id=call, reason="too slow")
    story.end(call, "found")
    assert RUN_ACTIONS["cancel"](story.state, call, at(story)) == (
        "Put the cursor on one call of a tool that is under way; here there are none."
    )


def test_running_again_from_a_node_names_what_goes_and_what_would_happen_twice() -> None:
    story = Story()
    agent = story.open("agent", "mailer", story.begin())
    call = story.start("llm", "m", agent, 0)
    story.end(call, {"text": "x"}, usd=0.25)
    mail = story.start("tool", "send_mail", agent, 1, arguments={"to": "ada"})
    story.end(mail, "sent")
    found = act(story, "rewind", agent)
    said = words(list(found.lines))
    assert said[0] == "The run goes on from agent mailer; dropped: 3 nodes."
    assert "What they cost the first time: $0.25." in said
    assert said[-2:] == ["Took effect, or may have, and would do so AGAIN:", "  ✓ tool send_mail"]
    assert found.request == RewindRun(run_id="run-1", node_id=agent, confirm=True)
    assert found.filled("openai:o1") == replace(found.request, changes={"model": "openai:o1"})
    harmless = act(story, "rewind", call)
    assert harmless.request == RewindRun(run_id="run-1", node_id=call, confirm=True)  # what comes after it goes, too
    alone = act(story, "rewind", mail)
    assert alone.input_field is not None
    assert json.loads(alone.input_field.text) == {"to": "ada"}
    assert alone.filled(alone.input_field.text) == alone.request  # nothing was changed
    assert alone.filled('{"to": "bob"}') == replace(alone.request, changes={"arguments": {"to": "bob"}})
    with pytest.raises(ValueError, match="not JSON"):
        alone.filled("{")
    with pytest.raises(ValueError, match="object"):
        alone.filled("[]")


def test_a_fork_says_what_it_takes_over() -> None:
    story = digest()
    found = act(story, "fork", node(story, "researcher~1"))
    assert "It takes over 1 completed step, and asks models and tools again from there on." in words(list(found.lines))
    assert found.filled("") == ForkRun(run_id="run-1", node_id=node(story, "researcher~1"))


def test_a_message_goes_to_the_agent_that_the_cursor_is_in_and_must_say_something() -> None:
    story = digest()
    found = act(story, "inject", node(story, "search_releases~1"))
    assert not found.confirms
    agent = node(story, "researcher~1")
    assert found.filled("hurry up") == InjectMessage(run_id="run-1", agent=agent, text="hurry up")
    with pytest.raises(ValueError, match="something is needed"):
        found.filled(" ")
    assert RUN_ACTIONS["inject"](story.state, node(story, "planner~0"), at(story)) == (
        "planner has ended: a message is for an agent that still runs."
    )


def test_a_breakpoint_is_set_and_taken_away_by_the_same_key() -> None:
    story = digest()
    tool = node(story, "write_file~2")
    assert act(story, "break", tool).filled("") == SetBreakpoint(run_id="run-1", what="tool", pattern="write_file")
    story.tell(ev.BreakpointSet(what="tool", pattern="write_file"))
    assert act(story, "break", tool).filled("") == SetBreakpoint(
        run_id="run-1", what="tool", pattern="write_file", clear=True
    )


@pytest.mark.parametrize("name", ["freeze", "abort", "cancel", "inject", "break"])
def test_what_has_ended_takes_no_acts_and_says_so(name: str) -> None:
    story = finished()
    assert RUN_ACTIONS[name](story.state, story.state.roots[0], at(story)) == "The run has ended: it is completed."
