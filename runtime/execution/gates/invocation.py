"""The gate for invoking an agent, where the configuration asks about it (`agent.invoke:NAME`).

An agent invokes another through a delegate tool or by handing over. What a swarm's flow says needs no leave.
"""

from __future__ import annotations

import asyncio

from orbiter.steps import Aborted, Skipped
from runtime.execution import incidents
from runtime.execution.failures.incident_drafts import permission_fault
from runtime.execution.gates.permission import PermissionNeeded, first_uncovered
from runtime.execution.incidents import IncidentDraft
from runtime.execution.run_session import Activity, RunSession
from runtime.judgement.permissions.permission import Need
from runtime.judgement.permissions.policy import INVOKE_VERB
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.rewind import place_of


class InvocationDenied(Aborted):
    """One agent may not invoke another: decided already, so nobody is asked again. The text is for who wanted it."""


async def permit_invocation(life: RunSession, element: Activity, node_id: str) -> None:
    """Return when the agent of a node that has just opened may run.

    Raises:
        InvocationDenied: the configuration or an operator said no.
        Skipped: an operator lets it be skipped.
    """
    invoker = invoker_of(life.state, node_id)
    if not invoker:
        return
    need = Need(INVOKE_VERB, life.state.nodes[node_id].name)
    while (stopped := await first_uncovered(life, node_id, invoker, (need,))) is not None:
        if stopped.denied:
            raise InvocationDenied(f"Denied by the configuration: agent '{invoker}' may not invoke '{need.object}'")
        answer = _last_answer(life, node_id)
        if answer is None or answer.option == "grant":
            # A grant that was given and does not cover it any more has been taken back: it is asked about anew.
            answer = await _ask_operator(life, element, node_id, invoker, need)
        if answer.option == "grant":
            continue
        said = str(answer.params.get("message") or answer.reason)
        if answer.option == "skip":
            raise Skipped(answer.params.get("value", ""))
        if answer.option == "abort" and answer.reach == "run":
            life.end("abort")
            raise asyncio.CancelledError
        words = f": {said}" if said else ""
        raise InvocationDenied(f"Denied by the operator: '{need.object}' may not be invoked{words}")


def invoker_of(state: DurableRun, node_id: str) -> str:
    """The agent that invoked the one at this node; empty where the swarm's own flow did."""
    lineage = state.lineage(node_id)
    if len(lineage) < 2:
        return ""
    parent, node = lineage[-2], lineage[-1]
    if parent.kind == "tool":
        return next((each.name for each in reversed(lineage[:-1]) if each.kind == "agent"), "")
    if parent.kind == "swarm" and parent.info.get("mode") == "handoff":
        before = [each for each in parent.children if place_of(each)[0] == place_of(node.id)[0] - 1]
        return state.nodes[before[-1]].name if before else ""
    return ""


async def _ask_operator(
    life: RunSession, element: Activity, node_id: str, invoker: str, need: Need
) -> ev.IncidentAnswered:
    error = PermissionNeeded(need, invoker)
    fault = permission_fault(error)
    action = {"agent": invoker, "invokes": need.object, "permission": str(need)}
    trouble = IncidentDraft(fault=fault, where="agent", message=str(error), error=error, action=action, need=str(need))
    return await incidents.await_answer(life, element, node_id, trouble)


def _last_answer(life: RunSession, node_id: str) -> ev.IncidentAnswered | None:
    """The latest answer about this node's being invoked, if the last question has one."""
    for incident_id in reversed(life.state.nodes[node_id].incidents):
        incident = life.state.incidents[incident_id]
        if incident.opened.action.get("invokes"):
            return incident.answer
    return None
