"""A recorded run, carried out once more by the code as it is now, in a journal of its own that is thrown away.

Everything but the calls is real: gates, retries, incidents, hooks. What operators decided at other places than the step
under test is decided again; at that step, what they gave does not count.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from runtime.config.loader import load_configuration, load_env_file
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.secret_vault import make_redactor
from runtime.judgement.reports import export_file
from runtime.operations.answer_params import InvalidCommand
from runtime.operations.decisions import Decisions
from runtime.record.journal import AnswerAccepted, Journal
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Incident
from runtime.testing.portable_paths import with_paths, without_paths
from runtime.testing.recorded_calls import RecordedCalls
from runtime.testing.recorded_run import RecordedRun
from runtime.testing.replay_options import ReplayOptions
from runtime.worker.drive import drive

_BY: Final = ev.Actor(name="the record", channel="rule")
_NOT_COPIED: Final = frozenset({"fork"})


@dataclass(slots=True, frozen=True)
class Replay:
    """What came of a replay: the run as far as it got, what it is compared with, and the calls."""

    recorded: RecordedRun
    state: DurableRun
    calls: RecordedCalls
    target: str
    timed_out: bool = False


def target_of(recorded: RecordedRun, step: str) -> str:
    """The node under test: where a tool asked, that is the tool.

    Args:
        recorded: The record.
        step: The path of the node that failed.
    """
    for node in recorded.state.lineage(step):
        if node.kind == "tool" and node.is_step:
            return node.id
    return step


async def replay(
    recorded: RecordedRun,
    step: str,
    *,
    workspace: Path,
    scratch: Path,
    home: Path,
    options: ReplayOptions,
) -> Replay:
    """Replay a run.

    Args:
        recorded: The record.
        step: The path of the node that failed.
        workspace: The directory whose code and configuration are tested.
        scratch: A directory for the journal of the replay.
        home: The user's own directory.
        options: How it is replayed.

    Raises:
        SwarmLoadError: the swarm's file is not there.
        InvalidConfiguration: the workspace's configuration cannot be used.
    """
    target = target_of(recorded, step)
    calls = RecordedCalls(recorded, target, options.live, options.replies)
    config = _config(workspace, calls)
    async with await open_journal(scratch) as journal:
        await _post_grants(journal, recorded, target)
        decisions = Decisions(journal, workspace)
        run_id = await decisions.start(
            options.swarm or recorded.state.ref,
            recorded.state.input,
            title=recorded.state.title,
            options=_options(recorded.state),
            by=_BY,
        )
        timed_out = False
        try:
            async with asyncio.timeout(options.limit_s):
                await _drive_to_end(journal, decisions, run_id, config, calls)
        except TimeoutError:
            timed_out = True
        state = await _as_recorded(journal, run_id, config, workspace, home)
    return Replay(recorded, state, calls, target, timed_out)


def _config(workspace: Path, calls: RecordedCalls) -> ExecutionConfig:
    configured = load_configuration(workspace)
    load_env_file(configured)
    errors = configured.errors.model_copy(update={"error_recovery_timeout": None, "enable_error_routing": True})
    return replace(
        configured.execution_config(grace_s=0.0),
        errors=errors,
        enable_error_routing=True,
        deadline_s=None,
        analysis="off",
        notices=None,
        stall_s=None,
        drain_s=1.0,
        interceptor=calls,
        retry_waits=False,
    )


def _options(state: DurableRun) -> dict[str, Any]:
    kept = {name: each for name, each in state.options.items() if name not in _NOT_COPIED}
    return {**kept, "breakers": False}


async def _post_grants(journal: Journal, recorded: RecordedRun, target: str) -> None:
    """The grants that the run used and that were not given at the step under test."""
    under_test = {
        each.opened.incident_id
        for each in recorded.state.incidents.values()
        if f"{each.opened.node_id}/".startswith(f"{target}/")
    }
    own = {each.opened.incident_id for each in recorded.state.incidents.values()}
    for event in recorded.export.grants:
        # What was granted at an incident of the run is granted again there.
        if isinstance(event, ev.GrantAdded) and event.incident_id not in own | under_test:
            await journal.post(ev.WORKSPACE_RUN_ID, event)


async def _drive_to_end(
    journal: Journal,
    decisions: Decisions,
    run_id: str,
    config: ExecutionConfig,
    calls: RecordedCalls,
) -> None:
    """Drive the run until it ends, or waits for what the record does not answer."""
    while await drive(journal, run_id, "replay", config) == "parked":
        state = await decisions.state(run_id)
        again = [incident for incident in state.open_incidents if _decided(calls, state, incident)]
        given = [await _decide_again(decisions, calls.recorded, state, each) for each in again]
        if not any(given):
            return


def alike(recorded: RecordedRun, state: DurableRun, incident: Incident) -> Incident | None:
    """The incident of the record that this one is once more: at the same node, with the same cause, in turn.

    Args:
        recorded: The record.
        state: The replayed run.
        incident: An incident of it.
    """
    cause = incident.opened.fault.cause
    before = [
        each
        for each in state.incidents.values()
        if each.opened.node_id == incident.opened.node_id and each.opened.fault.cause is cause
    ]
    known = [each for each in recorded.answers(incident.opened.node_id) if each.opened.fault.cause is cause]
    at = before.index(incident)
    return known[at] if at < len(known) else None


def _decided(calls: RecordedCalls, state: DurableRun, incident: Incident) -> bool:
    if calls.is_under_test(incident.opened.node_id):
        return False
    found = alike(calls.recorded, state, incident)
    return found is not None and found.answer is not None


async def _decide_again(decisions: Decisions, recorded: RecordedRun, state: DurableRun, incident: Incident) -> bool:
    found = alike(recorded, state, incident)
    assert found is not None
    assert found.answer is not None
    option = "retry" if found.answer.option == "wait_retry" else found.answer.option
    params = {name: each for name, each in found.answer.params.items() if name != "grant_id"}
    if option == "retry":
        params = {}
    try:
        given = await decisions.answer(incident.opened.incident_id, option, params, by=_BY)
    except InvalidCommand:
        return False  # it is not offered any more: the incident stays open, and is told as one
    return isinstance(given, AnswerAccepted)


async def _as_recorded(
    journal: Journal, run_id: str, config: ExecutionConfig, workspace: Path, home: Path
) -> DurableRun:
    """The replayed run as its export would be read: masked by the same redactor, and with the same directories."""
    header = export_file.ExportHeader(orbiter_export=export_file.FORMAT, run_id=run_id, exported_at=ev.utc_now())
    lines = export_file.export_lines(await journal.read(run_id), header, make_redactor(config.redact))
    text = without_paths("\n".join(lines), workspace, home)
    return export_file.read_export(with_paths(text, workspace, home)).state()
