"""Handlers of the requests about runs. What only some of them need is imported there: a verb is its own process."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import asdict

from runtime.judgement.comparison.comparison_types import RunComparison
from runtime.judgement.reports.report_types import WaitChain
from runtime.operations.context import Handler, OperationContext, OperationError, Origin
from runtime.operations.requests import runs as asked
from runtime.operations.requests.runs import RunState
from runtime.operations.requests.struct import Request
from runtime.record.journal import Journal
from runtime.record.rules.search_texts import split_words
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.summary import ALL_RUNS, PublicSummary, Summary


def run_id_of(command_id: str) -> str:
    """The id of the run that a command starts: always the same, so that even a runtime that died between creating the
    run and storing its reply starts it once (`Journal.create` is idempotent).
    """
    digest = hashlib.sha256(command_id.encode()).hexdigest()[:8]
    stamp = re.match(r"\d{6}-\d{6}(?=-)", command_id)
    return f"{stamp.group()}-{digest}" if stamp else digest


async def _start(ops: OperationContext, request: asked.StartRun, origin: Origin) -> RunState:
    run_id = await ops.decisions.start(
        request.ref,
        request.input,
        title=request.title,
        options=dict(request.options),
        queue=request.queue,
        reason=request.reason,
        by=origin.by,
        run_id=run_id_of(origin.command_id) if origin.command_id else "",
    )
    return await _state(ops, run_id)


async def _abort(ops: OperationContext, request: asked.AbortRun, origin: Origin) -> RunState:
    await ops.decisions.abort(request.run_id, reason=request.reason, by=origin.by)
    return await _state(ops, request.run_id)


async def _cancel(ops: OperationContext, request: asked.CancelCall, origin: Origin) -> asked.CancelledCall:
    named = await _node_id(ops, request.run_id, request.node_id)
    node_id = await ops.controls.cancel(request.run_id, named, reason=request.reason, by=origin.by)
    return asked.CancelledCall(**await _fields(ops, request.run_id), node=node_id)


async def _freeze(ops: OperationContext, request: asked.FreezeRuns, origin: Origin) -> tuple[RunState, ...]:
    frozen = await ops.controls.freeze(request.run_id, ref=request.ref, reason=request.reason, by=origin.by)
    return tuple([await _state(ops, run_id) for run_id in frozen])


async def _thaw(ops: OperationContext, request: asked.ThawRuns, origin: Origin) -> tuple[RunState, ...]:
    thawed = await ops.controls.thaw(request.run_id, ref=request.ref, by=origin.by)
    return tuple([await _state(ops, run_id) for run_id in thawed])


async def _break(ops: OperationContext, request: asked.SetBreakpoint, origin: Origin) -> asked.BreakpointState:
    warning = await ops.controls.set_breakpoint(
        request.run_id, request.what, request.pattern, clear=request.clear, by=origin.by
    )
    return asked.BreakpointState(
        **await _fields(ops, request.run_id),
        breakpoint=f"{request.what}:{request.pattern}",
        cleared=request.clear,
        warning=warning,
    )


async def _inject(ops: OperationContext, request: asked.InjectMessage, origin: Origin) -> asked.InjectedMessage:
    injection_id = await ops.controls.inject(request.run_id, request.agent, request.text, by=origin.by)
    return asked.InjectedMessage(**await _fields(ops, request.run_id), injection_id=injection_id)


async def _rewind(ops: OperationContext, request: asked.RewindRun, origin: Origin) -> asked.RewoundRun:
    from runtime.operations.rewind_rules import RewindNeedsConfirmation

    node_id = await _node_id(ops, request.run_id, request.node_id)
    try:
        dropped = await ops.editing_controls.rewind(
            request.run_id,
            node_id,
            changes=dict(request.changes),
            confirm=request.confirm,
            reason=request.reason,
            by=origin.by,
        )
    except RewindNeedsConfirmation as exc:
        nodes = [{"id": node.id, "name": node.name} for node in exc.nodes]
        raise OperationError("effects", str(exc), nodes=nodes) from exc
    return asked.RewoundRun(**await _fields(ops, request.run_id), node=node_id, dropped=tuple(sorted(dropped)))


async def _fork(ops: OperationContext, request: asked.ForkRun, origin: Origin) -> asked.ForkedRun:
    node_id = await _node_id(ops, request.run_id, request.node_id)
    run_id = await ops.editing_controls.fork(request.run_id, node_id, changes=dict(request.changes), by=origin.by)
    return asked.ForkedRun(**await _fields(ops, run_id), forked_from=request.run_id, node=node_id)


async def _list(ops: OperationContext, request: asked.ListRuns, _: Origin) -> tuple[PublicSummary, ...]:
    found = await _runs_in_states(ops.journal, request.states, request.limit)
    return tuple(each.public() for each in found)


async def _runs_in_states(journal: Journal, states: Sequence[str], limit: int) -> list[Summary]:
    """Those in the states that are named, as they are shown: a run that waits for a person may still be held."""
    if not {"running", "waiting"} & set(states):
        return await journal.runs(limit, states=states)
    found = await journal.runs(ALL_RUNS, states=(*states, "running", "waiting"))
    return [each for each in found if each.shown_phase in states][:limit]


async def _search(ops: OperationContext, request: asked.SearchRuns, _: Origin) -> tuple[asked.RunMatch, ...]:
    from runtime.execution.secret_vault import make_redactor

    mask = make_redactor(ops.config.redact).text
    most = ALL_RUNS if request.states else request.limit
    matches: list[asked.RunMatch] = []
    for found in await ops.journal.search(split_words(request.text), mask, most):
        summary = await ops.journal.summary(found.run_id)
        if summary is not None and (not request.states or summary.shown_phase in request.states):
            shown = asdict(summary.public())
            matches.append(asked.RunMatch(**shown, found_in=found.kind, excerpt=found.excerpt))
        if len(matches) == request.limit:
            break
    return tuple(matches)


async def _show(ops: OperationContext, request: asked.ShowRun, _: Origin) -> asked.RunTree:
    from runtime.operations.objects import run_object

    return run_object(await ops.decisions.state(request.run_id))


async def _compare(ops: OperationContext, request: asked.CompareRuns, _: Origin) -> RunComparison:
    from runtime.judgement.comparison.run_comparison import compare_runs

    left, right = await ops.decisions.state(request.left), await ops.decisions.state(request.right)
    return await asyncio.to_thread(compare_runs, left, right)


async def _waits(ops: OperationContext, request: asked.ShowWaits, _: Origin) -> WaitChain:
    from runtime.judgement.reports.wait_graph import wait_chain

    state = await ops.decisions.state(request.run_id)
    return wait_chain(state, _node_of(state, request.node_id))


async def _swarms(ops: OperationContext, _: asked.ListSwarms, __: Origin) -> asked.FoundSwarms:
    from runtime.swarms.discovery import find_swarms

    found = await asyncio.to_thread(find_swarms, ops.workspace)
    return asked.FoundSwarms(
        root=str(ops.workspace),
        refs=tuple(found),
        kinds={ref: each.label for ref, each in found.items()},
        hints={ref: each.hint for ref, each in found.items() if each.hint},
    )


async def _check(ops: OperationContext, request: asked.CheckSwarm, _: Origin) -> asked.CheckedSwarm:
    from runtime.swarms.discovery import check_swarm

    return asked.CheckedSwarm(ref=await check_swarm(request.ref, ops.workspace, limit_s=ops.config.import_limit_s))


async def _node_id(ops: OperationContext, run_id: str, name: str) -> str:
    """The node that is meant by a name; empty where none is named."""
    return _node_of(await ops.decisions.state(run_id), name)


def _node_of(state: DurableRun, name: str) -> str:
    from runtime.operations.lookup import find_node

    return find_node(state, name) if name else ""


async def _state(ops: OperationContext, run_id: str) -> RunState:
    return RunState(**await _fields(ops, run_id))


async def _fields(ops: OperationContext, run_id: str) -> dict[str, Any]:
    return {"id": run_id, "state": (await ops.summary(run_id)).shown_phase}


HANDLERS: Final[Mapping[type[Request[Any]], Handler]] = {
    asked.StartRun: _start,
    asked.AbortRun: _abort,
    asked.CancelCall: _cancel,
    asked.FreezeRuns: _freeze,
    asked.ThawRuns: _thaw,
    asked.SetBreakpoint: _break,
    asked.InjectMessage: _inject,
    asked.RewindRun: _rewind,
    asked.ForkRun: _fork,
    asked.ListRuns: _list,
    asked.SearchRuns: _search,
    asked.ShowRun: _show,
    asked.CompareRuns: _compare,
    asked.ShowWaits: _waits,
    asked.ListSwarms: _swarms,
    asked.CheckSwarm: _check,
}
