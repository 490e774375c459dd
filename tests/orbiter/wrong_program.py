"""Mistakes that a type checker must find, each on a line with ``# wrong`` (`test_typing.py`), never run."""

from __future__ import annotations

from orbiter import Agent, ErrorHandlingConfig, Swarm, run, tool


class NotAModel:
    """Is not a pydantic model."""


@tool(idempotent=True)
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


add(1, "2")  # wrong
add(1)  # wrong
add(1, 2).upper()  # wrong
ErrorHandlingConfig(max_attempt=1)  # wrong
agent = Agent(name="a")
Agent("a")  # wrong
Agent(name="a", max_steps="3")  # wrong
Agent(name="a", tool=[])  # wrong
Agent(name="a", failure="contniue")  # wrong
Swarm(agents=[agent], mode="round-robin")  # wrong
Swarm(agents=[agent], failure={"agent": "contniue"})  # wrong


async def main() -> None:
    """Wrong ways to run."""
    await run("a", "go")  # wrong
    await run(agent, "go", retries=3)  # wrong
    await run(agent, 3)  # wrong
    print((await run(agent, "go")).text)  # wrong
