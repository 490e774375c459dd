"""Rules of recall that only another life shows: winners stay winners, hooks and values are not asked again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from runtime.operations.run_controls import RunControls
from tests.runtime.bench import ME, Bench

RACE = r'''
import asyncio, os
from pathlib import Path
from orbiter import Agent, ParallelGroup, Swarm, tool
from orbiter.ask import ask_operator
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script

HERE = Path(os.environ["ORBITER_TEST_EFFECTS"]).parent

def effect(text):
    with (HERE / "effects").open("a") as world:
        world.write(text + "\n")

@tool(idempotent=True)
async def wait_for(what: str) -> str:
    """Wait for a file."""
    effect(f"wait {what}")
    while not (HERE / what).exists():
        await asyncio.sleep(0.005)
    return f"{what} is there"

@tool(idempotent=True)
async def ask(question: str) -> str:
    """Ask."""
    return str(await ask_operator(question))

def racer(name):
    script(f"race/{name}", [Reply(calls=[Call("wait_for", {"what": name})]), f"{name} won"])
    return Agent(name=name, model=f"scripted:race/{name}", tools=[wait_for])

script("race/asker", [Reply(calls=[Call("ask", {"question": "go on?"})]), "asked about: ${input}"])
asker = Agent(name="asker", model="scripted:race/asker", tools=[ask])
race = Swarm(agents=[
    ParallelGroup(name="race", agents=[racer("a"), racer("b"), racer("c")], join="JOIN"),
    asker,
])
'''


@pytest.mark.parametrize(
    ("join", "arrived", "output"),
    [("first_success", ["c"], "c won"), ("quorum:2", ["c", "a"], "a won\n\nc won")],
)
async def test_who_won_a_race_has_won_it_in_every_life(
    bench: Bench, join: str, arrived: list[str], output: str
) -> None:
    path = Path(bench.root) / "race.py"
    path.write_text(RACE.replace("JOIN", join))
    async with bench.driving(grace_s=0.0):
        run = await bench.decisions.start(f"{path}:race", "go", by=ME)
        for name in arrived:
            (bench.root / name).touch()
        (incident,) = await bench.incidents(run)
        await bench.until(run, lambda s: s.phase == "waiting")
    # Now the losers could have been faster.
    for name in ("a", "b", "c"):
        (bench.root / name).touch()
    before = list(bench.effects)
    await bench.answer(incident, "input", value="yes")
    async with bench.driving(grace_s=0.0):
        state = await bench.ended(run)
    assert state.output == f"asked about: {output}"
    assert (state.phase, state.anomalies) == ("completed", 0)
    assert bench.effects == before
    group = next(node for node in state.nodes.values() if node.kind == "group")
    phases = {state.nodes[child].name: state.nodes[child].phase for child in group.children}
    assert all(phases[name] == "succeeded" for name in arrived)
    assert all(phases[name] == "cancelled" for name in {"a", "b", "c"} - set(arrived))


async def test_a_rewind_to_a_racer_lets_the_race_be_run_again(bench: Bench) -> None:
    path = Path(bench.root) / "race.py"
    path.write_text(RACE.replace("JOIN", "first_success"))
    async with bench.driving():
        run = await bench.decisions.start(f"{path}:race", "go", by=ME)
        (bench.root / "c").touch()
        (incident,) = await bench.incidents(run)
        (bench.root / "c").unlink()
        group = next(node for node in (await bench.state(run)).nodes.values() if node.kind == "group")
        winner = next(child for child in group.children if "/c~" in child)
        await RunControls(bench.journal).rewind(run, winner, by=ME)
        await bench.until(run, lambda s: incident.opened.incident_id in s.incidents and not s.open_incidents)
        async with asyncio.timeout(60):
            while bench.effects.count("wait c") < 2:  # noqa: ASYNC110 - told by a file
                await asyncio.sleep(0.01)
        (bench.root / "b").touch()
        (again,) = await bench.incidents(run)
        state = await bench.ended_by(again, "input", value="yes")
    assert state.output == "asked about: b won"
