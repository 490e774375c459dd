"""A set of tools that is known only when an agent runs: tools that a server lists."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orbiter.tool import Tool


class Toolset(ABC):
    """Stands among an agent's tools until the agent runs."""

    name: str = ""

    @abstractmethod
    async def open(self, agent: str, number: int, others: Mapping[str, Any]) -> list[Tool]:
        """The tools, for one run of an agent.

        Args:
            agent: The agent's name.
            number: Counts the agent's sets: the place of a step.
            others: The tools that the agent has so far, by the names that a model knows them by.
        """
