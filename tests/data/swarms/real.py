"""Agents on real providers' SDKs; where these go is said by the environment."""

from __future__ import annotations

from orbiter import Agent, tool


@tool(idempotent=True)
def read_all() -> str:
    """A long text."""
    return "many words " * 8_000


openai = Agent(name="openai", model="openai:gpt-4o")
anthropic = Agent(name="anthropic", model="anthropic:claude-sonnet-4-5")
reader = Agent(name="reader", model="openai:gpt-4o", tools=[read_all])
both = Agent(name="both", model="openai:gpt-4o", fallbacks=["anthropic:claude-sonnet-4-5"])
