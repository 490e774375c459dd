"""Carries out one step: replay, PRE hooks, attempts, record, and an incident for what is left.

The layers are called in DESIGN's order (section 2) and know nothing of one another. Everything that is counted
(attempts, rounds) is read from the fold, so that a step goes on in a later life where an earlier one stopped.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from runtime.execution import incidents
from runtime.execution.attempt import run_attempt
from runtime.execution.failures.crash_loop import has_ended_process
from runtime.execution.failures.in_doubt import in_doubt_incident
from runtime.execution.failures.incident_drafts import replay_difference_fault
from runtime.execution.failures.remedies import fallback_in_use, repeat_compaction
from runtime.execution.failures.reroute import reroute_error
from runtime.execution.incidents import IncidentDraft
from runtime.execution.replay import replay_difference
from runtime.execution.resolution import (
    apply_answer,
    apply_changes,
    changes_from_answers,
    last_answer,
    raise_if_agent_ends,
    skip_question,
    unused_answer,
)
from runtime.execution.run_session import overdue_delay
from runtime.execution.step_context import Completed, StepContext
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Node


async def run_step(c: StepContext) -> Any:
    """The step's result: recalled, or carried out now. Waits for as long as a person is needed.

    Raises:
        Skipped: an operator let the agent be skipped.
        Aborted: an operator ended this branch.
        Exception: a value step's own error, which is its node's to deal with.
    """
    if c.node is not None and c.node.returned is not None and c.node.result is None:
        raise reroute_error(c.node.returned)
    while c.node is not None and (c.node.recorded or c.node.hooks_due):
        changed = replay_difference(c.node, c.step, c.requested)
        if changed:  # a secret that was given since is masked now, and was not when this was recorded
            changed = replay_difference(c.node, c.step, c.step.codec.describe(c.step.arguments)) and changed
        if not changed:
            return await _replay(c, c.node)
        apply_changes(
            c, await incidents.await_answer(c.session, c.activity, c.node_id, replay_difference_fault(changed)), {}
        )
    changes = changes_from_answers(c)
    fallback_in_use(c, changes)
    taken = await apply_answer(c, answer, changes) if (answer := unused_answer(c)) is not None else None
    if isinstance(taken, Completed):
        return taken.result
    await _run_pre_hooks(c)
    repeat_compaction(c, changes)
    await _wait_for_scheduled_retry(c)
    return await _run_attempts(c, changes, taken or in_doubt_incident(c) or has_ended_process(c))


async def _replay(c: StepContext, node: Node) -> Any:
    if node.edits:
        c.step.codec.replace(c.step.arguments, node.edits)
    if "messages" in node.effective:
        # These stand in the agent's own list: its later questions must begin with them in this life, too.
        c.step.codec.replace(c.step.arguments, {"messages": node.effective["messages"]})
    if (answer := last_answer(c)) is not None and node.by is not None:
        raise_if_agent_ends(c, answer)
        if node.phase == "skipped" and "value" not in answer.params:
            skip_question(c)
    result = c.step.codec.load(node.result)
    if node.hooks_due:
        if c.step.after is not None:
            await c.step.after(c.step.arguments, result)
        await c.session.record(ev.StepSettled(node_id=c.node_id, parent_id=c.parent_id))
    return result


async def _run_pre_hooks(c: StepContext) -> None:
    """PRE hooks; what they change in place is recorded, so that a later life works on the same."""
    node = c.node
    if node is not None and node.edits:
        c.step.codec.replace(c.step.arguments, node.edits)
        return
    if c.step.before is None:
        return
    untouched = c.step.codec.editable(c.step.arguments)
    await c.step.before(c.step.arguments)
    edited = c.step.codec.editable(c.step.arguments)
    if edited is not None and edited != untouched:
        c.record_node()
        c.session.record_soon(ev.StepEdited(node_id=c.node_id, parent_id=c.parent_id, changes=edited))


async def _wait_for_scheduled_retry(c: StepContext) -> None:
    """A retry that an earlier life scheduled is still due when it was due; those that are overdue because nobody was
    alive start spread out.
    """
    retry = c.node.retry if c.node is not None else None
    if retry is None:
        return
    missed = c.session.alive_since_missed(retry.until)
    length = timedelta(seconds=retry.delay_s)
    until = retry.until if missed is None else missed + overdue_delay(f"{c.session.state.id}/{c.node_id}", length)
    await c.session.wait_until(until, c.activity, at_most=retry.delay_s)


async def _run_attempts(c: StepContext, changes: dict[str, Any], trouble: IncidentDraft | None) -> Any:
    """Try until there is a result: an incident between two rounds of attempts, an answer between two incidents. With
    `trouble` it begins with an incident.
    """
    while True:
        outcome = trouble or await run_attempt(c, changes)
        trouble = None
        if isinstance(outcome, Completed):
            return outcome.result
        if outcome is None:
            continue
        c.record_node()
        answer = await incidents.await_answer(c.session, c.activity, c.node_id, outcome)
        taken = await apply_answer(c, answer, changes)
        if isinstance(taken, Completed):
            return taken.result
        trouble = taken
