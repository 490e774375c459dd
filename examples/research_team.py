"""Two researchers side by side, one of whom may fail, and a writer; all within a budget.

    orbiter-console run examples/research_team.py:team "Bees"

It runs without a key, on the scripts below. The library's key is refused (401, terminal), but the library is optional:
nothing is asked, and the run will end `degraded`. The writer checks three facts where the budget allows two tool calls:
there the run waits. Give it more and it goes on:

    orbiter-console answer INCIDENT extend --amount 1
"""

from __future__ import annotations

from orbiter import Agent, JoinPolicy, Swarm, tool
from orbiter.models import Call, Fault, Reply, script


@tool(idempotent=True)
def check(fact: str) -> str:
    """Look a fact up."""
    return f"{fact}: true"


script("web", [Reply("Bees dance.")])
script("library", [Fault(401, code="invalid_api_key", message="Invalid API key")])
script(
    "writer",
    [
        Reply(calls=[Call("check", {"fact": "bees dance"})]),
        Reply(calls=[Call("check", {"fact": "bees fly"})]),
        Reply(calls=[Call("check", {"fact": "bees sting"})]),
        Reply("Bees dance, fly and sting."),
    ],
)
team = Swarm(
    agents=[
        Agent(name="web", model="scripted:web"),
        Agent(name="library", model="scripted:library"),
        Agent(name="writer", model="scripted:writer", tools=[check]),
    ],
    flow="(web | library) >> writer",
    join=JoinPolicy("allow_optional_failures", optional=("library",)),
    failure={"model": "fail", "tool": "continue"},
    budget={"max_tool_calls": 2, "max_wall_time_s": 3600},
)
