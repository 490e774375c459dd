"""The permission gate: whether something may be done, read from configuration and grants at every attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from orbiter.errors import ToolCallError
from runtime.execution.run_session import RunSession
from runtime.execution.step_context import Completed, StepContext
from runtime.judgement.permissions.permission import (
    Need,
    canonical_arguments,
    covers,
    needs_of,
)
from runtime.judgement.permissions.shell_commands import MatchBudget
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Incident
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
)


class PermissionNeeded(Exception):
    """A step needs a permission that nobody granted."""

    def __init__(self, need: Need, agent: str, call: str = "") -> None:
        super().__init__(f"agent '{agent}' needs the permission {need}{call and f' for {call}'}, which nobody granted")
        self.need = need


class PermissionDenied(ToolCallError):
    """An operator or the configuration said no; the text is for the agent, whatever a failure of the tool means."""


@dataclass(slots=True, frozen=True)
class MissingPermission:
    """The first need that is not covered. `denied`: by configuration, so nobody is asked."""

    need: Need
    denied: bool = False


def declared_permissions(c: StepContext) -> tuple[str, ...]:
    """What the tool's author declared; nothing for other steps."""
    return c.step.traits.permissions if c.step.kind == "tool" else ()


async def missing_permission(c: StepContext, changes: Mapping[str, Any]) -> MissingPermission | None:
    """What is in the way of a step; None if nothing.

    Raises:
        PermissionSyntaxError: the tool's declaration cannot be read or filled in.
    """
    declared = declared_permissions(c)
    if not declared:
        return None
    arguments = c.tool_arguments(changes)
    conditions = c.session.config
    verbs = conditions.permissions.verbs
    needs = needs_of(declared, arguments, root=conditions.workspace, defaults=_argument_defaults(c), verbs=verbs)
    return await first_uncovered(c.session, c.node_id, c.step.agent, needs)


async def first_uncovered(
    life: RunSession, node_id: str, agent: str, needs: Iterable[Need]
) -> MissingPermission | None:
    """The first need of a node that neither configuration, a standing grant, nor an answer to this very node covers."""
    granted = set(_granted_once(life, node_id))
    policy, attended = life.config.permissions, life.config.enable_error_routing
    grants: list[ev.GrantAdded] | None = None
    uses: list[ev.GrantUsed] = []
    work = MatchBudget()
    for need in needs:
        verdict = policy.verdict(need, agent, work=work)
        if verdict == "deny":
            return MissingPermission(need, denied=True)
        if verdict == "allow" or str(need) in granted:
            continue
        if grants is None:
            now = life.clock()
            grants = [each for each in await life.journal.grants() if each.until is None or each.until > now]
        used = _covering_grant(life, grants, need, agent, work)
        if used is None:
            return MissingPermission(need, denied=not attended)
        uses.append(ev.GrantUsed(node_id=node_id, grant_id=used.grant_id, need=str(need)))
    # Only what is let pass has used anything: a step that another need holds back comes here again.
    for use in uses:
        life.record_soon(use)
    return None


def checked_arguments(c: StepContext, changes: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments in the form in which they were checked; None where that is how they stand."""
    declared = declared_permissions(c)
    if not declared:
        return None
    arguments = dict(c.tool_arguments(changes))
    conditions = c.session.config
    verbs = conditions.permissions.verbs
    made = canonical_arguments(
        declared, arguments, root=conditions.workspace, defaults=_argument_defaults(c), verbs=verbs
    )
    return made if made != arguments else None


async def refuse_call(c: StepContext, need: Need, why: str = "") -> Completed:
    """Tell the model, as the result of its call, that what it wants is denied: by configuration, or as `why` says."""
    said = why or f"Denied by the configuration: {need} is not permitted"
    fault = Classification(
        origin=Origin.TOOL,
        cause=Cause.POLICY_DENIED,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        impact=Impact.ABSORBED,
        user_message=said,
        rule_id="permission-policy",
        metadata={"permission": str(need)},
    )
    result = c.step.codec.absorb(c.step.arguments, PermissionDenied(said))
    c.record_node()
    await c.session.record(
        ev.StepEnded(
            node_id=c.node_id,
            parent_id=c.parent_id,
            attempt=c.node.attempts if c.node is not None else 0,
            result=c.step.codec.dump(result),
            fault=fault,
            absorbed=True,
            settled=c.step.after is None,
        )
    )
    if c.step.after is not None:
        await c.step.after(c.step.arguments, result)
        c.session.record_soon(ev.StepSettled(node_id=c.node_id, parent_id=c.parent_id))
    return Completed(result)


def _argument_defaults(c: StepContext) -> dict[str, Any]:
    """What the tool's schema says of arguments that a call may leave out."""
    properties = (c.step.traits.schema or {}).get("properties")
    if not isinstance(properties, Mapping):
        return {}
    described = {name: each for name, each in properties.items() if isinstance(each, Mapping)}
    return {name: each["default"] for name, each in described.items() if "default" in each}


def _covering_grant(
    life: RunSession, grants: Iterable[ev.GrantAdded], need: Need, agent: str, work: MatchBudget
) -> ev.GrantAdded | None:
    verbs = life.config.permissions.verbs
    for grant in grants:
        if covers(grant, need, agent=agent, run_id=life.state.id, ref=life.state.ref, verbs=verbs, work=work):
            return grant
    return None


def _granted_once(life: RunSession, node_id: str) -> Iterable[str]:
    """What answers to this node's own incidents allowed once: exactly the need that was shown, for this node only.

    A standing grant is no part of this: it is looked up like any other, so that revoking it stops this node, too.
    """
    node = life.state.nodes.get(node_id)
    for incident_id in node.incidents if node is not None else ():
        incident: Incident = life.state.incidents[incident_id]
        answer = incident.answer
        if answer is not None and answer.option == "grant" and answer.params.get("for", "once") == "once":
            yield str(incident.opened.action.get("permission", ""))
