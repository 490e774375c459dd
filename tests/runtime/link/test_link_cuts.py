"""A bad link: cut in the middle again and again, and a console that does not keep up."""

from __future__ import annotations

import asyncio
import logging
import random
import socket

import pytest

from runtime.daemon import sockets
from runtime.link.client.client import LinkClient, LinkLost
from runtime.link.transports.handshake import HandshakeResult
from runtime.link.transports.transport import PairTransport
from runtime.link.wire import protocol as p
from runtime.record.state import events as ev
from runtime.record.state.events import load_event
from tests.runtime.link.link_bench import SWARM, Bench, Raw


class CuttingLink:
    """A relay to the runtime's socket that dies after so many bytes from it, wherever in a line that is."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self._bench = bench
        self._random = random.Random(seed)
        self.cuts = 0
        self.whole = False

    async def connect(self, sock: socket.socket) -> None:
        far = await asyncio.open_unix_connection(sock=sockets.dial(self._bench.state_dir))
        try:
            near = await asyncio.open_unix_connection(sock=sock)
        except BaseException:  # the console was closed while it dialled: nothing stays open for another test
            far[1].transport.abort()
            raise
        self._bench.spawn(self._relay(near, far))

    async def _relay(
        self,
        near: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        far: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        up = asyncio.create_task(self._pump(near[0], far[1], None))
        down = asyncio.create_task(
            self._pump(far[0], near[1], None if self.whole else self._random.randint(3_000, 40_000))
        )
        try:
            await asyncio.wait([up, down], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.cuts += 1
            for task, writer in ((up, far[1]), (down, near[1])):
                task.cancel()
                writer.transport.abort()
            await asyncio.gather(up, down, return_exceptions=True)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: int | None) -> None:
        while data := await reader.read(4096 if left is None else min(left, 4096)):
            writer.write(data)
            await writer.drain()
            if left is not None:
                left -= len(data)
                if left <= 0:
                    return


@pytest.mark.parametrize("seed", [1, 2])
async def test_twenty_cuts_under_load_no_gap_no_double_every_command_once(
    bench: Bench, caplog: pytest.LogCaptureFixture, seed: int
) -> None:
    driver = await bench.started()
    await bench.serve()
    link = CuttingLink(bench, seed)
    transport = PairTransport(link.connect)
    transport.backoff = (0.05,)  # no link is cut so often, and to wait longer each time is tried elsewhere
    console = LinkClient(transport)
    bench.clients.append(console)
    console.watch("run-1")
    console.start()
    asked: list[asyncio.Task[object]] = []

    async def load() -> None:
        number = 0
        while link.cuts < 20:
            await driver.nodes(*(f"n{number}-{i}" for i in range(20)))
            if number % 10 == 0:
                asked.append(asyncio.create_task(console.command("start", ref=SWARM, input=f"{len(asked)}")))
            number += 1
        link.whole = True
        await driver.nodes("last")

    with caplog.at_level(logging.WARNING, logger="runtime.link"):
        await load()
        results = [await task for task in asked]
        await console.wait_until(lambda: (state := console.run("run-1")) is not None and "last" in state.nodes)
    runs = await (await bench.open()).runs(10_000)
    assert len(runs) == len(asked) + 1
    assert len({str(result) for result in results}) == len(asked) > 5
    state = console.run("run-1")
    assert state == await driver.truth()
    assert state is not None
    assert state.anomalies == 0
    assert not [record for record in caplog.records if "gap" in record.message]
    await console.wait_until(lambda: len(console.summaries) == len(runs))
    assert link.cuts >= 20


async def _stream(raw: Raw, until: type[p.Message]) -> list[p.RuntimeMessage]:
    """What comes up to the first message of a kind, that one included."""
    found = [await raw.hear()]
    while not isinstance(found[-1], until):
        found.append(await raw.hear())
    return found


async def test_who_falls_behind_gets_one_snapshot_instead_of_a_stale_flood(bench: Bench) -> None:
    driver = await bench.started()
    await bench.serve(window=50, capacity=100)
    raw = await Raw.dial(bench)
    await raw.hear()
    raw.say(p.Attach().line() + b"\n" + p.Watch(run_id="run-1").line() + b"\n")
    taken = len(await _stream(raw, p.RunSnapshot)) - 1  # one more below: its second half
    other = await bench.console()
    other.watch("run-1")
    for number in range(100):
        await driver.nodes(*(f"n{number}-{i}" for i in range(20)))
    await other.wait_until(lambda: (state := other.run("run-1")) is not None and "n99-19" in state.nodes)
    stale = 0
    raw.say(p.Ping(id=7).line() + b"\n")
    for message in await _stream(raw, p.Pong):  # a way of its own: it does not wait for the window
        stale += message.STREAMED
    taken += 1 + stale
    assert stale <= 50
    raw.say(p.Ack(taken=taken).line() + b"\n")
    fresh = await _stream(raw, p.RunSnapshot)
    while fresh[-1].t == "run" and getattr(fresh[-1], "more", False):
        fresh.append(await raw.hear())
        if len(fresh) % 40 == 0:
            raw.say(p.Ack(taken=taken + len(fresh)).line() + b"\n")
    fresh.append(await raw.hear())  # the run that it looks at comes before the picture
    assert [message.why for message in fresh if isinstance(message, p.WorkspaceSnapshot)] == ["slow"]
    runs = [message for message in fresh if isinstance(message, p.RunSnapshot)]
    assert {message.why for message in runs} == {"slow"}
    assert runs[0].seq == (await driver.truth()).last_seq
    assert not [message for message in fresh if isinstance(message, p.RunEvent)]
    raw.say(p.Ack(taken=taken + len(fresh)).line() + b"\n")
    await driver.nodes("after")
    event = (await _stream(raw, p.RunEvent))[-1]
    assert isinstance(event, p.RunEvent)
    assert load_event(bytes(event.body)).node_id == "after"
    await raw.end()


async def test_a_console_that_stalls_shows_the_present_when_it_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = await bench.started()
    await bench.serve(window=20, capacity=40)
    console = await bench.watching()
    assert console.connection.receiver is not None
    slow, acknowledge = console.connection.receiver.session, HandshakeResult.acknowledge
    # takes in, but never says so: it does not draw
    monkeypatch.setattr(HandshakeResult, "acknowledge", lambda session: session is slow or acknowledge(session))
    for number in range(30):
        await driver.nodes(*(f"n{number}-{i}" for i in range(10)))
    other = await bench.console()
    other.watch("run-1")
    await other.wait_until(lambda: (state := other.run("run-1")) is not None and "n29-9" in state.nodes)
    monkeypatch.undo()
    slow.acknowledge()
    await console.wait_until(lambda: "slow" in console.snapshots)
    await console.wait_until(lambda: (state := console.run("run-1")) is not None and "n29-9" in state.nodes)
    assert console.run("run-1") == await driver.truth()
    await driver.write(ev.RunFinished(state="completed"))
    await console.wait_until(lambda: console.summaries["run-1"].state == "completed")


async def test_a_restart_in_the_middle_of_commands_applies_each_once(bench: Bench) -> None:
    await bench.serve()
    console = await bench.console()
    tasks = [asyncio.create_task(console.command("start", ref=SWARM, input=str(n))) for n in range(30)]
    await asyncio.sleep(0)
    await bench.stop()
    await bench.serve()
    await console.wait_until(lambda: console.status.phase == "connected")
    results = [await task for task in tasks]
    assert len({result["id"] for result in results}) == 30
    assert len(await (await bench.open()).runs(1000)) == 30


async def test_without_hold_what_waits_for_an_answer_is_told_that_the_runtime_is_gone(bench: Bench) -> None:
    async def mute(sock: socket.socket) -> None:
        _reader, writer = await asyncio.open_unix_connection(sock=sock)
        writer.write(p.Hello(epoch="e", position=0, role="operator", peer="x", program="x").line() + b"\n")
        bench.spawn(_hold(writer))

    console = LinkClient(PairTransport(mute), hold=False)
    bench.clients.append(console)
    console.start()
    await console.wait_until(lambda: console.status.phase == "connected")
    waiting = asyncio.create_task(console.command("status"))
    await console.wait_until(lambda: bool(console.pending))
    await console.close()
    with pytest.raises(LinkLost, match="before the runtime answered"):
        await waiting


async def _hold(writer: asyncio.StreamWriter) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        writer.close()
