"""The permission gate: whether a step may run, read from the workspace's grants at every attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from orbiter.steps import Step
from runtime.judgement.permissions import Need, covers, needs_of
from runtime.record import events as ev
from runtime.record.state import Incident
from runtime.work.life import Life


class PermissionNeeded(Exception):
    """A step needs a permission that nobody granted."""

    def __init__(self, need: Need, agent: str) -> None:
        super().__init__(f"agent '{agent}' needs the permission {need}, which nobody granted")
        self.need = need


class PermissionDenied(Exception):
    """An operator said no; the text is for the agent."""


async def missing(life: Life, step: Step[Any, Any], node_id: str, arguments: Mapping[str, Any]) -> Need | None:
    """The first permission of a step that neither a standing grant nor an answer to this very step covers.

    Raises:
        PermissionSyntaxError: the tool's declaration cannot be read.
    """
    if not step.traits.permissions:
        return None
    needs = needs_of(step.traits.permissions, arguments, root=life.conditions.workspace)
    granted = set(_granted_here(life, node_id))
    grants = [grant for grant in await life.journal.grants() if grant.until is None or grant.until > life.clock()]
    for need in needs:
        if str(need) in granted:
            continue
        used = _covering(life, grants, need, step.agent)
        if used is None:
            return need
        life.note(ev.GrantUsed(node_id=node_id, grant_id=used.grant_id, need=str(need)))
    return None


def _covering(life: Life, grants: Iterable[ev.GrantAdded], need: Need, agent: str) -> ev.GrantAdded | None:
    for grant in grants:
        if covers(grant, need, agent=agent, run_id=life.state.id, ref=life.state.ref):
            return grant
    return None


def _granted_here(life: Life, node_id: str) -> Iterable[str]:
    """What answers to this step's own incidents allowed: exactly the need that was shown, for this step only."""
    node = life.state.nodes.get(node_id)
    for incident_id in node.incidents if node is not None else ():
        incident: Incident = life.state.incidents[incident_id]
        if incident.answer is not None and incident.answer.option == "grant":
            yield str(incident.opened.action.get("permission", ""))
