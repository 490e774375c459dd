"""User code that ends its process: no run ends more than three, and no other run is blamed for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from runtime.record.inbox_row import InboxRow
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events
from tests.runtime.chaos.harness import ME, Place

SWARM = """
import asyncio, os, time
from pathlib import Path
from orbiter import Agent, HookPoint, ParallelGroup, tool
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script

HERE = Path(__file__).parent

def say(what):
    with (HERE / "words").open("a") as said:
        said.write(what + "\\n")

def count(what):
    words = HERE / "words"
    return words.read_text().split().count(what) if words.exists() else 0

def die(*_, **__):
    say("die")
    if not (HERE / "mended").exists():
        os._exit(9)
    return "alive"

@tool(idempotent=True)
def deadly() -> str:
    "Ends its process."
    # Not before the innocent is under way too, as long as both begin.
    both = (HERE / "innocent").exists() and count("die") < 2
    while both and not (HERE / "slow").exists():
        time.sleep(0.005)
    (HERE / "slow").unlink(missing_ok=True)
    return die()

@tool(idempotent=True)
async def deadly_async() -> str:
    "Ends its process."
    return die()

@tool(idempotent=True)
async def slow() -> str:
    "Is under way whenever the other ends the process."
    say("slow")
    (HERE / "slow").touch()
    for _ in range(40):
        await asyncio.sleep(0.01)
    return "slowly"

def agent(name, used, **more):
    script(f"deaths/{name}", [Reply(calls=[Call(used.name)]), f"{name} is done"])
    return Agent(name=name, model=f"scripted:deaths/{name}", tools=[used], **more)

sync_killer, async_killer, innocent = agent("sync", deadly), agent("async", deadly_async), agent("innocent", slow)
hook_killer = agent("hook", slow, hooks=[(HookPoint.START, die)])
both = ParallelGroup(name="both", agents=[agent("killer", deadly), agent("other", slow)])
"""
Places = Callable[[str], Place]


@asynccontextmanager
async def workspace(places: Places) -> AsyncIterator[Place]:
    async with places("w") as found:
        (found.root / "swarm.py").write_text(SWARM)
        yield found


async def deaths(place: Place) -> int:
    """Live until nothing is left to drive; how many processes ended on the way."""
    for number in range(12):
        if await place.lives.live(place.root) == 0:
            return number
    raise AssertionError(f"it is repeated in every life: {place.log}")


async def asked(place: Place, run_id: str) -> InboxRow:
    (incident,) = await place.journal.incidents(run_id)
    return incident


async def answer(place: Place, incident: InboxRow) -> None:
    await place.decisions.answer(incident.opened.incident_id, "retry", by=ME)


async def state_of(place: Place, run_id: str) -> DurableRun:
    return fold_events(await place.journal.read(run_id))


def said(place: Place, word: str) -> int:
    return (place.root / "words").read_text().split().count(word)


@pytest.mark.parametrize("killer", ["sync_killer", "async_killer"])
async def test_a_step_that_ends_its_process_is_set_aside_after_the_third_time(place: Places, killer: str) -> None:
    async with workspace(place) as here:
        run_id = await here.decisions.start(f"swarm.py:{killer}", "go", by=ME)
        assert await deaths(here) == said(here, "die") == 3
        incident = await asked(here, run_id)
        assert "ended its process 3 times" in incident.opened.message
        assert {"retry", "skip", "abort"} <= {each.id for each in incident.opened.options}
        await answer(here, incident)
        assert await deaths(here) == 1, "one more try, and no three"
        (here.root / "mended").touch()
        await answer(here, await asked(here, run_id))
        assert await deaths(here) == 0
        assert (await state_of(here, run_id)).phase == "completed"


async def test_what_was_only_under_way_in_the_same_process_is_not_blamed(place: Places) -> None:
    async with workspace(place) as here:
        (here.root / "innocent").touch()
        innocent = await here.decisions.start("swarm.py:innocent", "go", by=ME)
        killer = await here.decisions.start("swarm.py:sync_killer", "go", by=ME)
        assert await deaths(here) == 3
        assert (await state_of(here, innocent)).output == "innocent is done"
        assert (await asked(here, killer)).opened.action["tool"] == "deadly"


async def test_of_one_run_only_the_step_that_ends_the_process_is_set_aside(place: Places) -> None:
    async with workspace(place) as here:
        (here.root / "innocent").touch()
        run_id = await here.decisions.start("swarm.py:both", "go", by=ME)
        assert await deaths(here) == 3
        assert (await asked(here, run_id)).opened.action["tool"] == "deadly"
        state = await state_of(here, run_id)
        assert next(node for node in state.nodes.values() if node.name == "slow").phase == "succeeded"


@pytest.mark.parametrize("where", ["import", "factory", "hook"])
async def test_code_outside_steps_that_ends_its_process_is_set_aside(place: Places, where: str) -> None:
    code = {"import": "if not (HERE / 'mended').exists(): os.kill(os.getpid(), 9)\n", "factory": "made = die\n"}
    name = {"import": "innocent", "factory": "made", "hook": "hook_killer"}[where]
    async with workspace(place) as here:
        (here.root / "bad.py").write_text(SWARM + code.get(where, ""))
        bad = await here.decisions.start(f"bad.py:{name}", "go", by=ME)
        good = await here.decisions.start("swarm.py:innocent", "go", by=ME)
        assert await deaths(here) in (3, 4)  # a hook may have been preceded by what was recorded the first time
        assert (await state_of(here, good)).phase == "completed"
        incident = await asked(here, bad)
        assert "bad.py ended its process 3 times" in incident.opened.message
        assert ("import" in incident.opened.message) == (where != "hook")
        if where == "import":
            (here.root / "mended").touch()
            await answer(here, incident)
            assert await deaths(here) == 0
            assert (await state_of(here, bad)).phase == "completed"


def _life(number: int, *then: ev.JournalEvent) -> list[ev.JournalEvent]:
    return [ev.RunStarted(epoch=number, owner=f"here:1:{number:06}#1"), *then]


def _folded(*lives: list[ev.JournalEvent]) -> DurableRun:
    return fold_events([ev.RunCreated(run_id="r", ref="a.py:a"), *(event for life in lives for event in life)])


def test_lives_that_were_let_go_of_count_for_nothing() -> None:
    begun = ev.StepStarted(node_id="a/t#1", kind="tool", name="t", agent="a", attempt=1, epoch=1, idempotent=True)
    parked = ev.RunParked(reason="stop")
    assert _folded(*(_life(n, parked) for n in range(5))).deaths == 0
    state = _folded(*(_life(n, begun, parked) for n in range(5)), _life(9))
    assert state.nodes["a/t#1"].deaths == 0
    # The same supervisor took it up again: its process has not died.
    assert _folded(*(_life(1) for _ in range(5))).deaths == 0
    # A process that dies while its run only waits, its import being done, does not count.
    question = ev.StepRequested(node_id="a/t#1", kind="tool", name="t", agent="a")
    waiting = ev.RetryScheduled(node_id="a/t#1", attempt=2, max_attempts=4, delay_s=1, until=ev.utc_now())
    loaded = [_life(n, ev.SwarmLoaded()) for n in range(3, 9)]
    assert _folded(_life(1, question, waiting), _life(2), *loaded).deaths == 0
    assert _folded(*(_life(n) for n in range(4))).deaths == 3
    assert _folded(*(_life(n, begun) for n in range(4))).nodes["a/t#1"].deaths == 3
