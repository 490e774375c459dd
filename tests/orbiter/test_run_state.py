"""Run state: one node per agent run, children per step, terminal states after cancellation."""

from __future__ import annotations

from orbiter._internal.state import RunNode, RunNodeStatus, RunState
from orbiter.types import ToolCall, Usage, UserMessage

TEN = Usage(input_tokens=4, output_tokens=6, total_tokens=10)


def test_the_statuses() -> None:
    assert [status.value for status in RunNodeStatus] == ["init", "running", "success", "failed", "timeout"]
    assert str(RunNodeStatus.SUCCESS) == "success"


def test_a_node_of_its_own() -> None:
    node = RunNode(agent_name="a")
    assert (node.status, node.step_index, node.group_id, node.error) == (RunNodeStatus.INIT, 0, None, None)
    assert (node.tool_calls, node.usage, node.metadata, node.started_at) == ([], Usage(), {}, None)
    node.start()
    assert (node.status, node.duration) == (RunNodeStatus.RUNNING, None)
    node.succeed(TEN)
    assert (node.status, node.usage) == (RunNodeStatus.SUCCESS, TEN)
    assert node.created_at <= (node.started_at or 0) <= (node.ended_at or 0)
    assert (node.duration or 0) >= 0
    assert isinstance(node.duration, float)


def test_a_node_that_fails_or_runs_out_of_time() -> None:
    failed, late = RunNode(agent_name="a"), RunNode(agent_name="a")
    failed.start()
    failed.fail("boom")
    assert (failed.status, failed.error) == (RunNodeStatus.FAILED, "boom")
    late.start()
    late.timeout()
    assert late.status is RunNodeStatus.TIMEOUT
    assert late.ended_at is not None


def test_state_counts_agent_runs_and_adds_usage_up() -> None:
    state = RunState("a")
    assert (state.agent_name, state.status, state.current_node) == ("a", RunNodeStatus.INIT, None)
    state.start()
    assert state.is_running
    first = state.new_node()
    second = state.new_node("b", group_id="g")
    assert (first.agent_name, first.step_index, second.agent_name, second.step_index) == ("a", 0, "b", 1)
    assert second.group_id == "g"
    assert state.current_node is second
    assert state.nodes == [first, second]
    assert state.iterations == 2
    state.record_usage(TEN)
    state.record_usage(TEN)
    assert state.total_usage == TEN + TEN
    state.add_message(UserMessage(content="1"))
    state.add_messages([UserMessage(content="2"), UserMessage(content="3")])
    assert [message.content for message in state.messages] == ["1", "2", "3"]
    state.succeed()
    assert state.is_terminal
    assert not state.is_running


def test_children_are_steps_and_do_not_count_as_agent_runs() -> None:
    state = RunState("a")
    node = state.new_node()
    one, two = node.new_child(), node.new_child()
    two.tool_calls.append(ToolCall(id="c", name="t"))
    assert [child.step_index for child in node.children] == [0, 1]
    assert (one.agent_name, one.tool_calls) == ("a", [])
    assert len(state.nodes) == 1


def test_after_a_cancel_nothing_is_left_running() -> None:
    # The original left state and node "running" for ever.
    state = RunState("a")
    state.start()
    done, open_ = state.new_node(), state.new_node()
    done.start()
    done.succeed()
    open_.start()
    child = open_.new_child()
    child.start()
    state.cancel()
    assert (state.status, state.cancelled, state.is_terminal) == (RunNodeStatus.FAILED, True, True)
    assert (done.status, done.cancelled) == (RunNodeStatus.SUCCESS, False)
    for node in (open_, child):
        assert (node.status, node.cancelled, node.error) == (RunNodeStatus.FAILED, True, "Cancelled")
        assert node.ended_at is not None


def test_failure_and_timeout_of_a_run_keep_the_reason() -> None:
    failed, late = RunState("a"), RunState("a")
    failed.fail("boom")
    late.timeout("60 s are over")
    assert (failed.status, failed.error) == (RunNodeStatus.FAILED, "boom")
    assert (late.status, late.error) == (RunNodeStatus.TIMEOUT, "60 s are over")


def test_a_shared_state_goes_on_with_another_call() -> None:
    state = RunState("a")
    state.start()
    state.succeed()
    state.start()
    assert state.is_running
