"""A swarm that stands in another swarm like one agent."""

from __future__ import annotations

from typing import Any

from orbiter import steps
from orbiter._internal.error_causes import join_with_cause
from orbiter._internal.groups.container import Container
from orbiter._internal.groups.members import RunSettings, as_result
from orbiter.errors import NestedSwarmError
from orbiter.steps import Place, Scope, ScopeKind
from orbiter.types import Message, RunResult

__all__ = ["NestedSwarmError", "SwarmNode"]


class SwarmNode(Container):
    """A swarm as a member of another. The inner swarm starts with a conversation of its own.

    Args:
        swarm: The inner swarm.
        name: Its name in the outer one; the swarm's own if not given.

    Raises:
        NestedSwarmError: `swarm` is none.
    """

    is_swarm = True
    _kind: ScopeKind = "swarm"

    def __init__(self, *, swarm: Any, name: str | None = None) -> None:
        if not hasattr(swarm, "flow_order"):
            raise NestedSwarmError(
                "SwarmNode requires a Swarm instance (object with flow_order)", hint=f"Got {type(swarm).__name__}."
            )
        self.swarm = swarm
        self.name = name if name is not None else swarm.name

    def _members(self) -> list[str]:
        return list(self.swarm.flow_order)

    def describe(self) -> dict[str, Any]:
        """The inner swarm in a few words."""
        return {"name": self.name, "swarm": self.swarm.describe()}

    async def _carry_out(
        self, input: str, scope: Scope, settings: RunSettings, messages: list[Message] | None
    ) -> RunResult:
        if isinstance(self.swarm, Container) and "run" not in vars(self.swarm):
            # The node stands for the swarm: a second node for the same thing would tell nobody anything.
            return await self.swarm._carry_out(input, scope, settings, None)
        with steps.at(scope, Place(0)):
            try:
                result = await self.swarm.run(input, provider=settings.provider, max_retries=settings.max_retries)
            except Exception as exc:
                raise join_with_cause(NestedSwarmError, f"Nested swarm '{self.name}' failed: {exc}", exc) from exc
        return as_result(result, self.name)
