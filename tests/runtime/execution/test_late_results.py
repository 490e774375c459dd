"""Calls that cannot be stopped, in threads and in coroutines: their node ends, and what they bring later is dropped."""

from __future__ import annotations

import asyncio
import traceback
from pathlib import Path

import pytest

from runtime.execution.failures import call_limit
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import Cause, Effect
from tests.patience import PATIENCE_S
from tests.runtime.bench import ME, Bench

SWARM = '''
import asyncio, os, time
from pathlib import Path
from orbiter import Agent, tool
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script

HERE = Path(os.environ["ORBITER_TEST_EFFECTS"]).parent

def work(what):
    (HERE / "begun").touch()
    while not (HERE / "go").exists():
        time.sleep(0.005)
    with (HERE / "effects").open("a") as world:
        world.write(what + "\\\\n")
    if what == "fail":
        raise OSError("the line went dead")
    return f"did {what}"

@tool
def slow(what: str) -> str:
    """Takes as long as it takes."""
    return work(what)

@tool(timeout=0.1)
def limited(what: str) -> str:
    """May take a tenth of a second."""
    return work(what)

@tool(timeout=0.1)
async def stubborn(what: str) -> str:
    """Catches its cancellation, and goes on."""
    while not (HERE / "go").exists():
        try:
            await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            (HERE / "cancelled").touch()
    return work(what)

@tool(timeout=0.1)
async def tidy(what: str) -> str:
    """Comes back when it is cancelled."""
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        return f"half of {what}"

def agent(name, tool, what):
    script(f"threads/{name}", [Reply(calls=[Call(tool.name, {"what": what})]), "told: ${result}"])
    return Agent(name=name, model=f"scripted:threads/{name}", tools=[tool])

aborted = agent("aborted", slow, "sold")
failing = agent("failing", slow, "fail")
timed = agent("timed", limited, "sold")
held = agent("held", stubborn, "sold")
back = agent("back", tidy, "sold")
'''.replace("\\\\n", "\\n")


@pytest.fixture
def swarm(bench: Bench) -> Path:
    path = bench.root / "threads.py"
    path.write_text(SWARM)
    return path


def _late(state: DurableRun) -> bool:
    return any("came back" in warning for node in state.nodes.values() for warning in node.warnings)


@pytest.mark.parametrize(("name", "told"), [("aborted", "it returned"), ("failing", "the line went dead")])
async def test_an_abort_does_not_wait_for_a_thread(bench: Bench, swarm: Path, name: str, told: str) -> None:
    async with bench.driving() as supervisor:
        run = await bench.decisions.start(f"{swarm}:{name}", "go", by=ME)
        await bench.file("begun")
        await bench.decisions.abort(run, reason="enough", by=ME)
        state = await bench.ended(run)
        assert (state.phase, bench.effects) == ("aborted", [])
        (call,) = [node for node in state.nodes.values() if node.kind == "tool"]
        assert call.phase == "cancelled"
        ended = [event for event in await bench.journal.read(run) if isinstance(event, ev.StepEnded)][-1]
        assert (ended.node_id, ended.effect_unknown) == (call.id, True)
        (bench.root / "go").touch()
        state = await bench.until(run, _late)
        while supervisor.driving:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.01)
    late = (await bench.journal.read(run))[-1]
    assert isinstance(late, ev.LateResultDropped)
    assert told in late.summary
    assert (state.phase, state.anomalies, state.nodes[call.id].result) == ("aborted", 0, None)


@pytest.mark.parametrize("name", ["timed", "held"])
async def test_a_time_out_ends_the_node_with_its_effect_unknown(
    bench: Bench, swarm: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_limit, "CANCEL_S", 0.05)
    async with bench.driving():
        run = await bench.decisions.start(f"{swarm}:{name}", "go", by=ME)
        state = await bench.ended(run)
        assert bench.effects == []
        (bench.root / "go").touch()
        later = await bench.until(run, _late)
    (call,) = [node for node in state.nodes.values() if node.kind == "tool"]
    assert (state.phase, call.phase) == ("completed", "timed_out")
    assert call.fault is not None
    assert (call.fault.cause, call.fault.effect) == (Cause.TIMEOUT, Effect.UNKNOWN)
    assert "within 0.1 s; whether it took effect is not known" in state.output
    assert later.nodes[call.id].result == call.result
    ended = [event for event in await bench.journal.read(run) if isinstance(event, ev.StepEnded)]
    assert [event.effect_unknown for event in ended if event.node_id == call.id] == [True]


async def test_a_call_that_comes_back_when_it_is_cancelled_is_taken_at_its_word(bench: Bench, swarm: Path) -> None:
    async with bench.driving():
        run = await bench.decisions.start(f"{swarm}:back", "go", by=ME)
        state = await bench.ended(run)
    assert (state.phase, state.output) == ("completed", "told: half of sold")


async def test_an_abort_does_not_wait_for_code_that_catches_its_cancellation(
    bench: Bench, swarm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_limit, "CANCEL_S", 0.05)
    swarm.write_text(SWARM.replace("timeout=0.1", "timeout=60"))
    async with bench.driving():
        run = await bench.decisions.start(f"{swarm}:held", "go", by=ME)
        await bench.until(run, lambda state: any(node.kind == "tool" for node in state.nodes.values()))
        await bench.decisions.abort(run, reason="enough", by=ME)
        state = await bench.ended(run)
        await bench.file("cancelled")
        (bench.root / "go").touch()
        await bench.until(run, _late)
    assert state.phase == "aborted"


@pytest.mark.parametrize("turns", range(6))
async def test_a_cancellation_is_not_lost_where_a_call_ends_in_the_same_turn(turns: int) -> None:
    gate, after = asyncio.Event(), asyncio.Event()

    async def call() -> str:
        await gate.wait()
        return "done"

    async def member() -> None:
        await call_limit.call_within(60, call(), lambda _result, _error: None)
        await after.wait()

    task = asyncio.create_task(member())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    gate.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, PATIENCE_S)


async def test_the_report_of_a_time_out_says_where_the_call_hung() -> None:
    async def fetch_page() -> None:
        await asyncio.Event().wait()

    with pytest.raises(call_limit.CallOverdue) as caught:
        await call_limit.call_within(0.01, fetch_page(), lambda _result, _error: None)
    cause = caught.value.__cause__
    assert cause is not None
    assert "in fetch_page" in "".join(traceback.format_exception(cause))


async def test_a_value_that_comes_as_an_overdue_call_is_given_up_is_late() -> None:
    late = list[object]()
    cancelled, release = asyncio.Event(), asyncio.Event()

    async def call() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
        await release.wait()
        return "half"

    task = asyncio.create_task(call_limit.call_within(0.01, call(), lambda result, _error: late.append(result)))
    await cancelled.wait()
    release.set()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    assert late == ["half"]
