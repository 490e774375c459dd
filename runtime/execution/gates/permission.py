"""The permission gate: whether something may be done, read from configuration and grants at every attempt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from orbiter._internal.user_code import guard_user_code
from orbiter.errors import OrbiterError, ToolCallError, causes
from orbiter.steps import Aborted, Step, segment
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.failures.errors_in_force import may_ask_operator
from runtime.execution.failures.incident_drafts import config_fault
from runtime.execution.gates.blocked import Blocked
from runtime.execution.run_session import RunSession
from runtime.execution.secret_vault import VAULT
from runtime.judgement.permissions.permission import (
    Need,
    UncheckableObjectError,
    canonical_arguments,
    covers,
    needs_of,
)
from runtime.judgement.permissions.policy import INVOKE_VERB
from runtime.judgement.permissions.raised import canonical_need, named_need
from runtime.judgement.permissions.shell_commands import MatchBudget
from runtime.judgement.recovery.option_table import effect_of
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

_CALL_CHARS = 300


class PermissionNeeded(Exception):
    """A step needs a permission that is not granted."""

    def __init__(self, need: Need, agent: str, call: str = "") -> None:
        super().__init__(f"agent '{agent}' needs the permission {need}{call and f' for {call}'}, which is not granted")
        self.need = need


class PermissionDenied(ToolCallError):
    """An operator or the configuration said no; the text is for the agent, whatever a failure of the tool means."""


@dataclass(slots=True, frozen=True)
class MissingPermission:
    """The first need that is not covered. `denied`: by configuration, so no operator is asked. `also`: further needs of
    the same call that are not covered either.
    """

    need: Need
    denied: bool = False
    also: tuple[Need, ...] = ()


GRANT_ADVICE = "Grant it for this call only unless the agent will need it again."


def permission_fault(error: PermissionNeeded) -> Classification:
    """The fault of a permission that is missing: a person is asked for it."""
    return Classification(
        origin=Origin.TOOL,
        cause=Cause.PERMISSION_DENIED,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        user_message=str(error),
        suggestions=(GRANT_ADVICE,),
        rule_id="permission-needed",
    )


async def check_permission(
    session: RunSession, node_id: str, step: Step[Any, Any], arguments: Mapping[str, Any]
) -> Blocked | None:
    """What is in the way of a tool's call; None if nothing.

    What the configuration denies, and an object that cannot be checked, go back to the model, unasked.

    Args:
        session: The run's session.
        node_id: The step's node.
        step: The step; only a tool's declared permissions are checked.
        arguments: The arguments that the call will use.
    """
    declared = step.traits.permissions if step.kind == "tool" else ()
    if not declared:
        return None
    config = session.config
    try:
        needs = needs_of(
            declared,
            arguments,
            root=config.workspace,
            defaults=_argument_defaults(step),
            verbs=config.permissions.verbs,
        )
        earlier = _continued_nodes(node_id, step, arguments)
        wrote = any(_wrote_arguments(session, each, arguments) for each in (node_id, *earlier))
        granted = needs if wrote else [need for each in earlier for need in _granted_once(session, each)]
        missing = await first_uncovered(session, node_id, step.agent, needs, granted)
    except UncheckableObjectError as exc:
        return _refused(Need(exc.verb), f"Denied: {exc}")
    except OrbiterError as exc:
        return _unfit(step) or Blocked(config_fault(exc), exc)
    if missing is None:
        return None
    if missing.denied:
        return _refused(missing.need, f"Denied by the configuration: {missing.need} is not permitted")
    if (unfit := _unfit(step)) is not None:
        return unfit
    # A need without an object says nothing of what is to be done: the call does.
    call = "" if missing.need.object else f"{step.name} {json.dumps(dict(arguments), default=str)}"
    error = PermissionNeeded(missing.need, step.agent, VAULT.mask(call)[:_CALL_CHARS])
    parent = session.state.nodes.get(node_id.rpartition("/")[0])
    shown: dict[str, Any] = {"also_needs": [str(each) for each in missing.also]} if missing.also else {}
    if parent is not None and parent.kind == "tool":
        shown["agent"] = step.agent  # a step inside a tool's node: it is the agent who asks, not that node
    return Blocked(permission_fault(error), error, need=str(missing.need), action=shown)


def _unfit(step: Step[Any, Any]) -> Blocked | None:
    """A call whose arguments do not fit cannot be made: the model is told, and no person is asked to permit it."""
    with guard_user_code(f"{step.name!r} of agent {step.agent!r}"):
        error = step.codec.misfit(step.arguments)
    return None if error is None else _told_model(error, Cause.ARGS_INVALID, "arguments-unfit")


def _refused(need: Need, text: str) -> Blocked:
    """The model is told that what it wants is denied."""
    return _told_model(PermissionDenied(text), Cause.POLICY_DENIED, "permission-policy", permission=str(need))


def _told_model(error: ToolCallError, cause: Cause, rule_id: str, **metadata: str) -> Blocked:
    """The model is told of the error as the result of its call, which is not made."""
    fault = Classification(
        origin=Origin.TOOL,
        cause=cause,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        impact=Impact.ABSORBED,
        user_message=str(error),
        rule_id=rule_id,
        metadata=metadata,
    )
    return Blocked(fault, error, refused=True)


async def is_granted(session: RunSession, node_id: str, agent: str, permission: str) -> bool:
    """Whether the code of a node may do what a permission names (`orbiter.steps`, `Scope.granted`).

    Raises:
        PermissionSyntaxError: it is not ``verb:object``, or its object cannot be checked.
    """
    config = session.config
    need = canonical_need(permission, root=config.workspace, verbs=config.permissions.verbs)
    return await first_uncovered(session, node_id, agent, (need,)) is None


async def grantable_need(session: RunSession, node_id: str, agent: str, exc: BaseException) -> Need | None:
    """The permission that an error names and that an operator may grant; None where it names none, where it is granted
    already, where configuration denies it, and where it comes of an operator's denial.
    """
    config = session.config
    if any(isinstance(link, Aborted) for link in causes(exc)):
        return None
    need = named_need(exc, root=config.workspace, verbs=config.permissions.verbs)
    if need is None:
        return None
    missing = await first_uncovered(session, node_id, agent, (need,), raised=True)
    return need if missing is not None and not missing.denied else None


async def first_uncovered(
    session: RunSession,
    node_id: str,
    agent: str,
    needs: Iterable[Need],
    granted_now: Iterable[Need | str] = (),
    *,
    raised: bool = False,
) -> MissingPermission | None:
    """The first need of a node that neither configuration, a standing grant, nor an answer to this very node covers.
    `granted_now` is what an answer covers besides. `raised`: code says that it is missing; nothing is used by asking,
    and that every agent may be invoked where no rule says otherwise does not answer that.
    """
    granted = {*_granted_once(session, node_id), *map(str, granted_now)}
    policy, attended = session.config.permissions, may_ask_operator(session, node_id)
    grants: list[ev.GrantAdded] | None = None
    uses: list[ev.GrantUsed] = []
    missing: list[Need] = []
    work = MatchBudget()
    for need in needs:
        verdict = policy.verdict(need, agent, work=work)
        if verdict == "deny":
            return MissingPermission(need, denied=True)
        usual = verdict == "allow" and not (raised and need.verb == INVOKE_VERB)
        if usual or str(need) in granted:
            continue
        if grants is None:
            now = session.clock()
            grants = [each for each in await session.journal.grants() if each.until is None or each.until > now]
        used = _covering_grant(session, grants, need, agent, work)
        if used is None:
            missing.append(need)
        else:
            uses.append(ev.GrantUsed(node_id=node_id, grant_id=used.grant_id, need=str(need)))
    if missing:
        return MissingPermission(missing[0], denied=not attended, also=tuple(missing[1:]))
    # Only what is let pass has used anything: a step that another need holds back comes here again.
    for use in uses if not raised else ():
        session.record_soon(use)
    return None


def checked_arguments(
    step: Step[Any, Any], arguments: Mapping[str, Any], config: ExecutionConfig
) -> dict[str, Any] | None:
    """A tool's arguments in the form in which they were checked; None where that is how they stand."""
    declared = step.traits.permissions if step.kind == "tool" else ()
    if not declared:
        return None
    given = dict(arguments)
    made = canonical_arguments(
        declared, given, root=config.workspace, defaults=_argument_defaults(step), verbs=config.permissions.verbs
    )
    return made if made != given else None


def _argument_defaults(step: Step[Any, Any]) -> dict[str, Any]:
    """What the tool's schema says of arguments that a call may leave out."""
    properties = (step.traits.schema or {}).get("properties")
    if not isinstance(properties, Mapping):
        return {}
    described = {name: each for name, each in properties.items() if isinstance(each, Mapping)}
    return {name: each["default"] for name, each in described.items() if "default" in each}


def _covering_grant(
    session: RunSession, grants: Iterable[ev.GrantAdded], need: Need, agent: str, work: MatchBudget
) -> ev.GrantAdded | None:
    verbs = session.config.permissions.verbs
    for grant in grants:
        if covers(grant, need, agent=agent, run_id=session.state.id, ref=session.state.ref, verbs=verbs, work=work):
            return grant
    return None


def _wrote_arguments(session: RunSession, node_id: str, arguments: Mapping[str, Any]) -> bool:
    """Whether an operator wrote these very arguments, as the answer to a request for a permission of this step: then
    what they need is granted once. What configuration denies stays denied.
    """
    node = session.state.nodes.get(node_id)
    for incident_id in node.incidents if node is not None else ():
        incident: Incident = session.state.incidents[incident_id]
        answer = incident.answer
        if answer is not None and effect_of(answer.option) == "edit" and "permission" in incident.opened.action:
            written = answer.params.get("arguments")
            if isinstance(written, Mapping) and dict(written) == dict(arguments):
                return True
    return False


def _continued_nodes(node_id: str, step: Step[Any, Any], arguments: Mapping[str, Any]) -> list[str]:
    """The steps whose call this step continues. An operator who edits its arguments makes another call of it."""
    if not step.continues or dict(arguments) != (step.codec.editable(step.arguments) or {}).get("arguments"):
        return []
    parent = node_id.rpartition("/")[0]
    return [f"{parent}/{segment(step.name, place)}" for place in step.continues]


def _granted_once(session: RunSession, node_id: str) -> Iterable[str]:
    """What answers to this node's own incidents allowed once: exactly the need that was shown, for this node and those
    that continue its call.

    A standing grant is not part of this: it is looked up like any other, so that revoking it stops this node, too.
    """
    node = session.state.nodes.get(node_id)
    for incident_id in node.incidents if node is not None else ():
        incident: Incident = session.state.incidents[incident_id]
        answer = incident.answer
        if answer is not None and effect_of(answer.option) == "grant" and answer.params.get("for", "once") == "once":
            yield str(incident.opened.action.get("permission", ""))
