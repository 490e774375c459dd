"""What every declaration of several agents has in common: groups, nested swarms and swarms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from orbiter.steps import ScopeKind
from orbiter.types import Message, RunResult


class Container(ABC):
    """Groups, nested swarms, swarms. Nothing in them changes while they run."""

    name: str
    takes_loop_threshold = True
    _kind: ScopeKind = "group"

    async def run(
        self,
        input: str,
        *,
        messages: list[Message] | None = None,
        provider: Any = None,
        max_retries: int = 3,
        loop_threshold: int = 3,
    ) -> RunResult:
        """Run the members on `input`.

        Args:
            input: What the user says.
            messages: The conversation before.
            provider: Who answers for all members; None: each member's own model decides.
            max_retries: Attempts for each model call, as in `Agent.run`.
            loop_threshold: Equal tool calls in a row that make an endless loop; 0 or less: no check.

        Raises:
            OrbiterError: A member failed, or the members cannot be run like this.
        """
        from orbiter._internal.groups.container_run import run_as_node

        return await run_as_node(
            self,
            input,
            messages=messages,
            provider=provider,
            max_retries=max_retries,
            loop_threshold=loop_threshold,
        )

    @abstractmethod
    def _members(self) -> list[str]:
        """The members' names, in their order."""

    def _info(self) -> dict[str, Any]:
        """What a runtime must know besides the members, as JSON."""
        return {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, agents={self._members()!r})"
