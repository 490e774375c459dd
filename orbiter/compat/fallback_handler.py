"""Agents that stand in for one another (seed 003)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from orbiter.errors import ExecutionError, OrbiterError, RegistryError
from orbiter.registry import agent_registry

logger = logging.getLogger("orbiter.recovery")


class FallbackHandler:
    """Fallback strategies for agents: who stands in for whom.

    Args:
        fallback_map: Names of agents to try, in order, by the name of the agent they stand in for.
        agents: Agents by name; those registered in `orbiter.registry.agent_registry` if not given.
    """

    def __init__(self, fallback_map: Mapping[str, Sequence[str]], agents: Mapping[str, Any] | None = None) -> None:
        self.fallback_map = fallback_map
        self._agents = agents

    async def execute_with_fallback(
        self, primary_agent: str, task: str, context: Mapping[str, Any] | None = None
    ) -> Any:
        """The result of the first agent that succeeds. Agents that do not exist are passed over.

        Args:
            primary_agent: The agent to try first.
            task: What it shall do.
            context: For an Orbiter agent: `messages` and `provider` of the run; for any other, handed on as it is.

        Raises:
            ExecutionError: All failed, or none exists; the last error is its cause.
        """
        chain = [primary_agent, *self.fallback_map.get(primary_agent, ())]
        last: OrbiterError | None = None
        for name in dict.fromkeys(chain):
            agent = self._find(name)
            if agent is None:
                continue
            try:
                result = await _run(agent, task, context or {})
            except OrbiterError as exc:
                logger.warning("Agent %s failed: %s", name, exc.message)
                last = exc
                continue
            if name != primary_agent:
                logger.info("Fallback to %s succeeded", name)
            return result
        raise ExecutionError(
            f"All agents failed: {', '.join(chain)}",
            context={"last_error": str(last) if last else "no such agent"},
            suggestion="Consider revising the task or adding more fallback agents",
        ) from last

    def _find(self, name: str) -> Any:
        if self._agents is not None:
            return self._agents.get(name)
        try:
            return agent_registry.get(name)
        except RegistryError:
            return None


async def _run(agent: Any, task: str, context: Mapping[str, Any]) -> Any:
    # Here, not above: the runner and all that it needs is a lot for a module of small helpers.
    from orbiter.agent import Agent
    from orbiter.runner import run

    if isinstance(agent, Agent):
        return await run(agent, task, messages=context.get("messages"), provider=context.get("provider"))
    return await agent.run(task, context)
