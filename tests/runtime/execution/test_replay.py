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


KEYED = r'''
import os
from orbiter import Agent, Swarm, run, tool
from orbiter.ask import ask_operator
from orbiter.models.model_errors import ModelError
from orbiter.models.provider import model_registry
from orbiter.models.scripted.provider import ScriptedProvider, script
from orbiter.models.scripted.replies import Call, Reply

class Keyed(ScriptedProvider):
    """A provider with a key, which it asks for before each call as those of vendors do."""

    def check(self):
        super().check()
        if "KEYED_KEY" not in os.environ:
            raise ModelError("No API key: KEYED_KEY is not set", provider="keyed", code="missing_api_key")

    async def complete(self, *args, **more):
        self.check()
        return await super().complete(*args, **more)

model_registry.register("keyed-KIND", Keyed)

@tool(idempotent=True)
async def ask(question: str) -> str:
    """Ask."""
    return str(await ask_operator(question))

class Own(Agent):
    async def run(self, *args, **options):
        return await super().run(*args, **options)

script("keyed/first", ["first is done"])
script("keyed/asker", [Reply(calls=[Call("ask", {"question": "go on?"})]), "asked about: ${input}"])
first = FIRST(name="first", model="keyed-KIND:keyed/first")
swarm = Swarm(agents=[first, Agent(name="asker", model="scripted:keyed/asker", tools=[ask])])
alone = Agent(name="alone", model="keyed-KIND:keyed/asker", tools=[ask])
'''


@pytest.mark.parametrize("kind", ["Agent", "Own"])
async def test_an_agent_that_has_finished_needs_no_key_in_a_later_life(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setenv("KEYED_KEY", "k")
    path = Path(bench.root) / f"keyed_{kind}.py"
    path.write_text(KEYED.replace("FIRST", kind).replace("KIND", kind))
    async with bench.driving(grace_s=0.0):
        run = await bench.decisions.start(f"{path}:swarm", "go", by=ME)
        (incident,) = await bench.incidents(run)
        await bench.until(run, lambda s: s.phase == "waiting")
    monkeypatch.delenv("KEYED_KEY")
    await bench.answer(incident, "input", value="yes")
    async with bench.driving(grace_s=0.0):
        state = await bench.until(run, lambda s: s.terminal or bool(s.open_incidents))
    assert (state.phase, state.output) == ("completed", "asked about: first is done")


async def test_a_call_that_is_not_recorded_asks_for_the_key_and_can_be_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEYED_KEY", "k")
    path = Path(bench.root) / "keyed_later.py"
    path.write_text(KEYED.replace("FIRST", "Own").replace("KIND", "later"))
    async with bench.driving(grace_s=0.0):
        run = await bench.decisions.start(f"{path}:alone", "go", by=ME)
        (incident,) = await bench.incidents(run)
        await bench.until(run, lambda s: s.phase == "waiting")
        monkeypatch.delenv("KEYED_KEY")
        await bench.answer(incident, "input", value="yes")
        fresh = await bench.decisions.start(f"{path}:swarm", "go", by=ME)
        for each, where in ((fresh, "first~0/llm~0"), (run, "alone~0/llm~1")):
            (asked,) = await bench.incidents(each)
            assert asked.opened.node_id.endswith(where)
            assert asked.opened.fault.code == "missing_api_key"
            assert {"retry", "switch_model"} <= {option.id for option in asked.opened.options}
        monkeypatch.setenv("KEYED_KEY", "k")
        assert (await bench.ended_by(asked, "retry")).output == "asked about: go"
