"""The test of a recorded run: a short file for pytest, with one test for each step that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from runtime.judgement.reports.export_file import Export
from runtime.record.state.durable_run import DurableRun, Incident
from runtime.record.state.fault_taxonomy import Cause
from runtime.testing.failure_replay import target_of
from runtime.testing.portable_paths import HOME_MARK, WORKSPACE_MARK, without_paths
from runtime.testing.recorded_run import RecordedRun

_NOT_OF_CODE: Final = frozenset({"breakpoint", "stall.no-progress", "run-stranded", "process-ended", "in-doubt"})
"""Rules of incidents that do not come of the code: a process ended, an operator stopped the run."""
_NOT_OF_A_STEP: Final = frozenset({
    Cause.ARGS_INVALID, Cause.WRONG_TARGET, Cause.PERMISSION_DENIED, Cause.POLICY_DENIED, Cause.LIMIT_REACHED,
    Cause.HUMAN_TIMEOUT, Cause.CANCELLED,
})  # fmt: skip
"""Causes of failures without an incident that are not the step's own: a model's mistake, a rule, an operator."""
_SAID_CHARS: Final = 160


class NothingFailed(ValueError):
    """The run has no failure of which a test can be made."""


@dataclass(slots=True, frozen=True)
class _Case:
    name: str
    said: str
    step: str


def record_text(text: str, workspace: Path, home: Path) -> str:
    """The text of an export as a test keeps it: without the directories of this machine, and without tracebacks.

    Args:
        text: The text of the export.
        workspace: The directory of the workspace.
        home: The user's own directory.
    """
    return re.sub(r'"traceback": "(?:[^"\\]|\\.)*"', '"traceback": ""', without_paths(text, workspace, home))


def text_of_tests(export: Export, record: str, workspace: str, incident_id: str = "") -> str:
    """The text of the test file.

    Args:
        export: The record, without the directories of this machine: see `record_text`.
        record: The name of the record's file, beside the test's.
        workspace: The directory of the workspace, relative to that of the test.
        incident_id: The only incident that is tested; empty: each has a test.

    Raises:
        NothingFailed: the run has no incident that comes of its code.
    """
    state = export.state()
    cases = list(_cases(RecordedRun(export, state), incident_id))
    if not cases:
        raise NothingFailed(
            f"nothing failed in run {state.id} of which a test can be made: a test is made of a failure, a permission"
            " that was missing or a question, for example of a tool that raised"
        )
    head = (
        f'"""What failed in run {state.id}, replayed against the code as it is now.\n\n'
        "Models and tools answer from the record beside this file, all but the tool under test. A test passes as\n"
        "soon as its step does. Tools that are to run: live=[...]; steps that may differ: allow_changed=[...].\n"
        '"""\n\n'
        "from runtime.testing.pytest_plugin import ReplayFailure\n\n"
        f"RECORD = {_literal(record)}\n"
        f"WORKSPACE = {_literal(workspace)}\n"
    )
    return head + "".join(_function(each) for each in cases)


def _function(case: _Case) -> str:
    return (
        f"\n\ndef test_{case.name}(replay_failure: ReplayFailure) -> None:\n"
        f"    # {case.said}\n"
        "    replay_failure(\n"
        "        RECORD,\n"
        f"        step={_literal(case.step)},\n"
        "        workspace=WORKSPACE,\n"
        "    )\n"
    )


def _cases(recorded: RecordedRun, incident_id: str) -> Iterator[_Case]:
    taken: dict[str, int] = {}
    seen: set[str] = set()
    for target, said, cause in _failures(recorded, incident_id):
        if target in seen:
            continue
        seen.add(target)
        node = recorded.state.nodes.get(target)
        name = _identifier(f"{node.name if node is not None else 'run'} {cause.value}")
        taken[name] = taken.get(name, 0) + 1
        yield _Case(name if taken[name] == 1 else f"{name}_{taken[name]}", _comment(said), target)


def _failures(recorded: RecordedRun, incident_id: str) -> Iterator[tuple[str, str, Cause]]:
    """Each node under test, what was said of it, and the cause: incidents, then steps that failed without one. Such a
    failure was told to the model, or a policy decided it.
    """
    for incident in recorded.state.incidents.values():
        opened = incident.opened
        if incident_id and opened.incident_id != incident_id:
            continue
        if _is_tested(incident, recorded.state):
            yield target_of(recorded, opened.node_id), opened.what, opened.fault.cause
    if incident_id:
        return
    for _, node in recorded.state.walk():
        fault = node.fault
        failed = node.is_step and node.phase in ("failed", "timed_out") and not node.incidents
        if failed and fault is not None and fault.cause not in _NOT_OF_A_STEP:
            yield target_of(recorded, node.id), node.error or fault.technical, fault.cause


def _is_tested(incident: Incident, state: DurableRun) -> bool:
    opened = incident.opened
    known = opened.node_id in state.nodes or not opened.node_id
    return known and not opened.in_doubt and opened.fault.rule_id not in _NOT_OF_CODE


def _identifier(text: str) -> str:
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()[:80] or "step"


def _comment(text: str) -> str:
    """A text of others as one line of a comment: printable, in ASCII, and cut."""
    for mark, name in ((WORKSPACE_MARK, "<workspace>"), (HOME_MARK, "<home>")):
        text = text.replace(mark, name)
    plain = " ".join(text.split()).encode("ascii", "backslashreplace").decode()
    plain = "".join(each if each.isprintable() else "?" for each in plain)
    return plain if len(plain) <= _SAID_CHARS - 60 else f"{plain[: _SAID_CHARS - 60]}..."


def _literal(value: Any) -> str:
    return ascii(value).replace("'", '"') if "'" not in str(value) and '"' not in str(value) else ascii(value)
