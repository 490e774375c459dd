"""Swarms whose sub-agents fail under each policy of seed 004."""

from __future__ import annotations

from typing import Any

from orbiter import Agent, ParallelGroup, Swarm, SwarmNode
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Fault, Reply, Script, Turn
from orbiter.policy import JoinPolicy
from orbiter.types import Message, ToolResult, content_text


def _agent(name: str, model: str = "", **more: Any) -> Agent:
    return Agent(name=name, model=f"scripted:subagents/{model or name}", **more)


def _lead(messages: list[Message]) -> Turn:
    last = messages[-1]
    if isinstance(last, ToolResult):
        return f"lead heard: {last.error or content_text(last.content)}"
    return Reply(calls=[Call("delegate_to_bad", {"task": "go"})])


def _both(messages: list[Message]) -> Turn:
    if isinstance(messages[-1], ToolResult):
        return "lead is done"
    return Reply(calls=[Call("delegate_to_bad", {"task": "go"}), Call("delegate_to_good", {"task": "go"})])


script("subagents/bad", Script([Fault(status=401, code="invalid_api_key", message="bad key")]))
script("subagents/good", lambda messages, tools: "good")
script("subagents/slow", Script([Reply("at last", delay=0.1)]))
script("subagents/lead", lambda messages, tools: _lead(messages))
script("subagents/both", lambda messages, tools: _both(messages))


def _team(**more: Any) -> Swarm:
    return Swarm(mode="team", agents=[_agent("lead"), _agent("bad")], **more)


def _workflow(**more: Any) -> Swarm:
    return Swarm(agents=[_agent("bad"), _agent("good")], **more)


team_undeclared = _team()
team_fail = _team(failure={"agent": "fail"})
team_degrade = _team(failure={"agent": "degrade"})
team_continue = _team(failure={"agent": "continue"})
team_lead = Swarm(mode="team", agents=[_agent("lead", "bad"), _agent("good")], failure={"agent": "continue"})
workflow_undeclared = _workflow()
workflow_fail = _workflow(failure={"agent": "fail"})
workflow_degrade = _workflow(failure={"agent": "degrade"})
workflow_continue = _workflow(failure={"agent": "continue"})
nested_fail = Swarm(
    agents=[SwarmNode(swarm=_workflow(failure="fail"), name="inner"), _agent("good")], failure={"agent": "continue"}
)

OPTIONAL = JoinPolicy("allow_optional_failures", optional=("bad",))


def _group(join: JoinPolicy | str, *more: Agent) -> Swarm:
    return Swarm(agents=[ParallelGroup(name="group", agents=[_agent("bad"), _agent("good"), *more], join=join)])


group_optional = _group(OPTIONAL)
group_any = _group("allow_optional_failures")
group_first = _group("first_success")
group_quorum = _group("quorum:2", _agent("third", "good"))
group_required = _group(JoinPolicy("allow_optional_failures", optional=("good",)))
group_violated = Swarm(
    agents=[ParallelGroup(name="group", agents=[_agent("bad"), _agent("worse", "bad")], join="allow_optional_failures")]
)
flow_optional = Swarm(agents=[_agent("bad"), _agent("good")], flow="(bad | good)", join=OPTIONAL)
team_optional = Swarm(mode="team", agents=[_agent("lead", "both"), _agent("bad"), _agent("good")], join=OPTIONAL)
team_first = Swarm(mode="team", agents=[_agent("lead", "both"), _agent("bad"), _agent("good")], join="first_success")
team_quorum = Swarm(mode="team", agents=[_agent("lead", "both"), _agent("bad"), _agent("good")], join="quorum:2")


def _timed() -> SwarmNode:
    # Its first answer alone takes longer than it may take.
    inner = Swarm(agents=[_agent("slow"), _agent("good")], budget={"max_wall_time_s": 0.01})
    return SwarmNode(swarm=inner, name="bad")


def _limited(limit: float = 0.05) -> Agent:
    # Its call would take an hour: the limit cuts it.
    return _agent("bad", "stuck", max_wall_time_s=limit)


script("subagents/stuck", Script([Reply("at last", delay=3600)]))
limited_team = Swarm(mode="team", agents=[_agent("lead"), _limited()], failure={"agent": "continue"})
limited_workflow = Swarm(agents=[_limited(), _agent("good")], failure={"agent": "degrade"})
limited_group = Swarm(agents=[ParallelGroup(name="group", agents=[_limited(), _agent("good")], join=OPTIONAL)])
limited_nested = Swarm(
    agents=[SwarmNode(swarm=Swarm(agents=[_limited()]), name="inner"), _agent("good")], failure={"agent": "degrade"}
)
limited_fallback = Swarm(agents=[_limited()], fallbacks={"bad": [_agent("good")]})
limited_alone = _limited()
limited_call = Swarm(agents=[_limited(1.0), _agent("good")], failure={"agent": "degrade"})
limited_budget = Swarm(agents=[_agent("bad", "stuck")], budget={"max_wall_time_s": 0.05})


timed_team = Swarm(mode="team", agents=[_agent("lead"), _timed()], failure={"agent": "continue"})
timed_workflow = Swarm(agents=[_timed(), _agent("good")], failure={"agent": "degrade"})
timed_group = Swarm(agents=[ParallelGroup(name="group", agents=[_timed(), _agent("good")], join=OPTIONAL)])
