"""Opens incidents for loops and stalls while a run goes on or waits.

Equal calls in a row are counted by the framework itself, which faults at the agent (`LoopDetectedError`).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from orbiter.steps import Aborted, Skipped
from runtime.execution import incidents
from runtime.execution.failures import quarantine
from runtime.execution.incidents import STALL_RULE_ID, IncidentDraft
from runtime.execution.resolution import ending_reason
from runtime.execution.run_session import Activity, RunSession
from runtime.judgement.recovery.stall_detection import handoff_cycle, no_progress
from runtime.record.journal import JournalError
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Incident

log = logging.getLogger("runtime.faults")

HANDOFF_CIRCLE = "stall.handoff-cycle"
_RUN_RULES = (STALL_RULE_ID, quarantine.RULE_ID)
_POLL_S = 0.25


async def check_handoff_circle(life: RunSession, element: Activity, node_id: str) -> None:
    """Return when the agent of a node that has just opened may run: at once, unless agents hand on in a circle.

    Raises:
        Skipped: an operator lets it be skipped.
        Aborted: an operator ended this branch.
    """
    asked = [found for found in _incidents_at(life, node_id) if found.opened.fault.rule_id == HANDOFF_CIRCLE]
    if asked and asked[-1].answer is not None:
        return _apply_answer(life, asked[-1].answer)
    fault = handoff_cycle(_since_last_asked(life, node_id), life.config.handoff_rounds)
    if fault is None:
        return None
    if not life.config.enable_error_routing:
        # Soft: with nobody to ask it goes on, to the swarm's limit of handoffs.
        life.record_soon(ev.Warned(node_id=node_id, text=fault.user_message))
        return None
    log.warning("%s", fault.user_message)
    trouble = IncidentDraft(fault=fault, where="agent", message=fault.user_message, in_place=False)
    return _apply_answer(life, await incidents.await_answer(life, element, node_id, trouble))


def _since_last_asked(life: RunSession, node_id: str) -> list[str]:
    """Who worked in the handoff swarm of a node, oldest first, since somebody last let it go on."""
    state = life.state
    swarm = state.nodes.get(state.nodes[node_id].parent_id)
    if swarm is None or swarm.kind != "swarm" or swarm.info.get("mode") != "handoff":
        return []
    names: list[str] = []
    for child in swarm.children:
        if child != node_id and any(
            found.opened.fault.rule_id == HANDOFF_CIRCLE for found in _incidents_at(life, child)
        ):
            names.clear()
        names.append(state.nodes[child].name)
    return names


def _incidents_at(life: RunSession, node_id: str) -> list[Incident]:
    return [life.state.incidents[found] for found in life.state.nodes[node_id].incidents]


def _apply_answer(life: RunSession, answer: ev.IncidentAnswered) -> None:
    if answer.option in ("skip", "acknowledge"):
        raise Skipped(answer.params.get("value", ""))
    if answer.option == "abort":
        if answer.reach == "run":
            life.end("abort")
            raise asyncio.CancelledError
        raise Aborted(ending_reason(answer, life.state.incidents[answer.incident_id].opened))


def ended_at_run(state: DurableRun) -> bool:
    """Whether an incident of the run as a whole, for which no step waits, was answered with the end of the run, which
    was not turned back since.
    """
    if state.rewind is not None:
        return False
    turned = max((each.seq for each in state.rewound), default=0)
    answers = [each.answer for each in state.incidents.values() if each.opened.fault.rule_id in _RUN_RULES]
    return any(each is not None and each.option == "abort" and each.seq > turned for each in answers)


async def watch_progress(life: RunSession) -> None:
    """Tell somebody when a step has been at work for too long without a word. The step goes on meanwhile; when it says
    something again, the incident closes by itself.
    """
    after_s = life.config.stall_s
    if after_s is None or not life.config.enable_error_routing:
        return
    told = next((found for found in life.state.open_incidents if found.opened.fault.rule_id == STALL_RULE_ID), None)
    while True:
        await asyncio.sleep(min(_POLL_S, after_s / 4))
        if told is None:
            told = await _report_stall(life, after_s)
        elif told.answer is not None:
            if told.answer.option == "abort":
                life.end("abort")
                return
            life.touch()  # let it go on: the time begins anew
            told = None
        elif life.quiet_s() < after_s and life.progress != life.stall_reported_at:
            await _close_stall(life, told)
            told = None


async def _report_stall(life: RunSession, after_s: float) -> Incident | None:
    """Open the incident if nothing has happened for too long though a step is at work."""
    if life.state.active_since is None:
        return None
    now = life.clock().timestamp()
    fault = no_progress(now - life.quiet_s(), now, after_s)
    if fault is None:
        return None
    log.warning("run %s: %s", life.state.id, fault.user_message)
    busy = [life.state.nodes[node_id].name for node_id in life.state.busy]
    trouble = IncidentDraft(fault=fault, where="run", message=fault.user_message, action={"at_work": busy[:20]})
    opened = await incidents.open_incident(life, "", trouble)
    life.stall_reported_at = life.progress
    return life.state.incidents[opened.incident_id]


async def _close_stall(life: RunSession, told: Incident) -> None:
    closed = ev.IncidentClosed(incident_id=told.opened.incident_id, reason="it goes on again")
    with suppress(JournalError):  # answered at this very moment
        await life.journal.post(life.state.id, closed)
        life.state.apply(closed)
