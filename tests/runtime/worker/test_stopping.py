"""An orderly stop drains: what must not be begun twice comes to its end, nothing new begins, nothing is in doubt."""

from __future__ import annotations

import asyncio

from tests.runtime.bench import ME, Bench

SLOW = """
import time
from pathlib import Path

from orbiter import Agent, tool
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script

HERE = Path(__file__).parent

@tool
def send(number: int) -> str:
    with (HERE / "sent").open("a") as sent:
        sent.write(f"{number}\\n")
    while not (HERE / "go").exists():
        time.sleep(0.01)
    return f"sent {number}"

script("slow/sender", [Reply(calls=[Call("send", {"number": n})]) for n in (1, 2)] + ["all sent"])
swarm = Agent(name="sender", model="scripted:slow/sender", tools=[send])
"""


async def _begun(bench: Bench) -> str:
    (bench.root / "slow.py").write_text(SLOW)
    run = await bench.decisions.start(f"{bench.root / 'slow.py'}:swarm", "go", by=ME)
    await bench.until(run, lambda s: "sender~0/send~0.0" in s.nodes)
    async with asyncio.timeout(60):
        while not (bench.root / "sent").exists():  # noqa: ASYNC110 - the tool is a thread's
            await asyncio.sleep(0.01)
    return run


async def test_a_stop_waits_for_a_call_that_must_not_be_begun_twice(bench: Bench) -> None:
    async with bench.driving(drain_s=20.0):
        run = await _begun(bench)
        asyncio.get_running_loop().call_later(0.2, (bench.root / "go").touch)
    stopped = await bench.state(run)
    assert stopped.nodes["sender~0/send~0.0"].phase == "succeeded"
    assert "sender~0/send~1.0" not in stopped.nodes, "something new began after the stop"
    assert (stopped.phase, stopped.incidents) == ("queued", {})
    async with bench.driving():
        ended = await bench.ended(run)
    assert (ended.phase, ended.output, ended.incidents) == ("completed", "all sent", {})
    assert (bench.root / "sent").read_text() == "1\n2\n"


async def test_what_takes_too_long_is_asked_about(bench: Bench) -> None:
    async with bench.driving(drain_s=0.1):
        run = await _begun(bench)
    (bench.root / "go").touch()
    async with bench.driving(grace_s=0.0):
        (incident,) = await bench.incidents(run)
        assert incident.opened.in_doubt
        ended = await bench.ended_by(incident, "result", value="seen to be sent")
    assert ended.phase == "completed"
    assert (bench.root / "sent").read_text() == "1\n2\n"


async def test_a_run_that_only_waits_for_a_person_is_waiting_after_a_stop(bench: Bench) -> None:
    async with bench.driving():
        run, incident = await bench.asked("asker")
    summary = await bench.journal.summary(run)
    assert summary is not None
    assert summary.state == "waiting"
    await bench.answer(incident, "input", value="x")
    async with bench.driving():
        assert (await bench.ended(run)).phase == "completed"


THINKING = """
import asyncio
from pathlib import Path

from orbiter import Agent
from orbiter.models.scripted.replies import Reply
from orbiter.models.scripted.provider import script

HERE = Path(__file__).parent

@script("slow/thinker")
async def speaker(messages, tools):
    with (HERE / "asked").open("a") as asked:
        asked.write("asked\\n")
    while not (HERE / "go").exists():
        await asyncio.sleep(0.01)
    return Reply(text="thought through")

swarm = Agent(name="thinker", model="scripted:slow/thinker")
"""


async def _thinking(bench: Bench) -> str:
    (bench.root / "thinking.py").write_text(THINKING)
    run = await bench.decisions.start(f"{bench.root / 'thinking.py'}:swarm", "go", by=ME)
    async with asyncio.timeout(60):
        while not (bench.root / "asked").exists():  # noqa: ASYNC110 - told by a file
            await asyncio.sleep(0.01)
    return run


async def test_a_whole_stop_waits_for_a_call_of_a_model_too(bench: Bench) -> None:
    async with bench.driving() as supervisor:
        run = await _thinking(bench)
        supervisor.stop(whole=True)
        await asyncio.sleep(0.1)
        assert supervisor.driving == [run], "it waits"
        (bench.root / "go").touch()
        async with asyncio.timeout(60):
            while supervisor.driving:  # noqa: ASYNC110 - no event tells of it
                await asyncio.sleep(0.01)
    async with bench.driving():
        assert (await bench.ended(run)).output == "thought through"
    assert (bench.root / "asked").read_text() == "asked\n", "the model was asked once"


async def test_a_whole_stop_waits_no_longer_than_it_may_nor_than_somebody_wants(bench: Bench) -> None:
    async with bench.driving(change_s=0.05) as supervisor:
        run = await _thinking(bench)
        supervisor.stop(whole=True)
    assert (await bench.state(run)).phase == "queued"
    async with bench.driving() as supervisor:
        await bench.until(run, lambda s: s.lives == 2 and bool(s.busy))
        supervisor.stop(whole=True)
        await asyncio.sleep(0.1)
        assert supervisor.driving == [run]
        supervisor.stop()
    assert (await bench.state(run)).phase == "queued"
