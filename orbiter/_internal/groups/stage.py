"""Parallel members: what parallel groups and the parallel stages of a flow share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from orbiter._internal.concurrency import cancel_and_wait
from orbiter._internal.groups.members import MemberContext, RunTotals, conversation, run_member
from orbiter._internal.loop.value_step import record_value
from orbiter.errors import ExecutionError
from orbiter.policy import JoinPolicy
from orbiter.steps import DIRECT, Place
from orbiter.types import Message, RunResult


@dataclass(slots=True)
class StageResult:
    """What came of members side by side, by name in the order of declaration; `failed` has the errors themselves."""

    results: dict[str, RunResult] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)
    degraded: bool = False


async def run_stage(
    members: Sequence[Any],
    input: str,
    places: Sequence[Place],
    context: MemberContext,
    *,
    join: JoinPolicy,
    collected: StageResult | None = None,
) -> StageResult:
    """Run the members at the same time, each on the same input, until the join policy is met.

    `collected` is filled in and returned; a caller that brings it can see what was finished when this raises.

    Raises:
        JoinError: The policy is violated; under ``all_required`` the failed member's own error is raised.
    """
    joined = collected if collected is not None else StageResult()
    racing = join.kind in ("first_success", "quorum")
    order = [member.name for member in members]
    scope = context.scope
    known = scope.recorded("verdict", _verdict_place(places)) if racing else None
    if isinstance(known, dict):
        # Decided in an earlier life of the run. Who lost then, and might be faster now, is not begun again.
        joined.failed.update({name: ExecutionError(text) for name, text in known["failed"].items()})
        members, places = _required_members(members, places, known["succeeded"])
    tasks = {
        asyncio.create_task(run_member(member, input, place, context)): member.name
        for member, place in zip(members, places, strict=True)
    }
    done: dict[str, RunResult] = {}
    pending = set(tasks)
    try:
        while pending:
            finished, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(finished, key=lambda each: order.index(tasks[each])):
                _settle(task, tasks[task], done, joined.failed)
            verdict = join.verdict(order, done.keys(), joined.failed.keys())
            if verdict == "violated" or (verdict == "met" and racing and known is None):
                break
    finally:
        await cancel_and_wait(list(tasks))
    joined.results = {name: done[name] for name in order if name in done}
    verdict = join.verdict(order, done.keys(), joined.failed.keys())
    if verdict == "violated":
        _raise_violation(join, order, joined)
    if racing and scope is not DIRECT:
        failed = {name: str(error) for name, error in joined.failed.items()}
        if known is None:
            for name, text in failed.items():
                scope.warn(f"'{name}' failed: {text}")  # the group ends as if all had succeeded
        arguments = {"_succeeded": list(joined.results), "_failed": failed}
        await record_value(scope, "verdict", _verdict_place(places), _verdict, arguments)
    joined.degraded = verdict == "degraded"
    return joined


async def _verdict(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"succeeded": arguments["_succeeded"], "failed": arguments["_failed"]}


def _verdict_place(places: Sequence[Place]) -> Place:
    """Where the verdict stands: later than the members, so that a rewind to one of them drops it."""
    return Place(places[0].seq + 1)


def _required_members(
    members: Sequence[Any], places: Sequence[Place], names: Sequence[str]
) -> tuple[Sequence[Any], Sequence[Place]]:
    kept = [(member, place) for member, place in zip(members, places, strict=True) if member.name in names]
    return [member for member, _ in kept], [place for _, place in kept]


def _settle(task: asyncio.Task[RunResult], name: str, done: dict[str, RunResult], failed: dict[str, Exception]) -> None:
    error = task.exception()
    if error is None:
        done[name] = task.result()
    elif isinstance(error, Exception):
        failed[name] = error
    else:
        raise error


def _raise_violation(join: JoinPolicy, order: list[str], joined: StageResult) -> None:
    failed = {name: joined.failed[name] for name in order if name in joined.failed}
    first = next(iter(failed.values()))
    if join.kind == "all_required":
        for name, other in failed.items():
            if other is not first:
                first.add_note(f"At the same time '{name}' failed: {other}")
        raise first
    texts = {name: str(error) for name, error in failed.items()}
    raise join.violation("Parallel members", joined.results, texts) from first


def merge_stage(name: str, output: str, joined: StageResult) -> RunResult:
    """Several results as one: the given output, the members' conversations in turn, sums of usage and steps."""
    totals = RunTotals()
    messages: list[Message] = []
    for member, result in joined.results.items():
        totals.add(member, result)
        messages.extend(conversation(result))
    degraded = joined.degraded or totals.degraded
    return RunResult(
        output=output,
        messages=messages,
        usage=totals.usage,
        steps=totals.steps,
        agent=name,
        stop_reason="stop",
        state="degraded" if degraded else "completed",
        warnings=[*totals.warnings, *(f"'{member}' failed: {error}" for member, error in joined.failed.items())],
        outputs=totals.outputs,
    )
