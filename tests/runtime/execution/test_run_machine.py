"""Operators do what they like with driven runs, in any order: no illegal transition, no terminal state left but by a
rewind, every run comes to an end.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from runtime.operations.answer_params import InvalidCommand
from runtime.operations.run_controls import RunControls
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import NODE_TERMINAL, RUN_TERMINAL, DurableRun
from tests.runtime.bench import ME, Bench

RUNS: dict[str, set[str]] = {
    "queued": {"running", "frozen", *RUN_TERMINAL},
    "running": {"waiting", "frozen", "queued", *RUN_TERMINAL},
    "waiting": {"queued", "running", "frozen", *RUN_TERMINAL},
    "frozen": {"running", "queued", *RUN_TERMINAL},
}
REWINDS = (ev.RewindRequested, ev.RunRewound)
which = st.integers(0, 3)


class Operators(RuleBasedStateMachine):
    """One workspace, driven now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.directory = tempfile.TemporaryDirectory()
        root = Path(self.directory.name)
        os.environ["ORBITER_TEST_EFFECTS"] = str(root / "effects")
        self.bench = self.do(self._open(root))
        self.controls = RunControls(self.bench.journal)
        self.runs: list[str] = []

    async def _open(self, root: Path) -> Bench:
        return Bench(root, await open_journal(root))

    def do(self, work: Any) -> Any:
        return self.runner.run(work)

    def chosen(self, number: int) -> str:
        return self.runs[number % len(self.runs)] if self.runs else "none"

    @rule(name=st.sampled_from(["plain", "saver", "stage", "chatty"]))
    def start(self, name: str) -> None:
        if len(self.runs) < 4:
            self.runs.append(self.do(self.bench.start(name)))

    @rule(number=which, option=st.sampled_from(["grant", "deny", "input", "skip", "abort", "retry"]))
    def answer(self, number: int, option: str) -> None:
        waiting = self.do(self.bench.journal.incidents())
        if waiting:
            incident = waiting[number % len(waiting)].opened.incident_id
            with suppress(InvalidCommand):
                self.do(
                    self.bench.decisions.answer(incident, option, {"value": "x"} if option == "input" else {}, by=ME)
                )

    @rule(number=which)
    def abort(self, number: int) -> None:
        with suppress(InvalidCommand):
            self.do(self.bench.decisions.abort(self.chosen(number), by=ME))

    @rule(number=which, on=st.booleans())
    def freeze(self, number: int, on: bool) -> None:
        with suppress(InvalidCommand):
            self.do((self.controls.freeze if on else self.controls.thaw)(self.chosen(number), by=ME))

    @rule(number=which, at=st.integers(0, 9))
    def rewind(self, number: int, at: int) -> None:
        async def work() -> None:
            state = await self.bench.state(self.chosen(number))
            if state.nodes:
                node = list(state.nodes)[at % len(state.nodes)]
                await self.controls.rewind(state.id, node, confirm=True, by=ME)

        with suppress(InvalidCommand):
            self.do(work())

    @rule(number=which)
    def break_at(self, number: int) -> None:
        with suppress(InvalidCommand):
            self.do(self.controls.set_breakpoint(self.chosen(number), "tool", "*", by=ME))

    @rule(enough=st.sampled_from([0.0, 0.01, 0.05, 0.2]))
    def drive(self, enough: float) -> None:
        async def work() -> None:
            async with self.bench.driving(grace_s=0.0):
                await asyncio.sleep(enough)

        self.do(work())

    @invariant()
    def what_is_written_is_legal(self) -> None:
        for run in self.runs:
            _replay(self.do(self.bench.journal.read(run)))

    def teardown(self) -> None:
        async def end_all() -> None:
            for run in self.runs:
                with suppress(InvalidCommand):
                    await self.bench.decisions.abort(run, by=ME)
            async with self.bench.driving(grace_s=0.0):
                for run in self.runs:
                    await self.bench.ended(run)
            await self.bench.journal.close()

        self.do(end_all())
        os.environ.pop("ORBITER_TEST_EFFECTS", None)
        self.runner.close()
        self.directory.cleanup()


def _replay(events: list[ev.JournalEvent]) -> None:
    state = DurableRun()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    for event in events:
        phase, nodes = state.phase, {node.id: node.phase for node in state.nodes.values()}
        state.apply(event)
        if isinstance(event, REWINDS):
            continue
        assert state.phase == phase or state.phase in RUNS.get(phase, set()), (phase, event)
        for node_id, was in nodes.items():
            if was in NODE_TERMINAL:
                assert state.nodes[node_id].phase == was, (node_id, event)


TestOperators = Operators.TestCase
TestOperators.settings = settings(
    max_examples=20, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
