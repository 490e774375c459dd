"""A run that another version of the program drove resumes, or parks with the reason."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from tests.runtime.bench import Bench


async def _parked(bench: Bench) -> tuple[str, str]:
    async with bench.driving(grace_s=0.0):
        run, incident = await bench.asked("saver")
        await bench.until(run, lambda s: s.phase == "waiting")
    return run, incident.opened.incident_id


async def _reopened(bench: Bench, path: Path, run: str, old: str, new: str) -> Bench:
    """The journal with the text of one of the run's events changed, as another program would have written it."""
    await bench.journal.close()
    with closing(sqlite3.connect(path)) as file, file:
        found = file.execute(
            "UPDATE event SET body = replace(body, ?, ?)"
            " WHERE instr(body, ?) AND run = (SELECT rid FROM run WHERE id = ?)",
            (old, new, old, run),
        )
        assert found.rowcount == 1
    file.close()
    return Bench(bench.root, await open_journal(path.parent))


async def test_a_run_of_an_older_program_goes_on(bench: Bench, tmp_path: Path) -> None:
    run, incident_id = await _parked(bench)
    old = '"type":"run.started",'
    other = await _reopened(bench, tmp_path / "journal.db", run, old, f'{old}"program":"orbiter-console 0.0.1",')
    async with other.journal:
        await other.decisions.answer(incident_id, "deny", by=ev.Actor(name="me"))
        async with other.driving():
            state = await other.ended(run)
    assert (state.phase, state.anomalies) == ("completed", 0)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ('{"type":"node.opened"', '{"type":"node.promised"', "node.promised"),
        ('{"type":"step.ended"', '{"type":"step.ended","v":2', "step.ended"),
    ],
)
async def test_a_run_of_a_newer_program_parks_with_the_reason(
    bench: Bench, tmp_path: Path, old: str, new: str, shown: str
) -> None:
    run, incident_id = await _parked(bench)
    other = await _reopened(bench, tmp_path / "journal.db", run, old, new)

    def told(state: DurableRun) -> bool:
        return state.lives >= 2 and any(shown in each.opened.message for each in state.open_incidents)

    async with other.journal:
        await other.decisions.answer(incident_id, "deny", by=ev.Actor(name="me"))
        async with other.driving(grace_s=0.0):
            state = await other.until(run, told)
            (incident,) = [each for each in state.open_incidents if shown in each.opened.message]
            assert "Update orbiter-console" in incident.opened.fault.technical + incident.opened.message + str(
                incident.opened.fault.suggestions
            )
            await other.decisions.answer(incident.opened.incident_id, "abort", by=ev.Actor(name="me"))
            assert (await other.ended(run)).phase == "aborted"
    assert bench.effects == []
