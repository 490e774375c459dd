"""What a worker says of itself: in its report, which other workers and lists read, and to people in words."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from itertools import islice

from orbiter.models.endpoints import ENDPOINTS
from runtime.execution.execution_config import ExecutionConfig
from runtime.record.state.fault_taxonomy import Classification
from runtime.record.state.operator_terms import need_words
from runtime.record.workers import WorkerNeed, WorkerReport
from runtime.worker.blocked_runs import BlockedRun
from runtime.worker.supervisor import Supervisor

MOST_TOLD = 50
"""So many runs that the engine's queue does not take are told of by one worker."""
QUEUE_WORDS = 400
"""The longest words of what holds a worker up, in characters."""


def worker_report(
    supervisor: Supervisor, config: ExecutionConfig, blocked_runs: Sequence[BlockedRun], displaced: str
) -> WorkerReport:
    """The report, now. `displaced`: why the runtime is about to end, if it is."""
    fault = supervisor.queue_fault
    queue_error = queue_words(fault) if fault is not None else ""
    refused = dict(islice(supervisor.refused_runs.items(), MOST_TOLD))
    blocked = supervisor.held_back or queue_error
    blocked = blocked or next((each.reason for each in blocked_runs if each.alarming), "") or refused_words(refused)
    return WorkerReport(
        id=supervisor.owner,
        place=f"{socket.gethostname()}:{os.getpid()}",
        slots=config.slots,
        code=config.code,
        queues=config.queues or (),
        keys=provider_keys(),
        program=config.program,
        alive_since=supervisor.alive_since,
        draining=supervisor.is_stopping,
        held_up=(displaced or blocked)[:QUEUE_WORDS],
        queue_error=queue_error,
        refused={run_id: why[:QUEUE_WORDS] for run_id, why in refused.items()},
    )


def held_up_words(
    supervisor: Supervisor, blocked_runs: Sequence[BlockedRun], unserved: dict[WorkerNeed, list[str]]
) -> str:
    """What people should know of what is not carried on here; empty if nothing is held up."""
    if held_back := supervisor.held_back:
        return f"what happens is held in memory, and written as soon as it can be: {held_back[:400]}"
    if (fault := supervisor.queue_fault) is not None:
        return f"runs are not given out to workers: {queue_words(fault)}"
    found = [each for each in blocked_runs if each.run_id and each.alarming]
    if found:
        return f"{first_of([each.run_id for each in found])} cannot be carried on now: {found[0].reason[:400]}"
    return unserved_words(unserved) or refused_words(supervisor.refused_runs)


def slow_words(blocked_runs: Sequence[BlockedRun]) -> str:
    """What only takes long: an import that is not late yet; empty if nothing does."""
    found = [each for each in blocked_runs if each.run_id and not each.alarming]
    return f"{first_of([each.run_id for each in found])}: {found[0].reason[:400]}" if found else ""


def queue_words(fault: Classification) -> str:
    """Why a worker is given no runs, and what helps, in words."""
    advice = f" ({fault.suggestions[0]})" if fault.suggestions else ""
    return fault.user_message[: QUEUE_WORDS - len(advice)] + advice


def refused_words(refused: Mapping[str, str]) -> str:
    """Which runs the engine's queue does not take, in words; empty if it takes all."""
    if not refused:
        return ""
    return f"{first_of(list(refused))} goes on without the queue and its limits: {next(iter(refused.values()))}"


def first_of(run_ids: Sequence[str]) -> str:
    """The first run by name, and how many there are beside it, in words; there is one at least."""
    return f"run {run_ids[0]}" + (f" (and {len(run_ids) - 1} more)" if len(run_ids) > 1 else "")


def unserved_words(unserved: dict[WorkerNeed, list[str]]) -> str:
    """What waits for a worker, in words; empty if nothing does."""
    parts = []
    for need, runs in sorted(unserved.items()):
        what = f"run {runs[0]} waits" if len(runs) == 1 else f"{len(runs)} runs wait"
        parts.append(f"{what} for a worker {need_words(need.code, need.queue)}")
    more = ": start one, or move them (orbiter-console workers; move RUN --code LABEL --queue NAME)"
    return "; ".join(parts) + more if parts else ""


def provider_keys() -> tuple[str, ...]:
    """Names of the variables with providers' keys that are set here."""
    names = {name for endpoint in ENDPOINTS.values() for name in endpoint.key_variables}
    return tuple(sorted(name for name in names if os.environ.get(name)))
