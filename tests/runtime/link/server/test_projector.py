"""Consoles are told of what people act upon at once, and of a busy run's figures a few times a second."""

from __future__ import annotations

import asyncio

import pytest

from runtime.link.client.client import LinkClient
from runtime.link.server import projector
from runtime.link.server.projector import Projector
from runtime.record.state import events as ev
from tests.runtime.link.link_bench import Bench, Driver


def step(number: int) -> ev.StepStarted:
    return ev.StepStarted(node_id=f"step-{number}", kind="llm", name="m", agent="a", attempt=1, epoch=1)


async def told_of_all(run: Driver, console: LinkClient) -> None:
    """Wait until the console was told of the run's last event."""
    await console.wait_until(
        lambda: (known := console.run("run-1")) is not None and known.last_seq >= run.state.last_seq
    )


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often the figures of runs were told by the clock; they are not, in this test, within an hour."""
    found: list[int] = []
    told = Projector._tell_figures

    def counted(self: Projector) -> None:
        found.append(len(self._later))
        told(self)

    monkeypatch.setattr(projector, "FIGURES_EVERY_S", 3600.0)
    monkeypatch.setattr(Projector, "_tell_figures", counted)
    return found


async def test_figures_wait_and_what_people_act_upon_does_not(bench: Bench, looks: list[int]) -> None:
    run = await bench.started()
    server = await bench.serve()
    console = await bench.console()
    console.watch("run-1")
    await run.write(step(1))
    await console.wait_until(lambda: console.summaries["run-1"].nodes.get("running") == 1)
    for number in range(2, 6):
        await run.write(step(number))
        await told_of_all(run, console)
    # The first change was told at once, those after it wait.
    follower = server._follower
    async with asyncio.timeout(10):
        while "run-1" not in follower._later:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)
    assert console.summaries["run-1"].nodes.get("running") == 1
    await run.incident("i-1", "step-1")
    await console.wait_until(lambda: console.summaries["run-1"].open_incidents == 1)
    assert console.summaries["run-1"].nodes.get("running") == 4, "with what waited"
    await run.write(step(6))
    await told_of_all(run, console)
    assert not looks
    follower._tell_figures()
    await console.wait_until(lambda: console.summaries["run-1"].nodes.get("running") == 5)


async def test_figures_are_told_by_the_clock(bench: Bench) -> None:
    run = await bench.started()
    await bench.serve()
    console = await bench.console()
    await run.write(step(1))
    await console.wait_until(lambda: console.summaries["run-1"].nodes.get("running") == 1)
    for number in range(2, 6):
        await run.write(step(number))
    await console.wait_until(lambda: console.summaries["run-1"].nodes.get("running") == 5)


async def test_the_end_of_a_run_is_told_at_once(bench: Bench, looks: list[int]) -> None:
    run = await bench.started()
    await bench.serve()
    console = await bench.console()
    for number in range(1, 4):
        await run.write(step(number))
    await run.write(ev.RunFinished(state="failed", error="no reason"))
    await console.wait_until(lambda: console.summaries["run-1"].state == "failed")
    assert not looks
