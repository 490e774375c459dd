"""What answers in a replay: the record, the code, or nothing, which is said."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from runtime.judgement.reports.export_file import read_export
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.testing.generated_tests import NothingFailed, text_of_tests
from runtime.testing.portable_paths import HOME_MARK, WORKSPACE_MARK, with_paths, without_paths
from tests.runtime.testing.recording import Decide, Recorded, record, working_in

TELLER = '''
from orbiter import Agent, Swarm, tool
from orbiter.models.scripted.replies import Call, Fault, Reply, Script
from orbiter.models.scripted.provider import script

script("teller/down", [[Fault(status=503)] * 9])
script("teller/counter", Script([Reply(calls=[Call("count", {"what": "tea"})]), "counted"]))


@tool(failure="fail")
def count(what: str) -> str:
    """Count things."""
    raise RuntimeError("cannot count")


@tool
def weigh(what: str) -> str:
    """Weigh things."""
    raise RuntimeError("no scales in WORKSPACE")


@tool
def told(what: int) -> str:
    """Takes a number."""
    return "told"


script("teller/weigher", Script([
    Reply(calls=[Call("weigh", {"what": "tea"}), Call("told", {"what": "many"})]), Reply("as told: ${result}")
]))
weigher = Agent(name="weigher", model="scripted:teller/weigher", tools=[weigh, told])
down = Agent(name="down", model="scripted:teller/down", get_retry_policy=lambda: {"max_attempts": 2})
counter = Agent(name="counter", model="scripted:teller/counter", tools=[count])
fine = Agent(name="fine", model="scripted:teller/counter")
'''


def recorded(root: Path, ref: str, decide: Decide) -> Recorded:
    root = root.resolve()
    (root / "teller.py").write_text(TELLER.replace("WORKSPACE", str(root)))
    with working_in(root):
        return Recorded(root, asyncio.run(record(root, ref, "go", decide)))


def answer(option: str, **params: Any) -> Decide:
    def decide(opened: ev.IncidentOpened, state: DurableRun) -> tuple[str, dict[str, Any]] | None:
        return option, params

    return decide


def test_a_reply_that_a_person_gave_is_not_in_the_record_and_can_be_given_to_the_test(tmp_path: Path) -> None:
    run = recorded(tmp_path, "teller.py:down", answer("result", value="by hand"))
    assert run.state.output == "by hand"
    step = run.failed("llm~0")
    assert "still fails: service unavailable" in run.check(step)
    run.change("teller.py", '"max_attempts": 2', '"max_attempts": 3')
    said = run.check(step)
    assert "the reply of scripted:teller/down is not in the record" in said, said
    assert f"replies={{{step!r}: '…'}}" in said
    assert run.check(step, replies={step: "all is well"}) == ""


def test_what_comes_after_the_end_of_the_record_is_not_asked_for(tmp_path: Path) -> None:
    run = recorded(tmp_path, "teller.py:counter", answer("abort"))
    assert run.state.phase == "aborted"
    step = run.failed("count")
    assert "cannot count" in run.check(step)
    run.change("teller.py", 'raise RuntimeError("cannot count")', 'return f"3 {what}"')
    assert run.check(step) == "", "the record has no reply to the result, for the run was aborted"


def test_a_tool_that_hangs_is_said_and_a_step_that_is_not_there(tmp_path: Path) -> None:
    run = recorded(tmp_path, "teller.py:counter", answer("abort"))
    run.change("teller.py", "def count(what: str) -> str:", "async def count(what: str) -> str:")
    run.change("teller.py", 'raise RuntimeError("cannot count")', "import asyncio; await asyncio.Event().wait()")
    step = run.failed("count")
    said = run.check(step, limit_s=0.5)
    assert f"the replay did not come to an end in its time: {step} was under way" in said, said
    assert f"those that failed are: {step}" in run.check("counter~0/other~0")


def test_a_record_that_was_cut_is_said(tmp_path: Path) -> None:
    run = recorded(tmp_path, "teller.py:counter", answer("abort"))
    step = run.failed("count")
    run.file.write_text(run.file.read_text()[:-40])
    said = run.check(step)
    assert "the record record.jsonl cannot be read: line" in said, said
    assert "write it again with" in said


def test_of_a_run_without_a_failure_no_test_is_made(tmp_path: Path) -> None:
    run = recorded(tmp_path, "teller.py:counter", answer("abort"))
    text = "".join(line for line in run.export.splitlines(keepends=True) if '"type": "incident' not in line)
    with pytest.raises(NothingFailed, match="nothing failed in run"):
        text_of_tests(read_export(text), "record.jsonl", "..")


def test_a_failure_that_the_model_was_told_has_a_test_and_a_mistake_of_the_model_has_none(tmp_path: Path) -> None:
    run = recorded(tmp_path, "teller.py:weigher", answer("abort"))
    assert run.state.phase == "completed"
    text = text_of_tests(read_export(run.file.read_text()), "record.jsonl", "..")
    assert re.findall(r"def (\w+)", text) == ["test_weigh_tool_failed"]
    assert "# RuntimeError: no scales in <workspace>" in text, "no directory of this machine"
    step = "weigher~0/weigh~0.0"
    assert f'step="{step}"' in text
    assert f"{step} fails still: tool failed: RuntimeError: no scales" in run.check(step)
    run.change("teller.py", f'raise RuntimeError("no scales in {run.root}")', 'return "3 g"')
    assert run.check(step) == ""
    run.change("teller.py", 'name="weigher", model', 'name="weigher", instructions="Weigh.", model')
    said = run.check(step)
    assert "    messages" in said
    assert "    digest" not in said, "the messages say it"
    assert "allow_changed=['weigher~0/llm~0']" in said


def test_directories_of_this_machine_are_taken_out_and_put_back(tmp_path: Path) -> None:
    workspace, home = Path("/srv/work"), Path("/home/ann")
    text = '{"a": "/srv/work/x.py", "b": "/srv/workshop", "c": "/home/ann", "d": "see /srv/work: it"}'
    kept = without_paths(text, workspace, home)
    assert kept.isascii()
    assert "/srv/work/" not in kept
    assert "/home/ann" not in kept
    assert "/srv/workshop" in kept
    assert with_paths(kept, workspace, home) == text
    there = with_paths(kept, Path("/elsewhere"), Path("/root"))
    assert '"a": "/elsewhere/x.py"' in there
    assert not {WORKSPACE_MARK, HOME_MARK} & {*there}
