"""A swarm for each setting that a swarm can declare, at every place where a swarm can stand: ``<setting>_<place>``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from orbiter import Agent, ParallelGroup, SerialGroup, Swarm, SwarmNode, tool
from orbiter.hooks import HookPoint
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Fault, Reply, Script, Turn
from orbiter.policy import JoinPolicy
from orbiter.severity import ErrorClassification, ErrorSeverity
from orbiter.types import Message, ToolResult, content_text

_BAD_KEY = Fault(status=401, code="invalid_api_key", message="bad key")


def _effect(text: str) -> None:
    with Path(os.environ["ORBITER_TEST_EFFECTS"]).open("a", encoding="utf-8") as world:
        world.write(f"{text}\n")


def _heard(messages: list[Message]) -> str:
    last = messages[-1]
    return (last.error or content_text(last.content)) if isinstance(last, ToolResult) else content_text(last.content)


def _said(messages: list[Message]) -> int:
    return sum(message.role == "assistant" for message in messages)


def _agent(name: str, model: str = "", **more: Any) -> Agent:
    return Agent(name=name, model=f"scripted:nested/{model or name}", **more)


def _replan(exc: Exception, context: dict[str, Any]) -> ErrorClassification:
    return ErrorClassification(ErrorSeverity.REPLANNING, "The sensor has no data")


def _reroute(exc: Exception, context: dict[str, Any]) -> ErrorClassification:
    return ErrorClassification(ErrorSeverity.RECLASSIFICATION, "This is not for me")


@tool(idempotent=True)
def look(number: int) -> str:
    """Look."""
    _effect(f"look {number}")
    return f"saw {number}"


@tool(classify_error=_replan)
def measure(where: str) -> str:
    """Measure. Fails everywhere but at home."""
    if where != "home":
        raise ValueError(f"no sensor at {where}")
    return "21 degrees"


async def _hook(**_: object) -> None:
    _effect("hook")


def _busy(messages: list[Message]) -> Turn:
    number = _said(messages)
    return Reply(calls=[Call("look", {"number": number})]) if number < 3 else "looked at all"


def _measurer(messages: list[Message]) -> Turn:
    where = "home" if "home" in _heard(messages) else "mars"
    return Reply(calls=[Call("measure", {"where": where})]) if not _said(messages) else _heard(messages)


script("nested/bad", Script([_BAD_KEY]))
script("nested/good", lambda messages, tools: "good")
script("nested/echo", lambda messages, tools: f"echo: {_heard(messages)}")
script("nested/busy", lambda messages, tools: _busy(messages))
script("nested/measurer", lambda messages, tools: _measurer(messages))
script("nested/planner", lambda m, tools: "home" if "Make another plan" in _heard(m) else "mars")
script("nested/router", lambda m, tools: "good" if "Choose another agent" in _heard(m) else "wrong")
script("nested/goer", lambda messages, tools: "inner")
script(
    "nested/lead",
    lambda m, tools: _heard(m) if _said(m) else Reply(calls=[Call("delegate_to_inner", {"task": "go"})]),
)

_wrong, _good = _agent("wrong", "bad", classify_error=_reroute), _agent("good")
SETTINGS: dict[str, Swarm] = {
    "budget": Swarm(agents=[_agent("busy", tools=[look])], budget={"max_tool_calls": 1}),
    "continue": Swarm(agents=[_agent("bad"), _agent("echo")], failure={"agent": "continue"}),
    "degrade": Swarm(agents=[_agent("bad"), _agent("echo")], failure={"agent": "degrade"}),
    "join": Swarm(
        agents=[_agent("first", "good"), _agent("second", "good"), _agent("third", "good")],
        flow="(first | second | third)",
        join=JoinPolicy("quorum", quorum=2),
    ),
    "model": Swarm(agents=[_agent("bad")], fallbacks={"scripted:nested/bad": ["scripted:nested/good"]}),
    "agent": Swarm(agents=[_agent("bad")], fallbacks={"bad": [_agent("second", "good")]}),
    "planner": Swarm(agents=[_agent("planner"), _agent("measurer", tools=[measure])], planner="planner"),
    "router": Swarm(mode="handoff", agents=[_agent("router", handoffs=[_wrong, _good]), _wrong, _good]),
    "hooks": Swarm(agents=[_agent("good", hooks=[(HookPoint.START, _hook)])]),
}


def _places(inner: Swarm) -> dict[str, Swarm]:
    node = SwarmNode(swarm=inner, name="inner")
    goer = _agent("goer")
    goer.handoffs["inner"] = node  # type: ignore[assignment]
    return {
        "top": inner,
        "workflow": Swarm(agents=[node]),
        "team": Swarm(mode="team", agents=[_agent("lead"), node]),
        "handoff": Swarm(mode="handoff", agents=[goer, node]),
        "parallel": Swarm(agents=[ParallelGroup(name="group", agents=[node])]),
        "serial": Swarm(agents=[SerialGroup(name="group", agents=[node])]),
        "twice": Swarm(agents=[SwarmNode(swarm=Swarm(agents=[node]), name="middle")]),
    }


PLACES = tuple(_places(SETTINGS["model"]))
globals().update(
    {f"{setting}_{place}": swarm for setting in SETTINGS for place, swarm in _places(SETTINGS[setting]).items()}
)

_spent = SwarmNode(swarm=Swarm(agents=[_agent("busy", tools=[look])], budget={"max_tool_calls": 1}), name="spent")
spent_and_passed = Swarm(agents=[_spent, _agent("echo")], failure={"agent": "degrade"})
spent_and_replaced = Swarm(agents=[_spent], fallbacks={"spent": [_agent("second", "good")]})
outer_budget = Swarm(
    agents=[SwarmNode(swarm=Swarm(agents=[_agent("busy", tools=[look])], budget={"max_tool_calls": 3}), name="inner")],
    budget={"max_tool_calls": 1},
)
