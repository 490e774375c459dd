"""Handlers of the requests about workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from runtime.operations.context import Handler, OperationContext, Origin
from runtime.operations.requests import workers as asked
from runtime.operations.requests.runs import RunState
from runtime.operations.requests.struct import Request
from runtime.record.workers import ListedWorker, newest_label, placed_runs, refused_runs, unserved_runs


async def _list(ops: OperationContext, _: asked.ListWorkers, __: Origin) -> asked.WorkerList:
    listed = await ops.journal.workers()
    unserved = unserved_runs(await placed_runs(ops.journal, listed), listed)
    refused = refused_runs(listed)
    return asked.WorkerList(
        workers=tuple(_worker(each) for each in listed),
        unserved=tuple(
            asked.UnservedRuns(
                code=need.code, queue=need.queue, runs=tuple(runs), queue_error=need.queue_error(listed), refused=why
            )
            for need, found in sorted(unserved.items())
            for why, runs in _by_reason(found, refused)
        ),
        newest=newest_label(listed),
    )


def _by_reason(runs: Sequence[str], refused: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Runs by why the engine's queue does not take them; first those that it takes."""
    found: dict[str, list[str]] = {}
    for run_id in runs:
        found.setdefault(refused.get(run_id, ""), []).append(run_id)
    return sorted(found.items())


def _worker(found: ListedWorker) -> asked.Worker:
    said = found.report
    return asked.Worker(
        id=said.id,
        state="lost" if found.is_lost else "draining" if said.draining else "working",
        place=said.place,
        slots=said.slots,
        driving=found.driving,
        code=said.code,
        queues=said.queues,
        keys=said.keys,
        program=said.program,
        alive_since=said.alive_since,
        heard_s=round(found.heard_s, 1),
        held_up=said.held_up,
    )


async def _move(ops: OperationContext, request: asked.MoveRun, origin: Origin) -> RunState:
    await ops.controls.move(request.run_id, code=request.code, queue=request.queue, by=origin.by)
    return RunState(id=request.run_id, state=(await ops.summary(request.run_id)).shown_phase)


HANDLERS: Final[Mapping[type[Request[Any]], Handler]] = {
    asked.ListWorkers: _list,
    asked.MoveRun: _move,
}
