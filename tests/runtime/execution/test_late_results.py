"""Calls that cannot be stopped, in threads and in coroutines: their node ends, and what they bring later is dropped."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runtime.execution.failures import call_limit
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import Cause, Effect
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
