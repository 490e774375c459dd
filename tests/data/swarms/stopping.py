"""Two agents side by side: a tool of the first one raises what would end the process, unless $ORBITER_TEST_MENDED is
there. The tool of the second one ends when $ORBITER_TEST_GO is there.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from orbiter import Agent, Swarm, Tool, tool
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply


def told(variable: str) -> bool:
    return Path(os.environ[variable]).exists()


def end_the_process(how: str) -> str:
    if told("ORBITER_TEST_MENDED"):
        return "mended"
    if how == "exit":
        sys.exit(2)
    if how == "memory":
        raise MemoryError
    return end_the_process(how)


@tool(failure="fail")
def plain(how: str) -> str:
    """End the process, from a thread."""
    return end_the_process(how)


@tool(failure="fail")
async def awaited(how: str) -> str:
    """End the process, from the loop."""
    return end_the_process(how)


@tool
async def slow() -> str:
    """Wait until the test says so."""
    while not told("ORBITER_TEST_GO"):  # noqa: ASYNC110 - told by a file
        await asyncio.sleep(0.01)
    return "waited"


def calling(name: str, used: Tool, **arguments: str) -> Agent:
    script(f"stopping/{name}", [Reply(calls=[Call(used.name, arguments)]), f"{name}: ${{result}}"])
    return Agent(name=name, model=f"scripted:stopping/{name}", tools=[used])


def __getattr__(name: str) -> Any:
    kind, _, how = name.partition("__")
    if not how:
        raise AttributeError(name)
    first = calling(name, plain if kind == "plain" else awaited, how=how)
    return Swarm(agents=[first, calling("second", slow)], flow=f"({name} | second)")
