"""A run that cannot be carried on for a reason of its own: it waits with an incident, and calls no model again."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.failures.quarantine import RULE_ID
from runtime.operations.run_controls import RunControls
from runtime.record.journal import Journal, JournalError, Lease, Unrecordable
from runtime.record.places import open_journal
from runtime.record.rules import stored_journal
from runtime.record.rules.rows import EventRow, decode_event, encode_event
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from runtime.worker import drive as driving
from runtime.worker.blocked_runs import MAX_HOLD_UP_TRIES
from runtime.worker.supervisor import Supervisor
from tests.runtime.bench import ME, Bench
from tests.runtime.record.sqlite_parts import writer_of

ASKED: Counter[str] = Counter()
"""`model`: how often the model was asked. `deep`: how often it answers what cannot be written."""

DEEP = """
from orbiter import Agent, tool
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script
from tests.runtime.execution.failures.test_quarantine import ASKED

@tool
def look() -> str:
    return "seen"

@script("stranded/deep")
def speaker(messages, tools):
    if messages[-1].role != "tool":
        return Reply(calls=[Call("look", {})])
    ASKED["model"] += 1
    if ASKED["model"] <= ASKED["deep"]:
        return Reply(text="unwritable")
    return Reply(text="all seen")

swarm = Agent(name="looker", model="scripted:stranded/deep", tools=[look])
"""

NESTING = """
from orbiter import Agent, tool
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script

@tool
def look(value: dict) -> str:
    return "seen"

@script("stranded/nesting")
def speaker(messages, tools):
    if messages[-1].role == "tool":
        return Reply(text=messages[-1].content or messages[-1].error or "")
    return Reply(calls=[Call("look", '{"a":' * LEVELS + "{}" + "}" * LEVELS)])

swarm = Agent(name="looker", model="scripted:stranded/nesting", tools=[look])
"""


def nested(levels: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def test_what_could_not_be_read_back_is_not_written() -> None:
    event = ev.StepEnded(node_id="a~0", attempt=1, result={"value": nested(150)})
    assert decode_event("r", 1, encode_event(event).body).node_id == "a~0"
    for levels in (185, 220, 260, 5_000):
        with pytest.raises(Unrecordable, match=r"step.ended of node 'a~0' cannot be written"):
            encode_event(replace(event, result={"value": nested(levels)}))


def _refuses(monkeypatch: pytest.MonkeyPatch, refused: Callable[[ev.JournalEvent], bool]) -> None:
    """Events that nothing but themselves keeps from being written."""

    def encode(event: ev.JournalEvent) -> EventRow:
        if refused(event):
            raise Unrecordable(f"{event.type} of node {event.node_id!r} cannot be written")
        return encode_event(event)

    monkeypatch.setattr(stored_journal, "encode_event", encode)


@pytest.fixture
def unwritable(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the model says is refused as often as `ASKED["deep"]` says."""
    _refuses(monkeypatch, lambda event: isinstance(event, ev.StepEnded) and "unwritable" in str(event.result))


async def _stranded(bench: Bench, deep: int) -> str:
    ASKED.clear()
    ASKED["deep"] = deep
    (bench.root / "deep.py").write_text(DEEP)
    run = await bench.decisions.start(f"{bench.root / 'deep.py'}:swarm", "go", by=ME)
    await bench.until(run, lambda s: s.phase == "waiting")
    return run


@pytest.mark.usefixtures("unwritable")
async def test_a_reply_that_cannot_be_written_parks_the_run_and_is_asked_for_once(bench: Bench) -> None:
    async with bench.driving(grace_s=0.0):
        run = await _stranded(bench, deep=1)
        (incident,) = await bench.journal.incidents(run)
        opened = incident.opened
        assert (opened.fault.rule_id, [option.id for option in opened.options]) == (RULE_ID, ["retry", "abort"])
        assert "step.ended of node 'looker~0/llm~1' cannot be written" in opened.message
        summary = await bench.journal.summary(run)
        assert summary is not None
        assert (summary.state, summary.open_incidents, ASKED["model"]) == ("waiting", 1, 1)
        ended = await bench.ended_by(incident, "retry")
    assert (ended.phase, ended.output, ASKED["model"]) == ("completed", "all seen", 2)
    assert ended.anomalies == 0


@pytest.mark.usefixtures("unwritable")
async def test_what_strands_again_waits_again_and_abort_ends_it(bench: Bench) -> None:
    async with bench.driving(grace_s=0.0):
        run = await _stranded(bench, deep=9)
        (incident,) = await bench.journal.incidents(run)
        await bench.answer(incident, "retry")
        await bench.until(run, lambda s: s.phase == "waiting" and len(s.incidents) == 2)
        (incident,) = await bench.journal.incidents(run)
    await bench.answer(incident, "abort", reason="enough")  # while nothing runs
    async with bench.driving(grace_s=0.0):
        ended = await bench.ended(run)
        assert (ended.phase, ended.error, ended.lives, ASKED["model"]) == ("aborted", "enough", 3, 2)
        # The operator who turns it back has found another way: what ended it then does not end it again.
        ASKED["deep"] = 0
        await RunControls(bench.journal).rewind(run, "looker~0/llm~0", confirm=True, by=ME)
        assert (await bench.until(run, lambda s: s.phase == "completed")).output == "all seen"


@pytest.mark.usefixtures("unwritable")
async def test_turning_back_answers_a_stranding(bench: Bench) -> None:
    async with bench.driving(grace_s=0.0):
        run = await _stranded(bench, deep=1)
        await RunControls(bench.journal).rewind(run, "looker~0", confirm=True, by=ME)
        ended = await bench.ended(run)
    assert (ended.phase, ended.open_incidents, ASKED["model"]) == ("completed", [], 2)


NO_JSON, NO_TEXT = "replace(body, '}', ']')", "CAST(X'7bff22' AS TEXT)"


async def _spoil(bench: Bench, run: str, body: str) -> None:
    """As a file that was damaged from outside: one event of the run is JSON no more, or not even text."""
    writer = writer_of(bench.journal)
    sql = f"UPDATE event SET body = {body} WHERE seq = 3 AND run = (SELECT rid FROM run WHERE id = ?)"
    await writer.run_exclusive(lambda connection: connection.execute(sql, (run,)).fetchall())


@pytest.mark.parametrize(("how", "body"), [("answer", NO_JSON), ("request", NO_TEXT)])
async def test_a_run_that_cannot_be_read_says_so_and_can_be_aborted(bench: Bench, how: str, body: str) -> None:
    async with bench.driving(grace_s=0.0):
        run, question = await bench.asked("asker")
        await bench.until(run, lambda s: s.phase == "waiting")
        await _spoil(bench, run, body)
        assert await bench.journal.check() == [f"event 3 of run {run} is not JSON"]
        await bench.answer(question, "input", value="x")
        async with asyncio.timeout(60):
            while not (  # noqa: ASYNC110 - of a run that cannot be read
                found := [each for each in await bench.journal.incidents(run) if each.opened.fault.rule_id]
            ):
                await asyncio.sleep(0.01)
        (incident,) = found
        assert ("cannot be read" if body is NO_JSON else "cannot read in") in incident.opened.message
        assert (incident.title, incident.opened.task) == ("go", "go")
        if how == "answer":
            await bench.answer(incident, "abort", reason="beyond help")
        else:
            await bench.decisions.abort(run, reason="beyond help", by=ME)
        async with asyncio.timeout(60):
            while (  # noqa: ASYNC110 - of a run that cannot be read
                summary := await bench.journal.summary(run)
            ) is None or summary.state != "aborted":
                await asyncio.sleep(0.01)
    assert await bench.journal.incidents(run) == []


async def test_a_fault_of_the_runtime_itself_is_tried_a_few_times_and_then_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    async def fails(journal: Journal, lease: Lease, *_: object) -> driving.DriveOutcome:
        tried.append(lease.run_id)
        raise ZeroDivisionError("not thought of")

    monkeypatch.setattr(driving, "_resume", fails)
    async with _hasty(bench) as supervisor:
        run, incident = await bench.asked("asker")
        assert "ZeroDivisionError: not thought of" in incident.opened.message
        assert len(tried) == MAX_HOLD_UP_TRIES
        await bench.until(run, lambda s: s.phase == "waiting")
        monkeypatch.undo()
        monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(bench.effects_file))
        await bench.answer(incident, "retry")
        (question,) = await bench.incidents(run)
        assert question.opened.question
        assert [each for each in supervisor.blocked_runs if each.run_id == run] == []


async def test_where_not_even_the_incident_can_be_written_the_runtime_says_so_and_waits_longer_each_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _refuses(monkeypatch, lambda event: isinstance(event, ev.NodeOpened | ev.IncidentOpened))
    async with _hasty(bench) as supervisor:
        run = await bench.start("asker")
        pauses: list[logging.LogRecord] = []
        async with asyncio.timeout(60):
            while not supervisor.blocked_runs or supervisor.blocked_runs[0].times < 4:
                await asyncio.sleep(0.001)
                pauses += [each for each in caplog.records if "again in" in each.message][len(pauses) :]
        (held,) = supervisor.blocked_runs
        assert (held.run_id, held.reason) == (run, "incident.opened of node '' cannot be written")
        monkeypatch.undo()
        monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(bench.effects_file))
        await bench.incidents(run)
        assert [each for each in supervisor.blocked_runs if each.run_id == run] == []
    lengths = [float(each.args[2]) for each in pauses if isinstance(each.args, tuple)]  # type: ignore[arg-type]
    assert lengths[:4] == [pytest.approx(lengths[0] * factor) for factor in (1, 2, 4, 8)]


class _Hasty:
    """A supervisor whose leases are short, so that what fails is soon tried again."""

    def __init__(self, bench: Bench) -> None:
        self._supervisor = Supervisor(
            bench.journal, ExecutionConfig(workspace=str(bench.root), grace_s=0.0), period_s=0.01, lease_s=0.1
        )

    async def __aenter__(self) -> Supervisor:
        self._serving = asyncio.create_task(self._supervisor.serve())
        return self._supervisor

    async def __aexit__(self, *_: object) -> None:
        self._supervisor.stop()
        await self._serving


_hasty = _Hasty


async def test_the_row_that_is_at_fault_fails_alone(tmp_path: Path) -> None:
    """What SQLite refuses of one run keeps no other run's events from being written in the same transaction."""
    async with await open_journal(tmp_path) as journal:
        for run in ("a", "b"):
            await journal.create(ev.RunCreated(run_id=run, ref="x:y"), Summary(id=run, ref="x:y"))
        leases = [await journal.claim(run, "me", 60) for run in ("a", "b")]
        sql = "INSERT INTO event (pos, run, seq, body) SELECT 999, rid, 2, '{}' FROM run WHERE id = 'a'"
        await writer_of(journal).run_exclusive(lambda connection: connection.execute(sql).fetchall())
        started = [ev.RunStarted(epoch=1)]
        results = await asyncio.gather(
            *(journal.append(lease, started) for lease in leases if lease is not None), return_exceptions=True
        )
        assert isinstance(results[0], Unrecordable)
        assert not isinstance(results[1], JournalError)
        assert [event.seq for event in await journal.read("b")] == [1, 2]


@pytest.mark.parametrize("levels", [120, 300, 20_000])
async def test_a_model_that_nests_arguments_beyond_reason_is_told_so(bench: Bench, levels: int) -> None:
    (bench.root / "nesting.py").write_text(NESTING.replace("LEVELS", str(levels)))
    async with bench.driving():
        ended = await bench.ended(await bench.decisions.start(f"{bench.root / 'nesting.py'}:swarm", "go", by=ME))
    assert (ended.phase, ended.incidents) == ("completed", {})
    assert "nested" in ended.output or "recursion" in ended.output
