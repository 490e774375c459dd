"""Calls of tools that cannot be made as the model wrote them ask for nothing; healed ones are as any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.operations.run_controls import RunControls
from runtime.record.state import events as ev
from tests.runtime.bench import ME, Bench
from tests.runtime.execution.answering import only

CALLS = r'''
import asyncio, os
from pathlib import Path
from orbiter import Agent, tool
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply

HERE = Path(os.environ["ORBITER_TEST_EFFECTS"]).parent

async def effect(text):
    with (HERE / "effects").open("a") as world:
        world.write(text + "\n")
    while (HERE / "hold").exists():
        await asyncio.sleep(0.005)
    return text

@tool(permissions=["fs.write:{path}"])
async def write(path: str, size: int = 0) -> str:
    """Write."""
    return await effect(f"write {size}")

@tool(permissions=["fs.write:{path}"], failure="fail")
async def must_write(path: str, size: int = 0) -> str:
    """Write."""
    return await effect(f"must_write {size}")

@tool(permissions=["pay"])
async def pay(amount: int) -> str:
    """Pay."""
    return await effect(f"pay {amount}")

@tool(permissions=["fs.write:./{folder}/{name}", "net:{url}"])
async def post(folder: str, name: str, url: str = "https://a.example") -> str:
    """Post."""
    return await effect(f"post {url}")

def agent(name, call, tools):
    script(f"calls/{name}", [Reply(calls=[call]), "told: ${result}"])
    return Agent(name=name, model=f"scripted:calls/{name}", tools=tools)

broken = agent("broken", Call("pay", '{"amount": 3'), [pay])
unfit = agent("unfit", Call("pay", {"sum": 3}), [pay])
lacking = agent("lacking", Call("write", {"size": 3}), [write])
fits = agent("fits", Call("write", {"path": "a.md", "size": "3"}), [write])
unnamed = agent("unnamed", Call("post", {"folder": "", "name": "a"}), [post])
port_0 = agent("port_0", Call("post", {"folder": "b", "name": "a", "url": "http://a.example:0/"}), [post])
fails = agent("fails", Call("must_write", {"path": "a.md", "size": "much"}), [must_write])
'''


async def start(bench: Bench, name: str) -> str:
    path = Path(bench.root) / "calls.py"
    path.write_text(CALLS)
    return await bench.decisions.start(f"{path}:{name}", "go", by=ME)


async def started(bench: Bench, run: str, tool: str) -> list[ev.StepStarted]:
    events = await bench.journal.read(run)
    return [each for each in events if isinstance(each, ev.StepStarted) and each.name == tool]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", "Invalid JSON"),
        ("unfit", "'amount' is required"),
        ("lacking", "'path' is required"),
        ("fails", "'size': input should be a valid integer"),
        ("unnamed", "Denied: fs.write: '' is empty"),
        ("port_0", "Denied: net: 'http://a.example:0/' has the port 0"),
    ],
)
async def test_no_person_is_asked_to_permit_a_call_that_cannot_be_made(bench: Bench, name: str, said: str) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, name))
    assert (state.phase, dict(state.incidents), bench.effects) == ("completed", {}, [])
    assert said in state.output


async def test_arguments_that_a_tool_reads_from_text_fit(bench: Bench) -> None:
    async with bench.driving():
        run = await start(bench, "fits")
        await bench.answer(await only(bench, run), "grant")
        await bench.ended(run)
    assert bench.effects == ["write 3"]


async def heal(bench: Bench, run: str, tool: str, **arguments: Any) -> None:
    """Give the call of an ended run other arguments."""
    state = await bench.ended(run)
    (node_id,) = [node.id for node in state.nodes.values() if node.name == tool]
    await RunControls(bench.journal).rewind(run, node_id, changes={"arguments": arguments}, confirm=True, by=ME)


async def test_a_healed_call_needs_its_permission_and_is_not_made_twice_unasked(bench: Bench) -> None:
    (bench.root / "hold").touch()
    async with bench.driving(grace_s=0.0):
        run = await start(bench, "broken")
        await heal(bench, run, "pay", amount=5)
        asked = await only(bench, run)
        assert asked.opened.action["permission"] == "pay"
        assert bench.effects == []
        await bench.answer(asked, "grant")
        await bench.file("effects")
    first, healed = await started(bench, run, "pay")
    assert (first.idempotent, first.permissions) == (True, ())
    assert (healed.idempotent, healed.permissions) == (False, ("pay",))
    (bench.root / "hold").unlink()
    async with bench.driving():
        doubted = await only(bench, run)
        assert doubted.opened.in_doubt
        await bench.answer(doubted, "result", value="paid")
        state = await bench.ended(run)
    assert (bench.effects, state.output) == (["pay 5"], "told: paid")
