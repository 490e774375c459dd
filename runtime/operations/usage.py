"""Usage of budgets by runs, for display. Folds that are kept and fed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

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
from runtime.operations.requests.limits import LimitUse, RunBudget
from runtime.record.journal import Journal
from runtime.record.state.durable_run import DurableRun, Summary
from runtime.record.state.fault_taxonomy import Limit

CACHED_RUNS: Final = 64
"""Runs whose folds are kept, those that were looked at last."""
_PAGE: Final = 500
"""Events that are folded in one go: the consoles must not wait for a long run."""


class UsageReader:
    """Asked again for the same run, it reads only what was written since."""

    def __init__(self, journal: Journal, configured: Budget) -> None:
        self._journal = journal
        self._configured = configured
        self._states: OrderedDict[str, DurableRun] = OrderedDict()

    async def usage_of(self, summary: Summary, now: datetime) -> RunBudget:
        """What a run has spent, and what is used of each of its limits."""
        state = await self._state(summary.id)
        open_at = {
            (str(about.get("scope")), str(about.get("limit"))): each.opened.incident_id
            for each in state.open_incidents
            if isinstance(about := each.opened.action.get("budget"), dict)
        }
        limits = [
            row
            for scoped in self._in_force(state)
            for row in limit_uses(scoped, usage_in_scope(state, scoped.scope, now), open_at)
        ]
        spent = usage_in_scope(state, "", now).model_dump()
        return RunBudget(
            id=state.id, state=summary.shown_phase, title=summary.shown_title, spent=spent, limits=tuple(limits)
        )

    async def _state(self, run_id: str) -> DurableRun:
        state = self._states.setdefault(run_id, DurableRun())
        self._states.move_to_end(run_id)
        while events := await self._journal.read(run_id, after=state.last_seq, limit=_PAGE):
            for event in events:
                if event.seq == state.last_seq + 1:  # another query may have been faster
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


def limit_uses(scoped: ScopedBudget, spent: BudgetUsage, open_at: Mapping[tuple[str, str], str]) -> Iterator[LimitUse]:
    """What is used of the limits of a budget. `open_at`: the incident that waits for more, by scope and limit."""
    levels: dict[Limit, LimitFinding] = {found.limit: found for found in check_limits(scoped.budget, spent)}
    for limit in Limit:
        allowed = scoped.budget.limit_value(limit)
        if allowed is not None:
            found = LimitFinding(limit, "warning", spent.used(limit), allowed)
            yield LimitUse(
                scope=scoped.scope,
                of=scoped.name or "the run",
                limit=found.name,
                used=round(found.used, 6),
                allowed=allowed,
                level=levels[limit].level if limit in levels else "",
                incident_id=open_at.get((scoped.scope, found.name), ""),
            )
