"""A swarm that stands in another swarm like one agent."""

from __future__ import annotations

from typing import Any

from orbiter._internal.declarations.container import Container
from orbiter.errors import NestedSwarmError
from orbiter.steps import ScopeKind

__all__ = ["NestedSwarmError", "SwarmNode"]


class SwarmNode(Container):
    """A swarm as a member of another. The inner swarm starts with a conversation of its own.

    Args:
        swarm: The inner swarm.
        name: Its name in the outer one; the swarm's own if not given.

    Raises:
        NestedSwarmError: `swarm` is not a swarm.
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
