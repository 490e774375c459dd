"""A swarm that stands in another swarm like one agent."""

from __future__ import annotations

from typing import Any

from orbiter._internal.declarations.container import Container
from orbiter._internal.keywords import name_nearest_keyword
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

    Examples:
        >>> from orbiter import Agent, Swarm, SwarmNode
        >>> inner = Swarm(agents=[Agent(name="reader"), Agent(name="critic")])
        >>> outer = Swarm(agents=[SwarmNode(swarm=inner, name="review"), Agent(name="writer")])
        >>> list(outer.agents)
        ['review', 'writer']
    """

    is_swarm = True
    _kind: ScopeKind = "swarm"

    @name_nearest_keyword("SwarmNode")
    def __init__(self, *, swarm: Any, name: str | None = None) -> None:
        if not hasattr(swarm, "flow_order"):
            raise NestedSwarmError(
                "SwarmNode requires a Swarm instance (object with flow_order)", hint=f"Got {type(swarm).__name__}."
            )
        self.swarm = swarm
        self.name = name if name is not None else swarm.name
        if isinstance(swarm, Container):
            self.classify_error, self.get_retry_policy = swarm.classify_error, swarm.get_retry_policy
            self.errors = swarm.errors

    def _members(self) -> list[str]:
        return list(self.swarm.flow_order)

    def _info(self) -> dict[str, Any]:
        # The node stands for the swarm: what the swarm declares holds in it, inside what the outer one declares.
        return self.swarm._info() if isinstance(self.swarm, Container) else {}

    def describe(self) -> dict[str, Any]:
        """The inner swarm in a few words."""
        return {"name": self.name, "swarm": self.swarm.describe()}
