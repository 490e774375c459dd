"""A picture in many parts over a real link: what is opened meanwhile is shown at once, and a cut begins again."""

from __future__ import annotations

import asyncio

import pytest

from runtime.link.client.client import LinkClient
from runtime.link.server import picture_parts
from runtime.link.server.server import LinkServer
from runtime.link.transports.handshake import HandshakeResult
from runtime.link.transports.transport import UnixTransport
from runtime.record.state import events as ev
from tests.patience import PATIENCE_S
from tests.runtime.link.link_bench import Bench

RUNS = 8


class HeldBack:
    """A console that acknowledges nothing before `go_on`: until then the window is all that comes."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self._acknowledge = HandshakeResult.acknowledge
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(picture_parts, "ROWS_PER_PART", 1)
        monkeypatch.setattr(picture_parts, "SCREENFUL", 2)
        monkeypatch.setattr(HandshakeResult, "acknowledge", lambda _session: None)
        self.client = LinkClient(UnixTransport(bench.state_dir))
        bench.clients.append(self.client)
        self.client.start()

    def go_on(self) -> None:
        self._monkeypatch.setattr(HandshakeResult, "acknowledge", self._acknowledge)
        if self.client.connection.receiver is not None:
            self.client.connection.receiver.session.acknowledge()


@pytest.fixture
async def eight(bench: Bench) -> Bench:
    for number in range(RUNS):
        await (await bench.started(f"run-{number}")).incident(f"i-{number}")
    return bench


async def held_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> tuple[LinkServer, HeldBack]:
    """A server, and a console that has the first parts of the picture."""
    server = await bench.serve(window=1)
    console = HeldBack(bench, monkeypatch)
    await console.client.wait_until(lambda: console.client.ready)
    return server, console


async def test_a_run_that_is_opened_is_shown_before_the_rest_of_the_picture(
    eight: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, console = await held_back(eight, monkeypatch)
    client = console.client
    assert (client.whole, len(client.incidents), client.loading[""].all_incidents) == (False, 2, RUNS)
    client.watch("run-3")
    (connection,) = server._connections
    async with asyncio.timeout(PATIENCE_S):
        while not connection.outbox._shows:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)
    shown: list[bool] = []
    client.subscribe(lambda: shown.append(client.whole) if client.run("run-3") is not None else None)
    console.go_on()
    await client.wait_until(lambda: client.whole)
    assert shown[0] is False
    assert client.loading == {}
    assert list(client.incidents) == [f"i-{number}" for number in range(RUNS)]


async def test_a_decision_that_is_answered_leaves_the_inbox_before_the_rest_of_the_picture(
    eight: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, console = await held_back(eight, monkeypatch)
    client = console.client
    answered = next(iter(client.incidents))
    not_shown = next(f"i-{number}" for number in range(RUNS) if f"i-{number}" not in client.incidents)
    for incident_id in (answered, not_shown):
        await (await eight.open()).answer(ev.IncidentAnswered(incident_id=incident_id, revision=1, option="deny"))
    async with asyncio.timeout(PATIENCE_S):
        while {answered, not_shown} & set(server.projection.incidents):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)
    seen: list[set[str]] = []
    client.subscribe(lambda: seen.append(set(client.incidents)))
    console.go_on()
    await client.wait_until(lambda: client.whole and list(client.incidents) == list(server.projection.incidents))
    told = next(at for at, shown in enumerate(seen) if answered not in shown)
    assert told < len(seen) - RUNS // 2, "before most of the picture"
    assert all(not {answered, not_shown} & shown for shown in seen[told + 1 :])


async def test_a_cut_in_the_middle_begins_again_and_what_changed_meanwhile_is_in_it(
    eight: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await eight.serve(window=3)
    console = HeldBack(eight, monkeypatch)
    client = console.client
    await client.wait_until(lambda: bool(client.loading) and client.loading[""].runs >= 3)
    before = set(client.incidents)
    await eight.stop()
    await client.wait_until(lambda: client.status.phase != "connected")
    assert client.ready
    assert set(client.incidents) == before, "shown as last known"
    driver = await eight.started("run-8")
    await driver.write(ev.RunFinished(state="aborted"))
    console.go_on()
    server = await eight.serve(window=3)
    await client.wait_until(lambda: client.whole)
    assert list(client.summaries.items()) == list(server.projection.summaries.items())
    assert list(client.incidents.items()) == list(server.projection.incidents.items())
    assert client.summaries["run-8"].state == "aborted"
    assert client.snapshots == ["first"]
