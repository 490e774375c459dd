"""Agents that stand in for one another, and what a swarm's author may say of failures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orbiter import Agent, Swarm, run
from orbiter._internal.declarations.serialization import SerialisationError
from orbiter.errors import ConfigurationError, OrbiterError
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Fault, Reply
from orbiter.policy import FailurePolicy, JoinPolicy


def agent(name: str, *steps: Any, **more: Any) -> Agent:
    script(f"rescue/{name}", list(steps) or [f"{name} did ${{input}}"])
    return Agent(name=name, model=f"scripted:rescue/{name}", **more)


REFUSED = Fault(status=401, code="invalid_api_key", message="bad key")


async def test_the_next_agent_stands_in_for_one_that_failed() -> None:
    writer = agent("writer", [REFUSED] * 5)
    swarm = Swarm(
        agents=[writer, agent("reader")], fallbacks={"writer": [agent("second", [REFUSED] * 5), agent("third")]}
    )
    result = await run(swarm, "it")
    assert result.output == "reader did third did it"


async def test_where_all_fail_the_last_failure_stands() -> None:
    swarm = Swarm(agents=[agent("one", [REFUSED] * 5)], fallbacks={"one": [agent("two", [REFUSED] * 5)]})
    with pytest.raises(OrbiterError, match="two"):
        await run(swarm, "it")


async def test_a_worker_and_a_lead_can_be_stood_in_for() -> None:
    lead = agent("lead", Reply(calls=[Call("delegate_to_worker", {"task": "dig"})]), "heard: ${result}")
    swarm = Swarm(
        mode="team",
        agents=[lead, agent("worker", [REFUSED] * 5)],
        fallbacks={"worker": agent("digger"), "lead": agent("other")},
    )
    assert (await run(swarm, "it")).output == "heard: digger did dig"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"planner": "writr"}, "Did you mean 'writer'"),
        ({"router": "nobody"}, "not one of its agents"),
        ({"fallbacks": {"nobody": []}}, "not one of its agents"),
        ({"fallbacks": {"writer": "reader"}}, "must be an agent"),
        ({"budget": {"max_step": 3}}, "Did you mean 'max_steps'"),
        ({"budget": {"max_steps": -1}}, "max_steps must be a whole number of 1 or more, got -1"),
        ({"budget": {"max_steps": "3"}}, "1 or more"),
        ({"budget": {"max_steps": 0}}, "1 or more"),
        ({"budget": {"max_tool_calls": 1.5}}, "max_tool_calls must be a whole number of 0 or more, got 1.5"),
        ({"budget": {"max_wall_time_s": 0}}, "max_wall_time_s must be a number above 0, got 0"),
        ({"budget": {"max_total_cost_usd": float("inf")}}, "must be a number of 0 or more"),
        ({"join": {"kinds": "quorum"}}, "Did you mean 'kind'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_would(more: dict[str, Any], said: str) -> None:
    with pytest.raises((OrbiterError, ConfigurationError)) as caught:
        Swarm(agents=[agent("writer"), agent("reader")], **more)
    assert said in f"{caught.value} {caught.value.suggestion}"


def test_an_agent_cannot_stand_in_for_itself() -> None:
    writer = agent("writer")
    with pytest.raises(ConfigurationError, match="name of its own"):
        Swarm(agents=[writer], fallbacks={"writer": [writer]})


def test_what_is_said_of_failures_is_written_down_with_the_swarm() -> None:
    swarm = Swarm(
        agents=[agent("writer"), agent("reader")],
        planner="writer",
        router="reader",
        fallbacks={"writer": [agent("second")], "openai:gpt-5": ["anthropic:claude-sonnet-4-5"]},
        budget={"max_steps": 3},
    )
    again = Swarm.from_dict(swarm.to_dict())
    assert again.to_dict() == swarm.to_dict()
    assert [each.name for each in again.recovery.agents["writer"]] == ["second"]
    assert "planner" not in Swarm(agents=[agent("writer")]).to_dict()


@pytest.mark.parametrize(
    "said",
    [
        {"join": "quorum:2"},
        {"join": JoinPolicy("allow_optional_failures", optional=("reader",))},
        {"join": {"kind": "first_success"}},
        {"failure": "degrade"},
        {"failure": {"tool": "fail"}},
        {"failure": {"agent": "continue"}},
        {"failure": FailurePolicy(model="degrade")},
    ],
    ids=str,
)
def test_policies_are_written_down_with_the_swarm(said: dict[str, Any]) -> None:
    swarm = Swarm(agents=[agent("writer"), agent("reader")], flow="(writer | reader)", **said)
    written = json.loads(json.dumps(swarm.to_dict()))
    assert set(said) <= set(written)
    again = Swarm.from_dict(written)
    assert again.to_dict() == written
    assert (again.join, again.failure, again.agent_policy) == (swarm.join, swarm.failure, swarm.agent_policy)
    assert again._info() == swarm._info()


def test_a_swarm_with_a_function_of_its_author_cannot_be_written_down() -> None:
    swarm = Swarm(agents=[agent("writer")], classify_error=lambda exc, context: None)
    with pytest.raises(SerialisationError, match="classify_error cannot be serialised"):
        swarm.to_dict()


async def test_plain_run_says_once_that_it_keeps_no_budget(caplog: pytest.LogCaptureFixture) -> None:
    swarm = Swarm(agents=[agent("frugal")], budget={"max_steps": 3})
    for _ in range(2):
        await run(swarm, "it")
    said = [record.getMessage() for record in caplog.records if "only a runtime honours" in record.getMessage()]
    assert len(said) == 1
    assert "swarm(frugal...)" in said[0]
