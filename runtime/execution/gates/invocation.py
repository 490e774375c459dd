"""The gate for invoking an agent, where the configuration asks about it (`agent.invoke:NAME`).

An agent invokes another through a delegate tool or by handing over. What a swarm's flow says needs no leave.
"""

from __future__ import annotations

import asyncio

from orbiter.errors import AgentPermissionError
from orbiter.steps import Aborted, Skipped
from runtime.execution import incidents
from runtime.execution.gates.permission import PermissionNeeded, first_uncovered, permission_fault
from runtime.execution.incidents import IncidentDraft
from runtime.execution.run_session import RunSession
from runtime.execution.wait_tracker import Activity
from runtime.judgement.permissions.permission import Need
from runtime.judgement.permissions.policy import INVOKE_VERB
from runtime.judgement.recovery.option_table import effect_of
from runtime.judgement.recovery.options import ends_run
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.rewind import place_of


class InvocationDenied(Aborted, AgentPermissionError):
    """One agent may not invoke another: decided already, so no operator is asked again. The text is for the invoking
    agent.
    """


async def permit_invocation(session: RunSession, activity: Activity, node_id: str) -> None:
    """Return when the agent of a node that has just opened may run.

    Raises:
        InvocationDenied: the configuration or an operator said no.
        Skipped: an operator lets it be skipped.
    """
    invoker = invoker_of(session.state, node_id)
    if not invoker:
        return
    need = Need(INVOKE_VERB, session.state.nodes[node_id].name)
    while (stopped := await first_uncovered(session, node_id, invoker, (need,))) is not None:
        if stopped.denied:
            raise InvocationDenied(
                f"Denied by the configuration: agent '{invoker}' may not invoke '{need.object}'",
                target_agent=need.object,
            )
        answer = _last_answer(session, node_id)
        if answer is None or effect_of(answer.option) == "grant":
            # A grant that was given and does not cover it any more has been taken back: it is asked about again.
            answer = await _ask_operator(session, activity, node_id, invoker, need)
        effect = effect_of(answer.option)
        if effect == "grant":
            continue
        said = str(answer.params.get("message") or answer.reason)
        if effect == "skip":
            raise Skipped(answer.params.get("value", ""))
        if ends_run(answer):
            session.end("abort")
            raise asyncio.CancelledError
        words = f": {said}" if said else ""
        raise InvocationDenied(
            f"Denied by the operator: '{need.object}' may not be invoked{words}", target_agent=need.object
        )


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
    session: RunSession, activity: Activity, node_id: str, invoker: str, need: Need
) -> ev.IncidentAnswered:
    error = PermissionNeeded(need, invoker)
    fault = permission_fault(error)
    action = {"agent": invoker, "invokes": need.object, "permission": str(need)}
    draft = IncidentDraft(fault=fault, where="agent", message=str(error), error=error, action=action, need=str(need))
    return await incidents.await_answer(session, activity, node_id, draft)


def _last_answer(session: RunSession, node_id: str) -> ev.IncidentAnswered | None:
    """The latest answer about this node's being invoked, if the last question has one."""
    for incident_id in reversed(session.state.nodes[node_id].incidents):
        incident = session.state.incidents[incident_id]
        if incident.opened.action.get("invokes"):
            return incident.answer
    return None
