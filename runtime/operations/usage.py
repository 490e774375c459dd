"""What runs have spent of what they may: for whoever looks, not for the gates. Folds that are kept and fed."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime
from typing import Any, Final

from runtime.execution.gates.budget import (
    Scoped,
    extended,
    run_budget,
    spent_in,
)
from runtime.judgement.recovery.budget import (
    Budget,
    Finding,
    Spent,
    judge,
)
from runtime.record.journal import Journal
from runtime.record.state.durable_run import RunState, Summary
from runtime.record.state.fault_taxonomy import Limit

KEPT: Final = 64
"""Runs whose folds are kept, those that were looked at last."""
ACTIVE: Final = ("queued", "running", "waiting", "frozen")
"""States of runs that may spend more."""
_PAGE: Final = 500
"""Events that are folded in one go: the consoles must not wait for a long run."""


class Spending:
    """Asked again for the same run, it reads only what was written since."""

    def __init__(self, journal: Journal, configured: Budget) -> None:
        self._journal = journal
        self._configured = configured
        self._states: OrderedDict[str, RunState] = OrderedDict()

    async def of(self, summary: Summary, now: datetime) -> dict[str, Any]:
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
            for row in limits_of(scoped, spent_in(state, scoped.scope, now))
        ]
        spent = spent_in(state, "", now).model_dump()
        return {"id": state.id, "state": summary.state, "title": summary.title, "spent": spent, "limits": limits}

    async def _state(self, run_id: str) -> RunState:
        state = self._states.setdefault(run_id, RunState())
        self._states.move_to_end(run_id)
        while events := await self._journal.read(run_id, after=state.last_seq, limit=_PAGE):
            for event in events:
                if event.seq == state.last_seq + 1:  # somebody else who asks may have been faster
                    state.apply(event)
        while len(self._states) > KEPT:
            self._states.popitem(last=False)
        return state

    def _in_force(self, state: RunState) -> list[Scoped]:
        found = [Scoped("", "", extended(state, "", run_budget(state, self._configured)))]
        for node in state.nodes.values():
            if node.info.get("budget"):
                budget = Budget.model_validate(node.info["budget"])
                found.append(Scoped(node.id, node.name, extended(state, node.id, budget)))
        return found


def limits_of(scoped: Scoped, spent: Spent) -> list[dict[str, Any]]:
    """The limits that a budget sets, as JSON; `level` is `warning` or `hit`, or empty while there is enough left."""
    levels: dict[Limit, Finding] = {found.limit: found for found in judge(scoped.budget, spent)}
    rows: list[dict[str, Any]] = []
    for limit in Limit:
        allowed = scoped.budget.allowed(limit)
        if allowed is not None:
            found = Finding(limit, "warning", spent.of(limit), allowed)
            level = levels[limit].level if limit in levels else ""
            row = {"limit": found.name, "used": round(found.used, 6), "allowed": allowed, "level": level}
            rows.append({"scope": scoped.scope, "of": scoped.name or "the run", **row})
    return rows
