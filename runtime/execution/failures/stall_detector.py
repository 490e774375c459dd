"""Opens incidents for loops and stalls while a run goes on or waits.

Equal calls in a row are counted by the framework itself, which faults at the agent (`LoopDetectedError`).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import assert_never

from orbiter.steps import Aborted, Skipped
from runtime.execution import incidents
from runtime.execution.failures import quarantine
from runtime.execution.failures.errors_in_force import may_ask_operator
from runtime.execution.incidents import STALL_RULE_ID, IncidentDraft
from runtime.execution.resolution import ending_reason
from runtime.execution.run_session import RunSession
from runtime.execution.wait_tracker import Activity
from runtime.judgement.recovery.option_table import effect_of
from runtime.judgement.recovery.stall_detection import handoff_cycle, no_progress
from runtime.record.journal import JournalError
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Incident

log = logging.getLogger("runtime.faults")

HANDOFF_CIRCLE = "stall.handoff-cycle"
_RUN_RULES = (STALL_RULE_ID, quarantine.RULE_ID)
_POLL_S = 0.25


async def check_handoff_circle(session: RunSession, activity: Activity, node_id: str) -> None:
    """Return when the agent of a node that has just opened may run: at once, unless agents hand on in a circle.

    Raises:
        Skipped: an operator lets it be skipped.
        Aborted: an operator ended this branch.
    """
    asked = [found for found in _incidents_at(session, node_id) if found.opened.fault.rule_id == HANDOFF_CIRCLE]
    if asked and asked[-1].answer is not None:
        return let_go_on(session, asked[-1].answer)
    fault = handoff_cycle(_since_last_asked(session, node_id), session.config.handoff_rounds)
    if fault is None:
        return None
    if not may_ask_operator(session, node_id):
        # Soft: without an operator to ask it goes on, to the swarm's limit of handoffs.
        session.record_soon(ev.Warned(node_id=node_id, text=fault.user_message))
        return None
    log.warning("%s", fault.user_message)
    draft = IncidentDraft(fault=fault, where="agent", message=fault.user_message, in_place=False)
    return let_go_on(session, await incidents.await_answer(session, activity, node_id, draft))


def _since_last_asked(session: RunSession, node_id: str) -> list[str]:
    """Who worked in the handoff swarm of a node, oldest first, since an operator last let it go on."""
    state = session.state
    swarm = state.nodes.get(state.nodes[node_id].parent_id)
    if swarm is None or swarm.kind != "swarm" or swarm.info.get("mode") != "handoff":
        return []
    names: list[str] = []
    for child in swarm.children:
        if child != node_id and any(
            found.opened.fault.rule_id == HANDOFF_CIRCLE for found in _incidents_at(session, child)
        ):
            names.clear()
        names.append(state.nodes[child].name)
    return names


def _incidents_at(session: RunSession, node_id: str) -> list[Incident]:
    return [session.state.incidents[found] for found in session.state.nodes[node_id].incidents]


def let_go_on(session: RunSession, answer: ev.IncidentAnswered) -> None:
    """Return if the agents of a circle may go on, by what was answered.

    Raises:
        Skipped: an operator lets the agent be skipped.
        Aborted: this branch ends.
        CancelledError: the run ends.
    """
    match effect_of(answer.option):
        case "skip" | "acknowledge":
            raise Skipped(answer.params.get("value", ""))
        case "abort":
            if answer.reach == "run":
                session.end("abort")
                raise asyncio.CancelledError
            raise Aborted(ending_reason(answer, session.state.incidents[answer.incident_id].opened))
        case "retry" | "wait_retry" | "switch_model" | "edit" | "input" | "grant":
            pass  # the agent goes on
        case "deny" | "result" | "accept" | "extend" | "reset" | None:
            pass  # not offered here, or a newer program's word: it goes on as well
        case new:
            assert_never(new)


def ended_at_run(state: DurableRun) -> bool:
    """Whether an incident of the run as a whole, for which no step waits, was answered with the end of the run, which
    was not turned back since.
    """
    if state.rewind is not None:
        return False
    turned = max((each.seq for each in state.rewound), default=0)
    answers = [each.answer for each in state.incidents.values() if each.opened.fault.rule_id in _RUN_RULES]
    return any(each is not None and effect_of(each.option) == "abort" and each.seq > turned for each in answers)


async def watch_progress(session: RunSession, after_s: float) -> None:
    """Tell an operator when a step has been at work for `after_s` seconds without a word. The step goes on meanwhile;
    when it says something again, the incident closes by itself.
    """
    if not may_ask_operator(session, ""):
        return
    told = next((found for found in session.state.open_incidents if found.opened.fault.rule_id == STALL_RULE_ID), None)
    while True:
        await asyncio.sleep(min(_POLL_S, after_s / 4))
        if told is None:
            told = await _report_stall(session, after_s)
        elif told.answer is not None:
            if effect_of(told.answer.option) == "abort":
                session.end("abort")
                return
            session.touch()  # let it go on: the time begins again
            told = None
        elif session.quiet_s() < after_s and session.progress != session.stall_reported_at:
            await _close_stall(session, told)
            told = None


async def _report_stall(session: RunSession, after_s: float) -> Incident | None:
    """Open the incident if nothing has happened for too long though a step is at work."""
    if session.state.active_since is None:
        return None
    now = session.clock().timestamp()
    fault = no_progress(now - session.quiet_s(), now, after_s)
    if fault is None:
        return None
    log.warning("run %s: %s", session.state.id, fault.user_message)
    busy = [session.state.nodes[node_id].name for node_id in session.state.busy]
    draft = IncidentDraft(fault=fault, where="run", message=fault.user_message, action={"at_work": busy[:20]})
    opened = await incidents.open_incident(session, "", draft)
    session.stall_reported_at = session.progress
    return session.state.incidents[opened.incident_id]


async def _close_stall(session: RunSession, told: Incident) -> None:
    closed = ev.IncidentClosed(incident_id=told.opened.incident_id, reason="it goes on again")
    with suppress(JournalError):  # answered at this very moment
        await session.journal.post(session.state.id, closed)
        session.state.apply(closed)
