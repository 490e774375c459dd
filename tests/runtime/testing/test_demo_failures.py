"""The demo's four faults as tests: red, green once the user's code is fixed, red again for another bug."""

from __future__ import annotations

import asyncio
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import console.demo.script
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from tests.runtime.testing.recording import Recorded, record, working_in

DEMO = Path(console.demo.script.__file__).parent
CONFIG = "[errors]\nbase_retry_delay = 0.01\n"


@dataclass(frozen=True)
class Fault:
    """A fault of the demo: which node, what its test says, what repairs it, and another bug."""

    node: str
    says: str
    file: str
    code: str
    fixed: str
    broken: str
    also: str


FAULTS = (
    Fault(
        "fetch_index~0.0",
        "still fails: network",
        "survey_tools.py",
        "    try:\n        with urllib.request.urlopen(",
        '    return "no index today"\n    try:\n        with urllib.request.urlopen(',
        '    raise KeyError("index")\n    try:\n        with urllib.request.urlopen(',
        "still fails: tool failed: Tool 'fetch_index' failed: 'index'",
    ),
    Fault(
        "reader~1.0/llm~0",
        "still fails: service unavailable",
        "survey_swarm.py",
        '{"max_attempts": 4, "delay_seconds": 0.5, "backoff_factor": 2}',
        '{"max_attempts": 9, "delay_seconds": 0.5, "backoff_factor": 2}',
        '{"max_attempts": 1, "delay_seconds": 0.5, "backoff_factor": 2}',
        "still fails: rate limited",
    ),
    Fault(
        "ask_reader",
        "still fails: missing input",
        "survey_tools.py",
        '    return str(await ask_operator("For whom is the report? A name or a team, for its first line."))',
        '    return "the maintainers of this directory"',
        "    raise LookupError('no reader')",
        "no reader",
    ),
    Fault(
        "write_report",
        "still fails: permission denied",
        "survey_tools.py",
        '@tool(permissions=("fs.write:{path}",), risk="writes a file")',
        '@tool(idempotent=True, risk="writes a file")',
        '@tool(permissions=("fs.delete:{path}",), risk="writes a file")',
        "fs.delete",
    ),
)


def decide(opened: ev.IncidentOpened, state: DurableRun) -> tuple[str, dict[str, Any]]:
    """As the demo's own operator."""
    offered = {option.id for option in opened.options}
    if "grant" in offered:
        return "grant", {"for": "once"}
    if "input" in offered:
        return "input", {"value": "the maintainers of this directory"}
    return ("retry", {}) if opened.action.get("model") else ("skip", {})


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a copy of the demo as a user's own files, and the record of a run."""
    root = tmp_path_factory.mktemp("demo").resolve()
    for name in ("swarm", "tools", "script"):
        text = (DEMO / f"{name}.py").read_text(encoding="utf-8")
        text = re.sub(r"console\.demo\.(swarm|tools|script)", r"survey_\1", text).replace("demo-", "survey-")
        (root / f"survey_{name}.py").write_text(text, encoding="utf-8")
    # One file of each kind is checked: on several threads at once, `ast.parse` of Python 3.11 may fail.
    for name in ("notes.md", "plan.txt", "terms.rst"):
        (root / name).write_text("# Notes\n\nThree lines.\n", encoding="utf-8")
    (root / "orbiter.toml").write_text(CONFIG, encoding="utf-8")
    with working_in(root):
        text = asyncio.run(record(root, "survey_swarm.py:swarm", "Survey the files.", decide))
    (root / "export.jsonl").write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def survey(demo: Path, tmp_path: Path) -> Recorded:
    root = (tmp_path / "survey").resolve()
    shutil.copytree(demo, root, ignore=shutil.ignore_patterns(".orbiter", "__pycache__"))
    text = (root / "export.jsonl").read_text(encoding="utf-8")
    return Recorded(root, text.replace(str(demo), str(root)))


def test_the_run_had_the_four_faults(survey: Recorded) -> None:
    assert survey.state.phase == "completed"
    assert {fault.node: bool(survey.failed(fault.node)) for fault in FAULTS} == dict.fromkeys(
        (fault.node for fault in FAULTS), True
    )
    assert len(survey.file.read_bytes()) < 200_000


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.node)
def test_a_fault_is_red_then_green_once_fixed_then_red_for_another_bug(survey: Recorded, fault: Fault) -> None:
    step = survey.failed(fault.node)
    said = survey.check(step)
    assert fault.says in said, said
    assert fault.node in said
    survey.change(fault.file, fault.code, fault.fixed)
    assert survey.check(step) == ""
    survey.change(fault.file, fault.fixed, fault.broken)
    again = survey.check(step)
    assert fault.also in again, again
    assert fault.node in again


def test_a_step_that_differs_is_named_by_its_path_until_it_is_allowed(survey: Recorded) -> None:
    step = survey.failed("write_report")
    survey.change("survey_tools.py", FAULTS[3].code, FAULTS[3].fixed)
    survey.change("survey_swarm.py", "List the files with list_files.", "List all files with list_files.")
    said = survey.check(step)
    assert "the step swarm(scout...)~0/scout~0/llm~0 (llm) differs" in said, said
    assert "List all files" in said
    assert "allow_changed=['swarm(scout...)~0/scout~0/llm~0']" in said
    assert survey.check(step, allow_changed=["*/scout~0/llm~0"]) == ""
    assert "must be a list" in survey.check(step, allow_changed="*/scout~0/llm~0")


def test_a_new_incident_elsewhere_is_named(survey: Recorded) -> None:
    survey.change("survey_tools.py", FAULTS[3].code, FAULTS[3].fixed)
    survey.change("survey_tools.py", "@tool(idempotent=True)\ndef check_file", '@tool(failure="fail")\ndef check_file')
    survey.change(
        "survey_tools.py", "        raw = _inside(path).read_bytes()[:MAX_BYTES]", "        raise OverflowError"
    )
    step = survey.failed("write_report")
    assert survey.check(step) == "", "recorded tools answer from the record"
    said = survey.check(step, live=["check_file"])
    assert "a new incident opened at swarm(scout...)~0/checker~1.1/check_file" in said, said


def test_another_model_is_a_difference(survey: Recorded) -> None:
    step = survey.failed("fetch_index~0.0")
    survey.change("survey_tools.py", FAULTS[0].code, FAULTS[0].fixed)
    survey.change(
        "survey_swarm.py", 'model=model or "scripted:survey-scout"', 'model=model or "scripted:survey-reader"'
    )
    said = survey.check(step)
    assert "the step swarm(scout...)~0/scout~0/llm~0 (llm) differs" in said, said
    assert "scripted:survey-reader" in said
