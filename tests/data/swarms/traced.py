"""Tools that say in which trace they run."""

from __future__ import annotations

from opentelemetry.propagate import inject

from orbiter import Agent, tool
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply


def _context() -> str:
    carrier: dict[str, str] = {}
    inject(carrier)
    return carrier.get("traceparent", "none")


@tool(idempotent=True)
def in_thread() -> str:
    """Say it from a thread."""
    return _context()


@tool(idempotent=True)
async def in_task() -> str:
    """Say it from a task."""
    return _context()


script("traced/tools", [Reply(calls=[Call("in_thread", {}), Call("in_task", {})]), "done"])
traced = Agent(name="traced", model="scripted:traced/tools", tools=[in_thread, in_task])
