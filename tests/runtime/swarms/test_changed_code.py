"""What user code may not do between two lives is seen: the run parks with the difference, no run gets another's
result.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.record.state.durable_run import DurableRun
from tests.runtime.bench import ME, Bench

BEFORE = """
from orbiter import Agent, Swarm, tool
from orbiter.ask import ask_operator
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script

@tool(idempotent=True)
async def ask(question: str) -> str:
    return str(await ask_operator(question))

script("changed/first", ["first's secret"])
script("changed/second", [Reply(calls=[Call("ask", {"question": "go on?"})]), "second got ${input}"])
swarm = Swarm(agents=[
    Agent(name="first", model="scripted:changed/first", instructions="be first"),
    Agent(name="second", model="scripted:changed/second", tools=[ask]),
])
"""


async def _parked(bench: Bench, text: str) -> tuple[str, DurableRun]:
    path = bench.root / "swarm.py"
    path.write_text(text)
    async with bench.driving(grace_s=0.0):
        run = await bench.decisions.start(f"{path}:swarm", "go", by=ME)
        state = await bench.until(run, lambda s: s.phase == "waiting")
    return run, state


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ('instructions="be first"', 'instructions="be last"', "digest"),
        (
            'Agent(name="first", model="scripted:changed/first"',
            'Agent(name="first", model="scripted:changed/second"',
            "model",
        ),
        ('Agent(name="first"', 'Agent(name="renamed"', "swarm(first...)~0"),
        ('name="second"', 'name="other"', "second~1"),
    ],
)
async def test_a_changed_swarm_parks_with_the_difference_shown(bench: Bench, old: str, new: str, shown: str) -> None:
    run, state = await _parked(bench, BEFORE)
    (asked,) = state.open_incidents
    await bench.decisions.answer(asked.opened.incident_id, "input", {"value": "yes"}, by=ME)
    path = bench.root / "swarm.py"
    assert old in BEFORE
    path.write_text(BEFORE.replace(old, new))
    async with bench.driving(grace_s=0.0):
        state = await bench.until(run, lambda s: s.phase == "waiting" and s.lives >= 2)
    (incident,) = state.open_incidents
    assert incident.opened.fault.rule_id == "recall-difference"
    assert shown in incident.opened.fault.user_message
    assert state.output == ""
    path.write_text(BEFORE)
    await bench.decisions.answer(incident.opened.incident_id, "retry", by=ME)
    async with bench.driving():
        state = await bench.ended(run)
    assert (state.phase, state.output) == ("completed", "second got first's secret")


async def test_a_swarm_that_can_no_longer_be_loaded_parks_and_goes_on_when_it_can(bench: Bench) -> None:
    run, state = await _parked(bench, BEFORE)
    (asked,) = state.open_incidents
    await bench.decisions.answer(asked.opened.incident_id, "input", {"value": "yes"}, by=ME)
    path: Path = bench.root / "swarm.py"
    path.write_text(f"{BEFORE}\nraise RuntimeError('half edited')\n")
    async with bench.driving(grace_s=0.0):
        (incident,) = await bench.incidents(run)
        assert "half edited" in incident.opened.message
        assert "swarm.py, line" in incident.opened.message
        path.write_text(BEFORE)
        state = await bench.ended_by(incident, "retry")
    assert state.output == "second got first's secret"
