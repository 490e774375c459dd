"""Carries out one step: replay, PRE hooks, attempts, record, and an incident for what is left.

The layers are called in DESIGN's order (section 2) and know nothing of one another.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from orbiter.errors import HookError
from runtime.execution.attempt import run_attempt
from runtime.execution.deadlines import missed_since, overdue_delay
from runtime.execution.failures.cancelled_call import cancelled_fault
from runtime.execution.failures.in_doubt import doubt_reason, draft_in_doubt
from runtime.execution.failures.incident_drafts import draft_ended_process, draft_replay_difference
from runtime.execution.failures.remedies import compact_again
from runtime.execution.failures.reroute import reroute_error
from runtime.execution.gates.blocked import Blocked
from runtime.execution.incidents import IncidentDraft
from runtime.execution.replay import replay_difference
from runtime.execution.resolution import apply_answer, decline_question, end_agent, end_run_if_asked, ends_agent
from runtime.execution.step_execution import StepExecution
from runtime.execution.step_overrides import recorded_overrides
from runtime.execution.step_result import Completed
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Node
from runtime.record.state.nodes import MAX_DEATHS


async def run_step(execution: StepExecution) -> Any:
    """The step's result: recalled, or carried out now. Waits for as long as a person is needed.

    Raises:
        Skipped: an operator let the agent be skipped.
        Aborted: an operator ended this branch.
        Exception: a value step's own error, which is its node's to deal with.
    """
    step, node = execution.step, execution.node
    if node is not None and node.returned is not None and node.result is None:
        raise reroute_error(node.returned)
    while node is not None and (node.recorded or node.hooks_due):
        changed = replay_difference(node, step, execution.requested)
        if changed:  # a secret that was given since is masked now, and was not when this was recorded
            changed = replay_difference(node, step, step.codec.describe(step.arguments)) and changed
        if not changed:
            return await _replay(execution, node)
        answer = await execution.await_answer(draft_replay_difference(changed))
        end_run_if_asked(execution.session, answer, execution.state.incidents[answer.incident_id].opened)
        node = execution.node
    state = execution.state
    if node is not None or state.incidents or state.changes:
        execution.overrides = recorded_overrides(state, step.kind, execution.node_id, execution.parent_id)
    if node is not None:
        return await _resume(execution)
    if step.before is not None:  # most steps have no hooks, and save a coroutine
        await _run_pre_hooks(execution)
    return await _run_attempts(execution, None)


async def _resume(execution: StepExecution) -> Any:
    """Go on with a step of which something is recorded, but no result: an answer that came meanwhile holds, and what an
    earlier life waited or asked for is waited and asked for again.
    """
    answered = _unused_answer(execution)
    outcome = await apply_answer(execution, answered) if answered is not None else None
    if isinstance(outcome, Completed):
        return outcome.result
    await _run_pre_hooks(execution)
    if (node := execution.node) is not None and node.compactions and execution.overrides.messages is None:
        execution.overrides.messages = compact_again(execution.step, node.compactions)
    await _wait_for_scheduled_retry(execution)
    return await _run_attempts(execution, outcome or _first_incident(execution))


async def _replay(execution: StepExecution, node: Node) -> Any:
    """The recorded result, with what an operator made of it; POST hooks that an earlier life did not run are run."""
    step, answer = execution.step, execution.last_answer
    if node.edits:
        step.codec.replace(step.arguments, node.edits)
    if "messages" in node.effective:
        # These stand in the agent's own list: its later questions must begin with them in this life, too.
        step.codec.replace(step.arguments, {"messages": node.effective["messages"]})
    if answer is not None and node.by is not None:
        if ends_agent(step.kind, answer):
            end_agent(answer, execution.state.incidents[answer.incident_id].opened)
        if step.kind == "value" and node.phase == "skipped" and "value" not in answer.params:
            decline_question(execution.requested)
    result = step.codec.load(node.result)
    if node.hooks_due:
        if step.after is not None:
            await step.after(step.arguments, result)
        await execution.session.record(ev.StepSettled(node_id=execution.node_id, parent_id=execution.parent_id))
    return result


def _unused_answer(execution: StepExecution) -> ev.IncidentAnswered | None:
    """An answer that came while no process carried this step: no attempt has begun since."""
    node = execution.node
    if node is None or not node.incidents or node.round:
        return None
    return execution.state.incidents[node.incidents[-1]].answer


async def _run_pre_hooks(execution: StepExecution) -> None:
    """PRE hooks; what they change in place is recorded, so that a later life works on the same.

    Raises:
        HookError: What they left cannot be recorded.
    """
    step, node = execution.step, execution.node
    if node is not None and node.edits:
        step.codec.replace(step.arguments, node.edits)
        return
    if step.before is None:
        return
    untouched = step.codec.editable(step.arguments)
    await step.before(step.arguments)
    try:
        edited = step.codec.editable(step.arguments)
        if edited is None or edited == untouched:
            return
        edit = ev.StepEdited(node_id=execution.node_id, parent_id=execution.parent_id, changes=edited)
        ev.check_line(edit, ev.dump_event(edit))
    except (TypeError, ValueError, RecursionError, ev.InvalidEvent) as exc:
        raise HookError(
            f"A PRE hook of agent '{step.agent}' left in a call of {step.name} what JSON cannot say: {exc}",
            hint="Put texts, numbers, lists and dicts of them there.",
        ) from exc
    execution.record_node()
    execution.session.record_soon(edit)


async def _wait_for_scheduled_retry(execution: StepExecution) -> None:
    """A retry that an earlier life scheduled is still due when it was due; those that are overdue, for no process was
    alive start spread out.
    """
    retry = execution.node.retry if execution.node is not None else None
    if retry is None:
        return
    session = execution.session
    missed = missed_since(retry.until, session.state, session.config, session.clock())
    length = timedelta(seconds=retry.delay_s)
    until = retry.until if missed is None else missed + overdue_delay(f"{session.state.id}/{execution.node_id}", length)
    await session.wait_until(until, execution.activity, at_most=retry.delay_s)


def _first_incident(execution: StepExecution) -> IncidentDraft | None:
    """What to ask before the first attempt of this life: an incident that is open, an effect that is not known, or a
    step that ended its process.
    """
    step, node, state = execution.step, execution.node, execution.state
    if node is None:
        return None
    if node.incidents and (last := state.incidents[node.incidents[-1]]).open:
        return IncidentDraft(fault=last.opened.fault, where=step.kind, message="")
    if node.cancel is not None and node.round and node.in_flight is not None:
        # The word that cancels it came, and in the earlier life it did not come to that.
        fault = cancelled_fault(step, node.cancel, effect_unknown=not execution.repeatable)
        return execution.draft(Blocked(fault, by_policy=True))
    if not execution.repeatable and (reason := doubt_reason(node, state, execution.session.lease)):
        return draft_in_doubt(step, reason, execution.action)
    if node.deaths >= MAX_DEATHS:
        return draft_ended_process(step, node.deaths, execution.action)
    return None


async def _run_attempts(execution: StepExecution, draft: IncidentDraft | None) -> Any:
    """Try until there is a result: an incident between two rounds of attempts, an answer between two incidents. With
    `draft` it begins with an incident.
    """
    while True:
        outcome = draft or await run_attempt(execution)
        draft = None
        if isinstance(outcome, Completed):
            return outcome.result
        if outcome is None:
            continue
        execution.record_node()
        answering = execution.await_answer(outcome)
        outcome = None  # who waits for a person keeps nothing of the failure, which has frames and their variables
        taken = await apply_answer(execution, await answering)
        if isinstance(taken, Completed):
            return taken.result
        draft = taken
