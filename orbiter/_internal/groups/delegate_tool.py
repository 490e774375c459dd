"""The tool with which a team's lead hands a task to a worker. It is in one run of the lead, never in `lead.tools`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from orbiter import steps
from orbiter._internal.groups.members import (
    NO_FALLBACKS,
    FallbackAgents,
    RunSettings,
    RunTotals,
    run_member,
)
from orbiter.errors import SwarmError
from orbiter.steps import Place, Traits
from orbiter.tool import Tool


class _DelegateTool(Tool):
    """``delegate_to_<worker>``: hands a task to a worker and returns its answer."""

    composite = True
    # The workers' own steps are recorded; handing a task on has no effect of its own.
    traits = Traits(idempotent=True)

    def __init__(
        self,
        *,
        worker: Any,
        provider: Any = None,
        max_retries: int = 3,
        loop_threshold: int = 3,
        totals: RunTotals | None = None,
        failed: dict[str, str] | None = None,
        taken: Collection[str] = (),
        fallbacks: FallbackAgents = NO_FALLBACKS,
    ) -> None:
        self.worker = worker
        self.name = f"delegate_to_{worker.name}"
        if self.name in taken:
            raise SwarmError(
                f"Team mode needs the tool name '{self.name}', which the lead uses already",
                suggestion="Rename the lead's tool or the worker.",
            )
        self.description = f"Delegate a task to the '{worker.name}' agent and get its answer."
        self.parameters = {
            "type": "object",
            "properties": {"task": {"type": "string", "description": f"What '{worker.name}' should do, in full."}},
            "required": ["task"],
        }
        self._settings = RunSettings(provider, max_retries, loop_threshold)
        self._totals = totals
        self._failed = failed
        self._stand_ins = fallbacks

    async def execute(self, **kwargs: Any) -> str:
        """Run the worker on `task`."""
        name = self.worker.name
        try:
            result = await run_member(
                self.worker, kwargs["task"], steps.current(), Place(0), self._settings, fallbacks=self._stand_ins
            )
        except Exception as exc:
            if self._failed is not None:
                self._failed[name] = str(exc)
            raise
        if self._failed is not None:
            self._failed.pop(name, None)
        if self._totals is not None:
            self._totals.add(name, result)
        return result.output
