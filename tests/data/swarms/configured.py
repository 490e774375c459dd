"""Swarms that bring an error configuration of their own: at the top level, nested, and in a tool that calls `run`."""

from __future__ import annotations

import os
from pathlib import Path

from orbiter import Agent, ErrorHandlingConfig, Swarm, SwarmNode, run, tool
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Fault, Reply, Script, Turn
from orbiter.types import Message

QUICK = 0.01


def _down(messages: list[Message]) -> Turn:
    with Path(os.environ["ORBITER_TEST_EFFECTS"]).open("a", encoding="utf-8") as world:
        world.write("asked\n")
    return Fault(status=503, message="the service is down")


script("configured/down", lambda messages, tools: _down(messages))
script("configured/caller", Script([Reply(calls=[Call("ask_inside", {"question": "go"})]), Reply("answered")]))


def _errors(attempts: int) -> ErrorHandlingConfig:
    return ErrorHandlingConfig(max_attempts=attempts, base_retry_delay=QUICK)


def _agent() -> Agent:
    return Agent(name="asker", model="scripted:configured/down")


@tool(composite=True)
async def ask_inside(question: str) -> str:
    """Ask an agent, with three attempts."""
    inner = Swarm(agents=[_agent()], errors=_errors(2))
    return (await run(inner, question, errors=_errors(3))).output


plain = Swarm(agents=[_agent()])
top = Swarm(agents=[_agent()], errors=_errors(3))
nested = Swarm(agents=[SwarmNode(swarm=Swarm(agents=[_agent()], errors=_errors(2)), name="inner")], errors=_errors(5))
outer = Swarm(agents=[SwarmNode(swarm=Swarm(agents=[_agent()]), name="inner")], errors=_errors(2))
called = Swarm(agents=[Agent(name="caller", model="scripted:configured/caller", tools=[ask_inside])], errors=_errors(5))
critical = Swarm(agents=[_agent()], errors=ErrorHandlingConfig(classify_as_critical=("ModelError",), max_attempts=1))
unattended = Swarm(agents=[_agent()], errors=ErrorHandlingConfig(enable_error_routing=False, max_attempts=1))
timed = Swarm(agents=[_agent()], errors=ErrorHandlingConfig(error_recovery_timeout=0.05, max_attempts=1))
fused = Swarm(
    agents=[_agent()],
    errors=ErrorHandlingConfig(circuit_breaker_threshold=1, circuit_breaker_timeout=3000, max_attempts=1),
)
ruled = Swarm(
    agents=[_agent()],
    errors=ErrorHandlingConfig(
        rules=({"id": "mine", "text": "service is down", "cause": "quota_exhausted", "persistence": "needs_change"},)
    ),
)
malformed = Swarm(agents=[_agent()], errors=ErrorHandlingConfig(rules=({"id": "mine", "cause": "no such cause"},)))
