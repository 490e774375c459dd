"""Seed 000: what users of the original rely on without a seed that says so (ids: findings, section 3)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from orbiter import Agent, OrbiterError, ParallelGroup, StreamEvent, run, tool
from orbiter.errors import OutputParseError, causes
from orbiter.hooks import HookManager, HookPoint
from orbiter.models import get_provider
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.types import ModelError


@tool
def greet(name: str) -> str:
    """Say hello."""
    return f"Hello {name}"


def test_3_repr_of_an_agent_lists_its_tools() -> None:
    agent = Agent(name="bot", model="openai:gpt-4o", tools=[greet])
    assert repr(agent) == "Agent(name='bot', model='openai:gpt-4o', tools=['greet'])"


def test_3_repr_of_an_agent_lists_its_handoffs_where_there_are_some() -> None:
    agent = Agent(name="bot", model="openai:gpt-4o", handoffs=[Agent(name="other")])
    assert repr(agent) == "Agent(name='bot', model='openai:gpt-4o', handoffs=['other'])"


async def test_3_removing_a_hook_that_is_not_there_does_nothing() -> None:
    seen: list[str] = []

    async def kept(**_: object) -> None:
        seen.append("kept")

    async def never_added(**_: object) -> None:
        seen.append("never added")

    manager = HookManager()
    manager.add(HookPoint.START, kept)
    manager.remove(HookPoint.START, never_added)
    manager.remove(HookPoint.FINISHED, kept)
    await manager.run(HookPoint.START)
    assert seen == ["kept"]


def test_3_the_error_of_an_unknown_provider_carries_the_whole_model_string() -> None:
    with pytest.raises(ModelError) as caught:
        get_provider("nonexistent:m")
    assert caught.value.model == "nonexistent:m"
    assert str(caught.value).startswith("[nonexistent:m] ")


@pytest.mark.parametrize("streamed", [False, True], ids=["run", "stream"])
async def test_arguments_that_are_never_json_end_as_what_they_are_though_they_repeat(streamed: bool) -> None:
    script("stubborn", lambda messages, tools: Reply(calls=[Call("greet", "{nope")]))
    agent = Agent(name="bot", model="scripted:stubborn", tools=[greet])
    going = _drained(run.stream(agent, "hello")) if streamed else run(agent, "hello")
    with pytest.raises(OutputParseError, match="Invalid JSON in arguments for tool 'greet'"):
        await going


class Unspeakable(Exception):
    """Has no text that can be read."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize("shape", ["run", "stream", "parallel"])
async def test_an_error_without_a_text_is_the_cause_of_what_run_raises(shape: str) -> None:
    async def refuse(**_: object) -> None:
        raise Unspeakable("x")

    script("willing", [Reply("yes")])
    agent = Agent(name="bot", model="scripted:willing", hooks=[(HookPoint.PRE_LLM_CALL, refuse)])
    group = ParallelGroup(name="both", agents=[agent])
    going = _drained(run.stream(agent, "hello")) if shape == "stream" else run(agent if shape == "run" else group, "go")
    with pytest.raises(OrbiterError) as caught:
        await going
    assert any(isinstance(each, Unspeakable) for each in causes(caught.value))


async def _drained(events: AsyncIterator[StreamEvent]) -> None:
    async for _ in events:
        pass
