"""How a life ends: code that cancels itself or catches its cancellation, what is resident, what is gone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.operations.run_controls import RunControls
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events
from runtime.worker import drive as driving
from tests.runtime.bench import ME, Bench

SWARM = '''
import asyncio, os
from pathlib import Path
from orbiter import Agent, tool
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script

HERE = Path(os.environ["ORBITER_TEST_EFFECTS"]).parent

async def gives_up(name: str) -> str:
    if not (HERE / "again").exists():
        (HERE / "again").touch()
        raise asyncio.CancelledError
    return "Go on."

@tool(idempotent=True)
async def cancelled_within() -> str:
    """Waits for what is cancelled."""
    helper = asyncio.create_task(asyncio.sleep(3600))
    helper.cancel()
    await helper
    return "done"

@tool(idempotent=True)
async def holds_on() -> str:
    """Catches its cancellation and comes to its end all the same."""
    (HERE / "begun").touch()
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        return "not me"
    return "done"

@tool(idempotent=True)
async def never() -> str:
    """Catches every cancellation but for the end of the test."""
    (HERE / "begun").touch()
    while not (HERE / "go").exists():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            continue
    return "done"

def agent(tool):
    script(f"endings/{tool.name}", [Reply(calls=[Call(tool.name, {})]), "told: ${result}"])
    return Agent(name=tool.name, model=f"scripted:endings/{tool.name}", tools=[tool])

script("endings/gives_up", ["done"])
one = Agent(name="one", model="scripted:endings/gives_up", instructions=gives_up)
two, three, four = agent(holds_on), agent(never), agent(cancelled_within)
'''


@pytest.fixture
def swarm(bench: Bench) -> Path:
    path = bench.root / "endings.py"
    path.write_text(SWARM)
    return path


async def test_code_that_cancels_itself_is_asked_about_and_not_lost(bench: Bench, swarm: Path) -> None:
    async with bench.driving():
        (incident,) = await bench.incidents(await bench.decisions.start(f"{swarm}:one", "go", by=ME))
        assert "though it was not cancelled" in incident.opened.message
        offered = [option.id for option in incident.opened.options]
        state = await bench.ended_by(incident, "retry" if "retry" in offered else "abort")
    assert state.phase == ("completed" if "retry" in offered else "aborted")


async def test_a_tool_in_which_something_was_cancelled_has_failed_and_its_model_is_told(
    bench: Bench, swarm: Path
) -> None:
    async with bench.driving():
        state = await bench.ended(await bench.decisions.start(f"{swarm}:four", "go", by=ME))
    assert (state.phase, state.incidents) == ("completed", {})
    assert "'cancelled_within' failed: something that it waited for was cancelled" in state.output


@pytest.mark.parametrize("name", ["two", "three"])
async def test_an_abort_ends_a_run_whose_code_catches_its_cancellation(
    bench: Bench, swarm: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "_CANCEL_RETRY_S", 0.05)
    async with bench.driving():
        run = await bench.decisions.start(f"{swarm}:{name}", "go", by=ME)
        await bench.file("begun")
        await bench.decisions.abort(run, reason="enough", by=ME)
        state = await bench.ended(run)
        last = state.last_seq
        (bench.root / "go").touch()
        await bench.ended(await bench.start("plain"))
    assert (state.phase, state.error) == ("aborted", "enough")
    assert (await bench.state(run)).last_seq == last


async def test_a_parked_run_holds_no_task(bench: Bench) -> None:
    async with bench.driving(grace_s=0.0) as supervisor:
        await bench.ended(await bench.start("plain"))
        before = len(asyncio.all_tasks())
        runs = [await bench.start("saver") for _ in range(30)]
        for run in runs:
            await bench.until(run, lambda s: s.phase == "waiting")
        async with asyncio.timeout(60):
            while supervisor.driving:  # noqa: ASYNC110 - no event tells of it
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        assert len(asyncio.all_tasks()) <= before
    assert len(await bench.journal.incidents()) == len(runs)


def test_a_freeze_between_claim_and_start_holds() -> None:
    events: list[ev.JournalEvent] = [
        ev.RunCreated(ref="x:y", run_id="r"),
        ev.RunFrozen(),
        ev.RunStarted(epoch=1),
        ev.RunParked(reason="waiting"),
    ]
    state = fold_events([replace(event, seq=seq) for seq, event in enumerate(events, 1)])
    assert (state.phase, state.anomalies) == ("frozen", 0)


async def test_a_fork_whose_source_is_gone_does_nothing_again(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("workflow")
        await bench.ended(run)
    effects = list(bench.effects)
    fork = await RunControls(bench.journal).fork(run, by=ME)
    assert run in await bench.journal.prune(max_bytes=0)
    async with bench.driving():
        state: DurableRun = await bench.ended(fork)
    assert state.phase == "failed"
    assert "is gone" in state.error
    assert bench.effects == effects


SLOW_TO_LEAVE = '''
import asyncio
from orbiter import steps
from orbiter._internal.loop.value_step import VALUE_CODEC
from orbiter.steps import Place, Step, Traits
from orbiter.types import RunResult
from tests.data.swarms.graphs import effect

async def wipe(arguments):
    effect("wiped")
    return "wiped"

class Slow:
    """Its step is in a task within a task, and is cancelled only after it has its answer."""

    name = "slow"

    async def run(self, input, **more):
        async with steps.opening("agent", self.name) as scope:
            traits = Traits(permissions=("disk.wipe",))
            step = Step("tool", "wipe", self.name, Place(0), {}, wipe, VALUE_CODEC, traits)
            within = asyncio.create_task(scope.step(step))
            try:
                output = await asyncio.shield(within)
            except asyncio.CancelledError:
                scope.warn("leaving")
                output = await within
            scope.outcome(output)
        return RunResult(output=output, steps=1, agent=self.name)

slow = Slow()
'''


async def test_an_answer_that_comes_while_a_run_leaves_memory_begins_no_step_of_that_life(bench: Bench) -> None:
    app = bench.root / "slow.py"
    app.write_text(SLOW_TO_LEAVE)
    async with bench.driving(grace_s=0.0):
        run = await bench.decisions.start(f"{app}:slow", "go", by=ME)
        leaving = await bench.until(run, lambda state: any(node.warnings for node in state.nodes.values()))
        (asked,) = await bench.journal.incidents(run)
        assert leaving.phase == "running"
        state = await bench.ended_by(asked, "grant")
    assert (state.phase, state.lives, len(state.incidents)) == ("completed", 2, 1)
    assert bench.effects == ["wiped"]
