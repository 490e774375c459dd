"""Carrying one step out: recall, PRE hooks, attempts, record; parking what is left over.

The layers are called in DESIGN's order (section 2) and know nothing of one another. Everything that is counted
(attempts, rounds) is read from the fold, so that a step goes on in a later life where an earlier one stopped.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from runtime.execution import incidents
from runtime.execution.attempt import attempt_once
from runtime.execution.failures.crash_loop import ended_its_process
from runtime.execution.failures.in_doubt import doubt
from runtime.execution.failures.incident_drafts import differs
from runtime.execution.failures.remedies import made_smaller, stood_in
from runtime.execution.failures.reroute import error_of
from runtime.execution.incidents import Trouble
from runtime.execution.replay import difference
from runtime.execution.resolution import (
    changes_so_far,
    last_answer,
    nobody_answered,
    raise_if_final,
    take,
    take_up,
    unused_answer,
)
from runtime.execution.run_session import spread
from runtime.execution.step_context import Carried, Given
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Node


async def carry(c: Carried) -> Any:
    """The step's result: recalled, or carried out now. Waits for as long as a person is needed.

    Raises:
        Skipped: an operator let the agent be skipped.
        Aborted: an operator ended this branch.
        Exception: a value step's own error, which is its node's to deal with.
    """
    if c.node is not None and c.node.returned is not None and c.node.result is None:
        raise error_of(c.node.returned)
    while c.node is not None and (c.node.recorded or c.node.hooks_due):
        changed = difference(c.node, c.step, c.requested)
        if changed:  # a secret that was given since is masked now, and was not when this was recorded
            changed = difference(c.node, c.step, c.step.codec.describe(c.step.arguments)) and changed
        if not changed:
            return await _recalled(c, c.node)
        take_up(c, await incidents.park(c.life, c.element, c.node_id, differs(changed)), {})
    changes = changes_so_far(c)
    stood_in(c, changes)
    taken = await take(c, answer, changes) if (answer := unused_answer(c)) is not None else None
    if isinstance(taken, Given):
        return taken.result
    await _before(c)
    made_smaller(c, changes)
    await _rest_of_wait(c)
    return await _attempts(c, changes, taken or doubt(c) or ended_its_process(c))


async def _recalled(c: Carried, node: Node) -> Any:
    if node.edits:
        c.step.codec.replace(c.step.arguments, node.edits)
    if "messages" in node.effective:
        # These stand in the agent's own list: its later questions must begin with them in this life, too.
        c.step.codec.replace(c.step.arguments, {"messages": node.effective["messages"]})
    if (answer := last_answer(c)) is not None and node.by is not None:
        raise_if_final(c, answer)
        if node.phase == "skipped" and "value" not in answer.params:
            nobody_answered(c)
    result = c.step.codec.load(node.result)
    if node.hooks_due:
        if c.step.after is not None:
            await c.step.after(c.step.arguments, result)
        await c.life.record(ev.StepSettled(node_id=c.node_id, parent_id=c.parent_id))
    return result


async def _before(c: Carried) -> None:
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
        c.make_known()
        c.life.note(ev.StepEdited(node_id=c.node_id, parent_id=c.parent_id, changes=edited))


async def _rest_of_wait(c: Carried) -> None:
    """A retry that an earlier life scheduled is still due when it was due; those that are overdue because nobody was
    alive start spread out.
    """
    retry = c.node.retry if c.node is not None else None
    if retry is None:
        return
    missed = c.life.missed(retry.until)
    length = timedelta(seconds=retry.delay_s)
    until = retry.until if missed is None else missed + spread(f"{c.life.state.id}/{c.node_id}", length)
    await c.life.until(until, c.element, at_most=retry.delay_s)


async def _attempts(c: Carried, changes: dict[str, Any], trouble: Trouble | None) -> Any:
    """Try until there is a result: an incident between two rounds of attempts, an answer between two incidents. With
    `trouble` it begins with an incident.
    """
    while True:
        outcome = trouble or await attempt_once(c, changes)
        trouble = None
        if isinstance(outcome, Given):
            return outcome.result
        if outcome is None:
            continue
        c.make_known()
        answer = await incidents.park(c.life, c.element, c.node_id, outcome)
        taken = await take(c, answer, changes)
        if isinstance(taken, Given):
            return taken.result
        trouble = taken
