"""Swarms whose code raises permission errors of seed 003, with and without a name for what is missing."""

from __future__ import annotations

import builtins
import os
from pathlib import Path
from typing import Any

from orbiter import Agent, ParallelGroup, Swarm, SwarmNode, is_granted, require_permission, tool
from orbiter.errors import AgentPermissionError, PermissionError  # noqa: A004 - seed 003 names them so
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply, Turn
from orbiter.types import Message, ToolResult

EFFECTS = Path(os.environ.get("ORBITER_TEST_EFFECTS", os.devnull))


def effect(text: str) -> None:
    """Leave a line in the world."""
    with EFFECTS.open("a", encoding="utf-8") as world:
        world.write(f"{text}\n")


class LedgerClosed(builtins.PermissionError):
    """Python's own class, with what is missing as attributes."""

    verb = "ledger"
    object = "close 2026"


@tool
async def helper() -> str:
    """Asks with the helper of the framework."""
    await require_permission("ledger:close 2026", "the books are closed with it")
    effect("closed")
    return "the books are closed"


@tool
def helper_sync() -> str:
    """As `helper`, and not asynchronous."""
    require_permission.sync("ledger:close 2026")
    effect("closed")
    return "the books are closed"


@tool
async def by_attribute() -> str:
    """Raises the seed's class, with `permission`."""
    if not await is_granted("ledger:close 2026"):
        raise PermissionError("closing is not allowed", permission="ledger:close 2026")
    effect("closed")
    return "the books are closed"


@tool
async def by_context() -> str:
    """Raises the seed's class, with verb and object in its context."""
    if not await is_granted("ledger:close 2026"):
        raise PermissionError("closing is not allowed", context={"verb": "ledger", "object": "close 2026"})
    effect("closed")
    return "the books are closed"


@tool
async def by_agent() -> str:
    """Raises the seed's class for an agent that may not be invoked, by a rule of its own: the first time."""
    if not EFFECTS.exists():
        effect("refused")
        raise AgentPermissionError("the closer may not be invoked", target_agent="closer")
    effect("closed")
    return "the books are closed"


@tool(failure="fail")
async def by_builtin() -> str:
    """Raises a class of Python's family."""
    if not await is_granted("ledger:close 2026"):
        raise LedgerClosed("closing is not allowed")
    effect("closed")
    return "the books are closed"


@tool
async def stubborn() -> str:
    """Raises whatever was granted."""
    effect("tried")
    raise PermissionError("closing is not allowed", permission="ledger:close 2026")


@tool(failure="fail")
async def nameless() -> str:
    """Raises without a name for what is missing."""
    effect("tried")
    raise PermissionError("the door is locked")


def _speak(name: str) -> Any:
    def speak(messages: list[Message], tools: list[dict[str, Any]]) -> Turn:
        last = messages[-1]
        if isinstance(last, ToolResult):
            return f"told: {last.error or last.content}"
        return Reply(calls=[Call(name, {})])

    return speak


def user_of(used: Any, name: str = "clerk") -> Agent:
    """An agent that calls the tool once and says what came of it."""
    script(f"guarded/{used.name}", _speak(used.name))
    return Agent(name=name, model=f"scripted:guarded/{used.name}", tools=[used])


def _lead(messages: list[Message], tools: list[dict[str, Any]]) -> Turn:
    last = messages[-1]
    if isinstance(last, ToolResult):
        return f"told: {last.error or last.content}"
    return Reply(calls=[Call("delegate_to_clerk", {"task": "go"})])


script("guarded/lead", _lead)
script("guarded/router", lambda messages, tools: "clerk")

helper_top, helper_sync_top = user_of(helper), user_of(helper_sync)
by_attribute_top, by_context_top = user_of(by_attribute), user_of(by_context)
by_agent_top, by_builtin_top = user_of(by_agent), user_of(by_builtin)
stubborn_top, nameless_top = user_of(stubborn), user_of(nameless)

helper_workflow = Swarm(agents=[SwarmNode(swarm=Swarm(agents=[user_of(helper)]), name="inner")])
helper_team = Swarm(mode="team", agents=[Agent(name="lead", model="scripted:guarded/lead"), user_of(helper)])
helper_handoff = Swarm(
    mode="handoff",
    agents=[Agent(name="router", model="scripted:guarded/router", handoffs=[user_of(helper)]), user_of(helper)],
)
helper_parallel = Swarm(agents=[ParallelGroup(name="side", agents=[user_of(helper)])])


async def _instructions(name: str) -> str:
    await require_permission("briefing:read")
    effect("closed")
    return "Be brief."


script("guarded/echo", lambda messages, tools: "told: the books are closed")
agent_top = Agent(name="clerk", model="scripted:guarded/echo", instructions=_instructions)
