"""Runs recorded in a workspace of a user's files, as tests of them are made of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtime.config.loader import load_configuration
from runtime.execution.secret_vault import make_redactor
from runtime.judgement.reports.export_file import FORMAT, ExportHeader, export_lines, read_export
from runtime.operations.decisions import Decisions
from runtime.record.journal import AnswerAccepted
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.testing.failure_check import check_failure
from runtime.testing.generated_tests import record_text
from runtime.testing.replay_options import ReplayOptions
from runtime.worker.drive import drive

Decide = Callable[[ev.IncidentOpened, DurableRun], tuple[str, dict[str, Any]] | None]


@contextmanager
def working_in(directory: Path) -> Iterator[None]:
    """As a runtime works: in the workspace's directory."""
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


async def record(root: Path, ref: str, text: str, decide: Decide) -> str:
    """Run a swarm in `root` as far as `decide` carries it; the text of its export."""
    config = replace(
        load_configuration(root).execution_config(grace_s=0.0), analysis="off", retry_waits=False, drain_s=0.2
    )
    me = ev.Actor(name="tester", channel="cli")
    async with await open_journal(root / ".orbiter") as journal:
        decisions = Decisions(journal, root)
        run_id = await decisions.start(ref, text, options={"breakers": False}, by=me)
        while await drive(journal, run_id, "recorder", config) == "parked":
            state = await decisions.state(run_id)
            answers = [(each.opened, decide(each.opened, state)) for each in state.open_incidents]
            for opened, given in answers:
                if given is not None:
                    taken = await decisions.answer(opened.incident_id, given[0], given[1], by=me)
                    assert isinstance(taken, AnswerAccepted), taken
            if not any(given for _, given in answers):
                break
        header = ExportHeader(orbiter_export=FORMAT, run_id=run_id, exported_at=ev.utc_now())
        workspace = await journal.read(ev.WORKSPACE_RUN_ID)
        return "\n".join(export_lines(await journal.read(run_id), header, make_redactor(), workspace)) + "\n"


class Recorded:
    """A record in a workspace, and the user's files, which a test may change."""

    def __init__(self, root: Path, text: str) -> None:
        self.root = root
        self.export = text
        self.file = root / "record.jsonl"
        self.file.write_text(record_text(text, root, Path.home()), encoding="utf-8")
        self.state = read_export(text).state()
        self._checks = 0

    def failed(self, name: str) -> str:
        """The path of the node that failed and whose path has `name` in it."""
        (found,) = {each.opened.node_id for each in self.state.incidents.values() if name in each.opened.node_id}
        return found

    def change(self, file: str, before: str, after: str) -> None:
        """Change the user's code: `before` must be there."""
        path = self.root / file
        text = path.read_text(encoding="utf-8")
        assert before in text, before
        path.write_text(text.replace(before, after), encoding="utf-8")

    def check(self, step: str, **more: Any) -> str:
        """What is wrong, by a replay; empty where the code passes."""
        self._checks += 1
        with working_in(self.root):
            return check_failure(
                self.file,
                step=step,
                workspace=self.root,
                scratch=self.root / f"replay-{self._checks}",
                options=ReplayOptions(**more),
            )
