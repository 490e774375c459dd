"""The check behind the fixture: a record's file, replayed and judged, as one text that says what is wrong."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from orbiter.errors import OrbiterError
from orbiter.text_input import UnreadableText, read_text
from runtime.judgement.reports.export_file import InvalidExport
from runtime.testing.failure_replay import replay
from runtime.testing.recorded_run import RecordedRun, read_recorded_run
from runtime.testing.replay_options import ReplayOptions
from runtime.testing.verdict import judge

R = TypeVar("R")

_RECORD_BYTES = 1 << 28


def check_failure(
    record: Path,
    *,
    step: str,
    workspace: Path,
    scratch: Path,
    options: ReplayOptions | None = None,
) -> str:
    """What is wrong with the code, by a recorded run; empty where the failed step passes.

    Args:
        record: The file of the record.
        step: The path of the step that failed.
        workspace: The directory of the swarm.
        scratch: A directory for the replay's own journal; made if it is not there.
        options: How it is replayed; None: as it was recorded.
    """
    options = options or ReplayOptions()
    if mistake := options.mistake():
        return mistake
    home = Path.home()
    try:
        recorded = read_recorded_run(read_text(record, most=_RECORD_BYTES), workspace, home)
    except (UnreadableText, InvalidExport) as exc:
        return f"the record {record.name} cannot be read: {exc}; write it again with: orbiter-console export RUN --test"
    if unknown := _unknown_step(recorded, step):
        return unknown
    scratch.mkdir(parents=True, exist_ok=True)
    replaying = replay(recorded, step, workspace=workspace, scratch=scratch, home=home, options=options)
    try:
        verdict = judge(_run_apart(replaying), options.allow_changed)
    except OrbiterError as exc:
        return f"the run cannot be replayed: {exc}"
    if verdict.passed:
        return ""
    return f"run {recorded.state.id}, replayed against the code as it is now:\n{verdict.text()}"


def _unknown_step(recorded: RecordedRun, step: str) -> str:
    if step in recorded.state.nodes or not step:
        return ""
    failed = [each.opened.node_id for each in recorded.state.incidents.values()]
    return f"the record has no step {step!r}; those that failed are: {', '.join(dict.fromkeys(failed)) or 'none'}"


def _run_apart(work: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine on a thread of its own: the test may itself run in a loop."""
    done: list[R] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(asyncio.run(work))
        except BaseException as exc:
            failed.append(exc)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), name="orbiter replay")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]
