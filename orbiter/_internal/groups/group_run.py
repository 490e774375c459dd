"""The members of a group: side by side, or one after another."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any

from orbiter._internal.agent_group import MemberOutput, ParallelGroup, SerialGroup
from orbiter._internal.error_causes import join_with_cause
from orbiter._internal.groups.members import MemberContext, run_member
from orbiter._internal.groups.partial_results import attach_partial_result
from orbiter._internal.groups.stage import StageResult, merge_stage, run_stage
from orbiter._internal.loop.value_step import record_value
from orbiter.errors import GroupError, JoinError, cause_of, text_of
from orbiter.steps import Place, Scope
from orbiter.types import RunResult


async def run_parallel_group(group: ParallelGroup, input: str, context: MemberContext) -> RunResult:
    """Run the members at the same time, each on `input`, and put their outputs together.

    Raises:
        JoinError: The group's join policy is violated.
        GroupError: A member failed.
    """
    members = list(group.agents.values())
    places = [Place(0, index) for index in range(len(members))]
    collected = StageResult()
    try:
        await run_stage(members, input, places, context, join=group.join, collected=collected)
    except JoinError as exc:
        _attach_partial(group, exc, collected)
        raise join_with_cause(JoinError, f"ParallelGroup '{group.name}' failed: {exc}", exc) from exc
    except Exception as exc:
        _attach_partial(group, exc, collected)
        text = f"ParallelGroup '{group.name}' failed: {_named_failure(exc)}"
        raise join_with_cause(GroupError, text, exc) from exc
    try:
        output = await _aggregate(group, context.scope, collected)
    except Exception as exc:
        _attach_partial(group, exc, collected)
        raise
    return merge_stage(group.name, output, collected)


def _attach_partial(group: ParallelGroup, exc: Exception, collected: StageResult) -> None:
    if collected.results:
        output = group.separator.join(result.output for result in collected.results.values())
        attach_partial_result(exc, merge_stage(group.name, output, collected))


async def _aggregate(group: ParallelGroup, scope: Scope, collected: StageResult) -> str:
    if group.aggregate_fn is None:
        return group.separator.join(result.output for result in collected.results.values())
    outputs = [MemberOutput(name, result) for name, result in collected.results.items()]
    recorded = {"outputs": {output.name: str(output) for output in outputs}}
    arguments = {**recorded, "_fn": group.aggregate_fn, "_outputs": outputs}
    return str(await record_value(scope, "aggregate", Place(1), _call_aggregate, arguments))


async def _call_aggregate(arguments: dict[str, Any]) -> str:
    value = arguments["_fn"](arguments["_outputs"])
    if isawaitable(value):
        value = await value
    return str(value)


async def run_serial_group(group: SerialGroup, input: str, context: MemberContext) -> RunResult:
    """Run the members one after another, each on the output of the one before.

    Raises:
        GroupError: A member failed.
    """
    text = input
    collected = StageResult()
    for index, (name, member) in enumerate(group.agents.items()):
        try:
            result = await run_member(member, text, Place(index), context)
        except Exception as exc:
            if collected.results:
                attach_partial_result(exc, merge_stage(group.name, text, collected))
            why = f"SerialGroup '{group.name}' failed: {_named_failure(exc)}"
            raise join_with_cause(GroupError, why, exc) from exc
        collected.results[name] = result
        text = result.output
    return merge_stage(group.name, text, collected)


def _named_failure(exc: Exception) -> str:
    """The failure in the words that name the agent; a call runner's frame adds nothing to them."""
    cause = cause_of(exc)
    text, inner = text_of(exc), "" if cause is None else text_of(cause)
    return inner if text.startswith("Call runner failed") and "Agent '" in inner else text
