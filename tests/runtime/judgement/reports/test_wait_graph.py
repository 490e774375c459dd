"""What a node waits for, and what a model was sent: read off states that real events made."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from orbiter.steps import Place, segment
from runtime.judgement.reports.transcript import build_transcript
from runtime.judgement.reports.wait_graph import wait_chain
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Cause
from tests.screens.stories import BROKEN_TOOL, DENIED, MISSING, RATE_LIMITED, Story


def member(story: Story, group: str, name: str, at: int) -> str:
    """An agent of a parallel group."""
    node_id = f"{group}/{segment(name, Place(0, at))}"
    story.tell(ev.NodeOpened(kind="agent", name=name), node_id, group)
    return node_id


def joined() -> tuple[Story, str, list[str]]:
    """A group of three side by side: one is done, one pauses, one waits for a permission."""
    story = Story()
    root = story.begin()
    group = story.open("group", "team", root, members=["a", "b", "c"])
    agents = [member(story, group, name, at) for at, name in enumerate("abc")]
    story.close(agents[0], output="ok")
    call = story.start("llm", "m", agents[1], agent="b")
    story.fail(call, RATE_LIMITED)
    story.retry(call, 30)
    tool = story.start("tool", "write", agents[2], agent="c")
    story.park(tool, DENIED, need="fs.write:/x", action={"tool": "write"})
    return story, group, [*agents, tool, call]


def test_from_the_run_down_to_the_decision_that_holds_it_up() -> None:
    story, group, (_, b, c, tool, _) = joined()
    found = wait_chain(story.state)
    assert [link.node_id for link in found.chain] == [story.state.roots[0], group, c, tool]
    assert found.chain[1].why == "waits for all of its 3 members side by side; 2 are not done"
    assert (found.kind, found.node_id, found.incident_id) == ("permission", tool, "run-1-inc-1")
    assert found.also == (b,)


def test_what_is_done_waits_for_nothing_but_what_comes_after_it_does() -> None:
    story, _, (a, _, _, tool, _) = joined()
    found = wait_chain(story.state, a)
    assert found.chain[0].why == "succeeded: it waits for nothing itself"
    assert found.node_id == tool


def test_a_pause_ends_by_itself_and_is_named_with_its_end() -> None:
    story, _, (_, b, _, _, call) = joined()
    found = wait_chain(story.state, b)
    assert (found.kind, found.node_id) == ("time", call)
    assert found.until == story.at + timedelta(seconds=30)
    assert found.why == "a pause before attempt 2 of 4 (backoff)"


def test_only_what_nothing_else_holds_up_is_counted_as_freed() -> None:
    story, _, (_, _, _, tool, call) = joined()
    assert wait_chain(story.state, tool).frees == 2  # the call and its agent: the group waits for another member, too
    story.start("llm", "m", call.rpartition("/")[0], attempt=2, agent="b")
    story.end(call, {"text": "ok"})
    story.close(call.rpartition("/")[0])
    assert wait_chain(story.state, tool).frees == 4


def test_members_that_are_still_to_come_are_freed_as_well() -> None:
    story = Story()
    root = story.open("swarm", "line", members=["first", "second", "third"], mode="workflow")
    agent = story.open("agent", "first", root)
    asked = story.start("value", "ask", agent)
    story.park(asked, MISSING, question="Which?")
    found = wait_chain(story.state, agent)
    assert found.kind == "person"
    assert found.frees == 5


def test_a_call_a_freeze_an_ending_and_a_missing_runtime_are_told_apart() -> None:
    story = Story()
    root = story.begin()
    agent = story.open("agent", "a", root)
    call = story.start("tool", "fetch", agent)
    assert wait_chain(story.state, root).kind == "work"
    story.tell(ev.RunFrozen())
    assert wait_chain(story.state, root).kind == "work"  # what is in flight comes to its end
    story.end(call, "x")
    assert (wait_chain(story.state, root).kind, wait_chain(story.state, root).node_id) == ("frozen", agent)
    story.tell(ev.RunThawed())
    story.tell(ev.RunFrozen(reason="look first"))
    assert "frozen (look first): no new step begins" in wait_chain(story.state, root).why
    story.tell(ev.RunThawed())
    story.tell(ev.AbortRequested())
    assert wait_chain(story.state, root).kind == "ending"
    story.finish("aborted")
    assert wait_chain(story.state, root).kind == "nothing"


def test_a_run_without_nodes_waits_for_whoever_drives_it() -> None:
    story = Story()
    story.tell(ev.RunCreated(ref="x:y"))
    assert (wait_chain(story.state).kind, wait_chain(story.state).chain) == ("runtime", ())
    story.tell(ev.RunStarted(epoch=1))
    story.tell(ev.RunParked(reason="waiting", wake_at=story.at + timedelta(seconds=5)))
    assert (wait_chain(story.state).kind, wait_chain(story.state).until) == ("time", story.at + timedelta(seconds=5))


def test_breakers_and_budgets_are_named() -> None:
    kinds = {}
    for cause in (Cause.CIRCUIT_OPEN, Cause.LIMIT_REACHED, Cause.TOOL_FAILED):
        story = Story()
        tool = story.start("tool", "t", story.open("agent", "a", story.begin()))
        story.park(tool, replace(BROKEN_TOOL, cause=cause))
        kinds[cause] = wait_chain(story.state).kind
    assert list(kinds.values()) == ["breaker", "budget", "person"]


# -- what a model was sent -------------------------------------------------------------------------------------


def conversation() -> tuple[Story, str]:
    """Two turns: a question, two calls side by side, a word from outside, and another question."""
    story = Story()
    agent = story.open("agent", "a", story.begin())
    first: list[dict[str, Any]] = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Look."}]
    call = f"{agent}/llm~0"
    story.tell(
        ev.StepStarted(kind="llm", name="m", agent="a", requested={"count": 2, "messages": first}, attempt=1, epoch=1),
        call,
        agent,
    )
    story.end(call, {"text": "", "tool_calls": [{"id": "1", "name": "look", "arguments": '{"at": "x"}'}]})
    for at, said in ((1, "second"), (0, "first")):
        tool = f"{agent}/{segment('look', Place(0, at))}"
        story.tell(ev.StepStarted(kind="tool", name="look", agent="a", attempt=1, epoch=1), tool, agent)
        story.end(tool, {"role": "tool", "tool_name": "look", "content": said})
    story.tell(ev.MessageDelivered(turn=1, texts=("hurry",), injection_ids=()), agent)
    again = f"{agent}/llm~1"
    asked = ev.StepStarted(kind="llm", name="m", agent="a", requested={"count": 6, "digest": "d"}, attempt=1, epoch=1)
    story.tell(asked, again, agent)
    return story, again


def test_a_later_question_is_put_together_from_what_came_before_it() -> None:
    story, again = conversation()
    found = build_transcript(story.state, again)
    said = [(each.role, each.text) for each in found.messages]
    assert said == [
        ("system", "Be short."), ("user", "Look."), ("assistant", ""), ("tool", "first"), ("tool", "second"),
        ("user", "hurry"),
    ]  # fmt: skip
    assert found.messages[2].calls == (("look", '{"at": "x"}'),)
    assert found.number == 6


def test_replaced_messages_are_what_was_sent() -> None:
    story, again = conversation()
    agent = again.rpartition("/")[0]
    other = ev.StepStarted(kind="llm", name="m", agent="a", attempt=2, epoch=1,
                           effective={"messages": [{"role": "user", "content": "Something else."}]})  # fmt: skip
    story.tell(other, again, agent)
    assert [each.text for each in build_transcript(story.state, again).messages] == ["Something else."]


def test_only_a_models_call_has_messages_and_odd_records_do_no_harm() -> None:
    story, again = conversation()
    assert build_transcript(story.state, again.rpartition("/")[0]).messages == ()
    assert build_transcript(story.state, "nobody").messages == ()
    story.state.nodes[again].requested = {"messages": ["plain", {"role": "user", "content": [{"type": "text"}]}, None]}
    assert [each.text for each in build_transcript(story.state, again).messages] == ["plain", '[{"type": "text"}]', ""]
