"""Several runtimes in one console."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.link.client.client import (
    CommandRefused,
    LinkClient,
    LinkError,
    LinkLost,
    PictureProgress,
)
from runtime.link.client.multi_client import MultiClient
from runtime.link.transports.transport import UnixTransport
from runtime.link.wire.protocol import PictureSize
from runtime.operations.requests.answers import AnswerIncident
from runtime.operations.requests.runs import AbortRun, FreezeRuns, ListRuns, StartRun
from runtime.record.state import events as ev
from tests.runtime.link.link_bench import SWARM, Bench, Driver


class Two:
    """Two workspaces with a run and an incident each, and a console on both."""

    def __init__(self, left: Bench, right: Bench) -> None:
        self.left, self.right = left, right
        self.drivers: list[Driver] = []
        self.clients = MultiClient(
            {name: LinkClient(UnixTransport(bench.state_dir)) for name, bench in (("left", left), ("right", right))}
        )

    async def start(self) -> None:
        for bench, name in ((self.left, "a"), (self.right, "b")):
            (bench.workspace / "swarm.py").write_text("team = None\n")
            driver = await bench.started(f"run-{name}")
            await driver.incident(f"i-{name}")
            self.drivers.append(driver)
            await bench.serve()
        self.clients.start()
        await self.until_connected()

    async def until_connected(self) -> None:
        for client in self.clients.clients.values():
            await client.wait_until(lambda client=client: client.status.phase == "connected" and client.ready)  # type: ignore[misc]


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[Two]:
    for name in ("l", "r"):
        (tmp_path / name).mkdir()
    made = Two(Bench(tmp_path / "l" / ".orbiter"), Bench(tmp_path / "r" / ".orbiter"))
    try:
        await made.start()
        yield made
    finally:
        await made.clients.close()
        await made.left.close()
        await made.right.close()


async def test_the_inbox_spans_hosts_and_each_row_says_where(two: Two) -> None:
    assert set(two.clients.summaries) == {"run-a", "run-b"}
    assert set(two.clients.incidents) == {"i-a", "i-b"}
    assert [two.clients.host_of(run) for run in ("run-a", "run-b", "run-c")] == ["left", "right", ""]
    assert two.clients.status.phase == "connected"
    assert two.clients.ready
    assert two.clients.host_names == ("left", "right")
    (run,) = await two.clients.ask(ListRuns(), where="right")
    assert run.id == "run-b"


async def test_what_is_asked_goes_to_the_host_that_it_is_about(two: Two) -> None:
    right = two.clients.clients["right"]
    two.clients.watch("run-b")
    await right.wait_until(lambda: two.clients.run("run-b") is not None)
    await two.clients.ask(AnswerIncident(incident_id="i-b", option="retry", revision=1))
    await right.wait_until(lambda: "i-b" not in two.clients.incidents)
    assert set(two.clients.incidents) == {"i-a"}
    two.clients.unwatch("run-b")
    assert two.clients.run("run-b") is None
    await two.clients.ask(AbortRun(run_id="run-a"))
    assert isinstance((await (await two.left.open()).read("run-a"))[-1], ev.AbortRequested)
    assert {row.id for row in await two.clients.ask(ListRuns())} == {"run-a", "run-b"}


async def test_what_names_no_host_is_refused_unless_it_is_meant_for_all(two: Two) -> None:
    with pytest.raises(LinkError, match="say on which host: left, right"):
        await two.clients.ask(StartRun(ref=SWARM))
    with pytest.raises(LinkError, match="no host here is called 'up'"):
        await two.clients.ask(StartRun(ref=SWARM), where="up")
    with pytest.raises(LinkError, match="no host of this console has run-z"):
        await two.clients.ask(FreezeRuns(run_id="run-z"))
    await two.clients.ask(StartRun(ref=SWARM), where="right")
    assert len(await (await two.right.open()).runs()) == 2
    assert len(await (await two.left.open()).runs()) == 1
    frozen = {row.id for row in await two.clients.ask(FreezeRuns(reason="for lunch"))}
    assert {"run-a", "run-b"} <= frozen


async def test_one_host_is_lost_the_others_go_on(two: Two) -> None:
    left = two.clients.clients["left"]
    await two.left.stop()
    await left.wait_until(lambda: left.status.phase == "lost")
    assert two.clients.status.phase == "lost"
    assert two.clients.status.reason.startswith("left: no runtime works on")
    assert two.clients.host_names == ("right",)
    await two.clients.ask(AbortRun(run_id="run-b"))
    assert set(two.clients.incidents) == {"i-a", "i-b"}, "what is shown of it is what was known last"
    with pytest.raises(LinkLost, match="left: start a runtime with"):
        await two.clients.revive()
    with pytest.raises(LinkLost, match="no runtime works on"):
        await two.clients.ask(AbortRun(run_id="run-a"))
    await two.right.stop()
    right = two.clients.clients["right"]
    await right.wait_until(lambda: right.status.phase == "lost")
    assert "; right: no runtime works on" in two.clients.status.reason
    with pytest.raises(LinkLost):
        await two.clients.ask(ListRuns())
    assert not two.clients.needs_login


async def test_what_is_meant_for_all_goes_where_one_may_act_and_what_one_host_refuses_is_said_with_the_rest(
    two: Two,
) -> None:
    left = two.clients.clients["left"]
    two.clients.clients["right"] = looking = LinkClient(UnixTransport(two.right.state_dir, role="viewer"))
    looking.start()
    await two.until_connected()
    assert two.clients.role == "operator"
    assert [row.id for row in await two.clients.ask(FreezeRuns(reason="for lunch"))] == ["run-a"]
    with pytest.raises(CommandRefused, match="viewer"):
        await two.clients.ask(FreezeRuns(), where="right")
    two.clients.clients = {"right": looking}
    with pytest.raises(CommandRefused, match="viewer"):
        await two.clients.ask(FreezeRuns())
    two.clients.clients = {"left": left, "right": looking}
    looking.connection.hello = looking.hello and replace(looking.hello, role="operator")  # as one that changed
    with pytest.raises(LinkError, match=r"^left: done; right: a viewer may look, not act$"):
        await two.clients.ask(FreezeRuns())
    with pytest.raises(LinkError, match=r"^left: runs: limit: .*; right: runs: limit: "):
        await two.clients.ask(ListRuns(limit=0))


async def test_how_much_is_there_of_each_picture_is_said_by_host(two: Two) -> None:
    assert two.clients.loading == {}
    view = two.clients.clients["right"]._view
    view.whole, view._size = False, PictureSize(runs=7, incidents=9)
    assert two.clients.loading == {"right": PictureProgress(1, 7, 1, 9)}
    assert two.clients.ready
