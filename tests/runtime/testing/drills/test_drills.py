"""Faults put into runs of our agents and of a guest, and the account of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime.execution.execution_config import ExecutionConfig
from runtime.operations.decisions import Decisions
from runtime.record.places import open_journal
from runtime.record.state.durable_run import DurableRun
from runtime.testing.drills.call_log import CallEntry, CallLog
from runtime.testing.drills.drill_account import DrillAccount, account_of
from runtime.testing.drills.drill_file import Drill, parse_drill
from runtime.testing.drills.injected_faults import drilled
from runtime.worker.drive import drive
from tests.runtime.bench import ME, ZOO

GUESTS = ZOO.with_name("guests.py")


class Drilled:
    """A run with a drill's faults, its log, and the account of both."""

    def __init__(self, root: Path, text: str) -> None:
        root.mkdir(exist_ok=True)
        self.drill: Drill = parse_drill(text, "drills.toml")
        self.log = CallLog(root / "calls.jsonl")
        self._root = root
        self.state = DurableRun()

    async def run(self, ref: str, **config: Any) -> DrillAccount:
        usual = replace(ExecutionConfig(workspace=str(self._root), grace_s=0.0, retry_waits=False), **config)
        async with await open_journal(self._root) as journal:
            decisions = Decisions(journal, self._root)
            run_id = await decisions.start(ref, "go", by=ME)
            await drive(journal, run_id, "drill", drilled(usual, self.drill, self.log))
            self.state = await decisions.state(run_id)
        return account_of(self.drill, self.state, self.log.read())


@pytest.fixture
def effects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    return tmp_path / "effects"


async def test_a_model_that_is_busy_twice_heals_by_itself(tmp_path: Path, effects: Path) -> None:
    text = '[[faults]]\nmodel = "*"\nagent = "noter"\ncall = 2\ntimes = 2\nstatus = 429\nretry_after_s = 0.1\n'
    drilled_run = Drilled(tmp_path, text)
    account = await drilled_run.run(f"{ZOO}:workflow")
    node = drilled_run.state.nodes["swarm(noter...)~0/noter~0/llm~1"]
    assert (node.attempts, [each.cause for each in node.tries]) == (3, ["rate_limited"] * 2)
    assert account.state == "completed"
    assert account.happened == ("model * of noter, call 2: answers 429, 2 times (2 ×)",)
    assert account.healed == ("swarm(noter...)~0/noter~0/llm~1: rate limited; attempt 3 succeeded",)
    assert (account.asked, account.missed, account.sound) == ((), (), True)


async def test_a_tool_that_hangs_or_raises_and_a_permission_that_is_refused(tmp_path: Path, effects: Path) -> None:
    text = (
        '[[faults]]\ntool = "look"\nhang = true\nhang_s = 0.01\n'
        '[[faults]]\ntool = "note"\ncall = 2\nerror = "the disk is full"\n'
        '[[faults]]\npermission = "fs.write"\n'
        '[[faults]]\ntool = "never"\nhang = true\n'
    )
    account = await Drilled(tmp_path / "a", text).run(f"{ZOO}:chatty")
    assert [each for each in account.healed if "look" in each and "timeout" in each]
    drilled_run = Drilled(tmp_path / "b", text)
    account = await drilled_run.run(f"{ZOO}:saver")
    assert account.state == "completed"
    assert account.happened == ("permission fs.write refused (1 ×)",)
    assert account.missed[-1] == "tool never, call 1: hangs"
    (told,) = account.healed
    assert told.endswith("policy denied; the model was told, and went on")
    assert not effects.read_text().count("save")


async def test_a_guest_has_the_same_faults(tmp_path: Path, effects: Path) -> None:
    text = '[[faults]]\nmodel = "*"\ncall = 2\ntimes = 2\nstatus = 503\n'
    account = await Drilled(tmp_path / "a", text).run(f"{GUESTS}:parallel")
    assert account.happened == ("model *, call 2: answers 503, 2 times (2 ×)",)
    assert any("llm~1: service unavailable; attempt 3 succeeded" in each for each in account.healed)
    assert (account.state, account.sound) == ("completed", True)
    text = '[[faults]]\ntool = "look"\nerror = "no light"\n'
    account = await Drilled(tmp_path / "b", text).run(f"{GUESTS}:parallel")
    assert account.happened == ("tool look, call 1: raises 'no light' (1 ×)",)
    (asked,) = account.asked
    assert "no light (waits for an answer)" in asked
    assert account.sound


async def test_what_the_journal_does_not_know_is_lost_and_what_was_made_twice_is_doubled(
    tmp_path: Path, effects: Path
) -> None:
    drilled_run = Drilled(tmp_path, '[[faults]]\ntool = "never"\nhang = true\n')
    account = await drilled_run.run(f"{ZOO}:chatty")
    assert account.sound
    noted = "chatty~0/note~1.0"
    assert noted in drilled_run.state.nodes
    drilled_run.log.write(CallEntry("done", noted, "tool", 2, repeatable=False))
    drilled_run.log.write(CallEntry("done", "chatty~0/gone~9.0", "tool", 1))
    account = account_of(drilled_run.drill, drilled_run.state, drilled_run.log.read())
    assert account.doubled == (f"{noted}: carried out 2 times, with 0 answers that let it be repeated",)
    assert account.lost == ("chatty~0/gone~9.0: it was carried out, and the journal has no such step",)
    assert not account.sound
