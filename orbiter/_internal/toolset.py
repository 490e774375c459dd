"""A set of tools that is known only when an agent runs: tools that a server lists."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orbiter.tool import Tool


class Toolset(ABC):
    """Stands among an agent's tools until the agent runs."""

    name: str = ""

    @abstractmethod
    async def open(self, agent: str, number: int) -> list[Tool]:
        """The tools, for one run of the agent of this name. `number` counts the agent's sets: the place of a step."""
