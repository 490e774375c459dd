"""A tool that raises what would end the process: an incident at its step, and the agents beside it go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.record.state.fault_taxonomy import Cause
from tests.runtime.bench import ME, Bench

FILE = Path(__file__).parents[3] / "data" / "swarms" / "stopping.py"


MUTE = """
from orbiter import Agent, tool
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply

class Detached:
    def __repr__(self): raise RuntimeError("it is detached")

@tool(failure="fail")
def pay() -> str:
    raise ValueError("card declined", ARGUMENT)

script("user/mute", [Reply(calls=[Call("pay", {})]), "done"])
swarm = Agent(name="payer", model="scripted:user/mute", tools=[pay])
"""


@pytest.mark.parametrize("argument", ["Detached()", "10**5000"])
async def test_an_exception_whose_arguments_cannot_be_written_is_told_at_its_step(bench: Bench, argument: str) -> None:
    file = bench.root / "mute.py"
    file.write_text(MUTE.replace("ARGUMENT", argument))
    async with bench.driving():
        run = await bench.decisions.start(f"{file}:swarm", "go", by=ME)
        (asked,) = await bench.incidents(run)
        state = await bench.state(run)
    assert asked.opened.action["tool"] == "pay"
    assert asked.opened.message == "Tool 'pay' failed: card declined"
    assert asked.opened.causes[-1] == "ValueError: card declined"
    assert "result" in [each.id for each in asked.opened.options]
    assert state.nodes[asked.opened.node_id].attempts == 1


@pytest.mark.parametrize("how", ["exit", "memory", "recursion"])
@pytest.mark.parametrize("kind", ["plain", "awaited"])
async def test_it_is_asked_at_its_step_and_its_sibling_ends(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, kind: str, how: str
) -> None:
    mended, go = bench.root / "mended", bench.root / "go"
    monkeypatch.setenv("ORBITER_TEST_MENDED", str(mended))
    monkeypatch.setenv("ORBITER_TEST_GO", str(go))
    async with bench.driving():
        run = await bench.decisions.start(f"{FILE}:{kind}__{how}", "go", by=ME)
        (asked,) = await bench.incidents(run)
        assert asked.opened.fault.cause is Cause.TOOL_FAILED
        assert asked.opened.action["tool"] == kind
        assert "retry" in [each.id for each in asked.opened.options]
        go.touch()
        state = await bench.until(
            run, lambda state: any(node.name == "second" and node.phase == "succeeded" for node in state.nodes.values())
        )
        assert not state.terminal
        assert [each.opened.incident_id for each in state.open_incidents] == [asked.opened.incident_id]
        mended.touch()
        state = await bench.ended_by(asked, "retry")
    assert state.phase == "completed"
    assert "mended" in state.output
    assert "second: waited" in state.output
    assert len(state.incidents) == 1
