"""Usage of budgets by runs, for display. Folds that are kept and fed."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime
from typing import Any, Final

from runtime.execution.gates.budget import (
    ScopedBudget,
    extended_budget,
    run_budget,
    usage_in_scope,
)
from runtime.judgement.recovery.budget import (
    Budget,
    BudgetUsage,
    LimitFinding,
    check_limits,
)
from runtime.record.journal import Journal
from runtime.record.state.durable_run import DurableRun, Summary
from runtime.record.state.fault_taxonomy import Limit

CACHED_RUNS: Final = 64
"""Runs whose folds are kept, those that were looked at last."""
ACTIVE_STATES: Final = ("queued", "running", "waiting", "frozen")
"""States of runs that may spend more."""
_PAGE: Final = 500
"""Events that are folded in one go: the consoles must not wait for a long run."""


class UsageReader:
    """Asked again for the same run, it reads only what was written since."""

    def __init__(self, journal: Journal, configured: Budget) -> None:
        self._journal = journal
        self._configured = configured
        self._states: OrderedDict[str, DurableRun] = OrderedDict()

    async def usage_of(self, summary: Summary, now: datetime) -> dict[str, Any]:
        """A run as JSON: `id`, `state`, `title`, `spent`, and `limits`, each with what is used of what is allowed."""
        state = await self._state(summary.id)
        open_at = {
            (str(about.get("scope")), str(about.get("limit"))): each.opened.incident_id
            for each in state.open_incidents
            if isinstance(about := each.opened.action.get("budget"), dict)
        }
        limits = [
            {**row, "incident_id": open_at.get((row["scope"], row["limit"]), "")}
            for scoped in self._in_force(state)
            for row in limit_rows(scoped, usage_in_scope(state, scoped.scope, now))
        ]
        spent = usage_in_scope(state, "", now).model_dump()
        return {"id": state.id, "state": summary.state, "title": summary.title, "spent": spent, "limits": limits}

    async def _state(self, run_id: str) -> DurableRun:
        state = self._states.setdefault(run_id, DurableRun())
        self._states.move_to_end(run_id)
        while events := await self._journal.read(run_id, after=state.last_seq, limit=_PAGE):
            for event in events:
                if event.seq == state.last_seq + 1:  # somebody else who asks may have been faster
                    state.apply(event)
        while len(self._states) > CACHED_RUNS:
            self._states.popitem(last=False)
        return state

    def _in_force(self, state: DurableRun) -> list[ScopedBudget]:
        found = [ScopedBudget("", "", extended_budget(state, "", run_budget(state, self._configured)))]
        for node in state.nodes.values():
            if node.info.get("budget"):
                budget = Budget.model_validate(node.info["budget"])
                found.append(ScopedBudget(node.id, node.name, extended_budget(state, node.id, budget)))
        return found


def limit_rows(scoped: ScopedBudget, spent: BudgetUsage) -> list[dict[str, Any]]:
    """The limits that a budget sets, as JSON; `level` is `warning` or `hit`, or empty while there is enough left."""
    levels: dict[Limit, LimitFinding] = {found.limit: found for found in check_limits(scoped.budget, spent)}
    rows: list[dict[str, Any]] = []
    for limit in Limit:
        allowed = scoped.budget.limit_value(limit)
        if allowed is not None:
            found = LimitFinding(limit, "warning", spent.used(limit), allowed)
            level = levels[limit].level if limit in levels else ""
            row = {"limit": found.name, "used": round(found.used, 6), "allowed": allowed, "level": level}
            rows.append({"scope": scoped.scope, "of": scoped.name or "the run", **row})
    return rows
