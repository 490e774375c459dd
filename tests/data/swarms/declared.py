"""Failures that a tool, an agent or a swarm judges, in the manner of seed 002's capabilities."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from orbiter import Agent, Swarm, SwarmNode, Tool, tool
from orbiter.hooks import HookPoint
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply, Turn
from orbiter.severity import ErrorClassification, ErrorSeverity
from orbiter.types import Message, ToolResult, content_text


def _effect(text: str) -> None:
    with Path(os.environ["ORBITER_TEST_EFFECTS"]).open("a", encoding="utf-8") as world:
        world.write(f"{text}\n")


def _caller(messages: list[Message]) -> Turn:
    last = messages[-1]
    if isinstance(last, ToolResult):
        return f"told: {last.error or content_text(last.content)}"
    return Reply(calls=[Call("capability", {})])


script("declared/caller", lambda messages, tools: _caller(messages))
script("declared/good", lambda messages, tools: "good")
script("declared/planner", lambda m, tools: "better" if "Make another plan" in content_text(m[-1].content) else "plan")


class MyCapability(Tool):
    """As the seed has it: static methods of a subclass."""

    name = "capability"
    description = "Fails once with a network error."

    def __init__(self, problem: type[Exception] = ConnectionError, times: int = 2) -> None:
        self.problem = problem
        self.times = times

    async def execute(self, /, **kwargs: Any) -> str:
        _effect("called")
        if Path(os.environ["ORBITER_TEST_EFFECTS"]).read_text().count("called") <= self.times:
            raise self.problem("it did not work")
        return "done"

    @staticmethod
    def classify_error(exc: Exception, context: dict[str, Any]) -> ErrorClassification:
        if isinstance(exc, (ConnectionError, TimeoutError)):
            return ErrorClassification(
                severity=ErrorSeverity.RETRIABLE,
                user_message="Network issue detected, retrying...",
                metadata={"technical_details": str(exc)},
            )
        return ErrorClassification(severity=ErrorSeverity.CRITICAL, user_message=f"Unexpected error: {exc}")

    @staticmethod
    def get_retry_policy() -> dict[str, Any]:
        return {"max_attempts": 5, "delay_seconds": 0.01, "backoff_factor": 1.0}


class Idempotent(MyCapability):
    """It may be called again: it has no effect."""

    from orbiter.steps import Traits

    traits = Traits(idempotent=True)


class Silent(Tool):
    """Says nothing of its failures."""

    name = "capability"
    description = "Always fails."

    async def execute(self, /, **kwargs: Any) -> str:
        raise ValueError("it did not work")


def says(who: str, severity: ErrorSeverity = ErrorSeverity.CRITICAL) -> Any:
    return lambda exc, context: ErrorClassification(severity, f"{who} says: {exc}")


def nothing(exc: Exception, context: dict[str, Any]) -> None:
    return None


def _agent(*tools: Any, name: str = "caller", model: str = "caller", **more: Any) -> Agent:
    return Agent(name=name, model=f"scripted:declared/{model}", tools=list(tools), **more)


class SilentWithTool(Silent):
    classify_error = staticmethod(says("tool"))


class Undecided(Silent):
    classify_error = staticmethod(nothing)


def broken(exc: Exception, context: dict[str, Any]) -> ErrorClassification:
    raise LookupError("no such judge")


class BrokenJudge(Silent):
    classify_error = staticmethod(broken)


retried = _agent(Idempotent())
by_agent_after_broken_tool = _agent(BrokenJudge(), classify_error=says("agent"))
critical = _agent(MyCapability(ValueError, times=9))
by_tool = Swarm(agents=[_agent(SilentWithTool(), classify_error=says("agent"))], classify_error=says("swarm"))
by_agent = Swarm(agents=[_agent(Silent(), classify_error=says("agent"))], classify_error=says("swarm"))
by_agent_after_tool = Swarm(agents=[_agent(Undecided(), classify_error=says("agent"))], classify_error=says("swarm"))
by_swarm = Swarm(agents=[_agent(Silent())], classify_error=says("swarm"))
by_swarm_after_agent = Swarm(agents=[_agent(Silent(), classify_error=nothing)], classify_error=says("swarm"))
_inner = Swarm(agents=[_agent(Silent())], classify_error=says("inner"))
by_inner = Swarm(agents=[SwarmNode(swarm=_inner, name="inner")], classify_error=says("outer"))
by_outer = Swarm(agents=[SwarmNode(swarm=Swarm(agents=[_agent(Silent())]), name="inner")], classify_error=says("outer"))
by_team = Swarm(
    mode="team", agents=[_agent(Silent()), _agent(name="worker", model="good")], classify_error=says("swarm")
)


async def _breaks(**_: object) -> None:
    raise ValueError("it did not work")


def _broken_instructions(name: str) -> str:
    raise ValueError("it did not work")


by_hook = _agent(model="good", hooks=[(HookPoint.START, _breaks)], classify_error=says("agent"))
by_instructions = _agent(model="good", instructions=_broken_instructions, classify_error=says("agent"))


def _only_first(name: str) -> str:
    _effect("instructions")
    if Path(os.environ["ORBITER_TEST_EFFECTS"]).read_text().count("instructions") < 2:
        raise ValueError("it did not work")
    return "Help."


replanned = Swarm(
    agents=[
        _agent(name="planner", model="planner"),
        _agent(
            name="doer", model="good", instructions=_only_first, classify_error=says("doer", ErrorSeverity.REPLANNING)
        ),
    ],
    planner="planner",
)


@tool(idempotent=True)
def capability() -> str:
    """Fails twice."""
    _effect("called")
    if Path(os.environ["ORBITER_TEST_EFFECTS"]).read_text().count("called") <= 2:
        raise ConnectionError("down")
    return "done"


def _three() -> dict[str, Any]:
    return {"max_attempts": 3, "delay_seconds": 0.01, "backoff_factor": 1.0}


policy_of_agent = _agent(capability, get_retry_policy=_three)
policy_of_swarm = Swarm(agents=[_agent(capability)], get_retry_policy=_three)
policy_of_neither = _agent(capability)
