"""Seed 001: what the record of a run counts (ids: findings, section 4.2)."""

from __future__ import annotations

from orbiter import Agent, tool
from orbiter._internal.call_runner import call_runner
from orbiter._internal.message_builder import build_messages
from orbiter._internal.state import RunState
from orbiter.models import Call, Reply, get_provider, script
from orbiter.types import UserMessage


@tool
def look(place: str) -> str:
    """Look."""
    return f"{place}: bees"


async def test_4_2_nodes_iterations_and_steps_count_agent_runs() -> None:
    script("record-looker", [Reply(calls=[Call("look", {"place": "garden"})]), Reply("There are bees.")])
    agent = Agent(name="looker", model="scripted:record-looker", tools=[look])
    state = RunState("looker")
    result = await call_runner(agent, "go", state=state, provider=get_provider("scripted:record-looker"))
    assert (len(state.nodes), state.iterations, result.steps) == (1, 1, 1)
    assert [call.name for call in state.nodes[0].tool_calls] == ["look"]
    assert sum(message.role == "assistant" for message in state.messages) == 2  # its model calls


def test_4_2_the_users_input_is_added_by_the_caller_of_build_messages() -> None:
    history = [UserMessage(content="go")]
    assert [message.role for message in build_messages("Be kind.", history)] == ["system", "user"]
