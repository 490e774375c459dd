"""The tool with which a team's lead hands a task to a worker. It is in one run of the lead, never in `lead.tools`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Unpack

from orbiter import steps
from orbiter._internal.groups.members import FallbackAgents, MemberContext, RunTotals, run_member
from orbiter._internal.run_options import RUN_DEFAULTS, RunOptions, RunSettings, read_run_options
from orbiter.errors import SwarmError
from orbiter.policy import FailureMode
from orbiter.steps import Place, Traits
from orbiter.tool import Tool


class _DelegateTool(Tool):
    """``delegate_to_<worker>``: hands a task to a worker and returns its answer."""

    composite = True

    def __init__(
        self,
        *,
        worker: Any,
        totals: RunTotals | None = None,
        failed: dict[str, str] | None = None,
        taken: Collection[str] = (),
        fallbacks: FallbackAgents | None = None,
        policy: FailureMode | None = None,
        **options: Unpack[RunOptions],
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
        # The workers' own steps are recorded; handing a task on has no effect of its own.
        # What a worker's failure means to the lead: `fail` ends it, `degrade` lets it end degraded.
        self.traits = Traits(idempotent=True, failure=policy or "")
        self._settings = RunSettings.of(read_run_options("_DelegateTool", options, RUN_DEFAULTS))
        self._totals = totals
        self._failed = failed
        self._stand_ins = fallbacks or {}

    async def execute(self, **kwargs: Any) -> str:
        """Run the worker on `task`."""
        name = self.worker.name
        try:
            context = MemberContext(steps.current(), self._settings, fallbacks=self._stand_ins)
            result = await run_member(self.worker, kwargs["task"], Place(0), context)
        except Exception as exc:
            if self._failed is not None:
                self._failed[name] = str(exc)
            raise
        if self._failed is not None:
            self._failed.pop(name, None)
        if self._totals is not None:
            self._totals.add(name, result)
        return result.output
