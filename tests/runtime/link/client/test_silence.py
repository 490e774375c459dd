"""A far side that holds the connection and says nothing: before its first word, and after."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from runtime.link.client import receiver
from runtime.link.client.client import LinkClient, LinkLost
from runtime.link.client.heartbeat import DEAD_BEATS
from runtime.link.transports.transport import PairTransport
from runtime.link.wire import protocol as p
from runtime.link.wire.framing import LineReader
from runtime.link.wire.message_parser import parse_console_message

HELLO = p.Hello(epoch="e", position=0, role="operator", peer="x", program="x").line() + b"\n"


class Far:
    """The other end of each connection; `speaks` says what the next one does."""

    def __init__(self) -> None:
        self.speaks: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]] = self.mute
        self.connections = 0
        self.heard: list[str] = []
        self._news = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def hears(self, kind: str, times: int = 1) -> None:
        """Wait until so many messages of a kind have come."""
        while self.heard.count(kind) < times:
            self._news.clear()
            await self._news.wait()

    async def adopt(self, sock: socket.socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=sock)
        self.connections += 1
        self._tasks.append(asyncio.create_task(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.speaks(reader, writer)
            await asyncio.Event().wait()
        finally:
            writer.transport.abort()

    async def mute(self, _reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        return None

    async def noisy(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"Welcome to far\n")

    async def greets(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HELLO)

    async def answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HELLO)
        lines = LineReader()
        while data := await reader.read(65536):
            for line in lines.feed(data):
                message = parse_console_message(line)
                self.heard.append(message.t)
                self._news.set()
                if isinstance(message, p.Ping):
                    writer.write(p.Pong(id=message.id).line() + b"\n")

    async def close(self) -> None:
        await asyncio.sleep(0)  # a task that is cancelled before its first step never comes to its finally
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@pytest.fixture
async def far() -> AsyncIterator[Far]:
    made = Far()
    yield made
    await made.close()


@pytest.fixture
async def console(far: Far, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LinkClient]:
    monkeypatch.setattr(receiver, "HEARTBEAT_S", 0.01)
    transport = PairTransport(far.adopt, where="far")
    transport.hello_timeout_s = 0.1
    made = LinkClient(transport, host="far")
    yield made
    await made.close()


async def test_no_hello_in_time_is_said_and_tried_again_until_there_is_one(far: Far, console: LinkClient) -> None:
    console.start()
    await console.wait_until(lambda: "far is connected and says no hello for 0.1 seconds" in console.status.reason)
    assert console.status.phase == "connecting"
    far.speaks = far.noisy
    await console.wait_until(lambda: "it printed: Welcome to far" in console.status.reason)
    assert far.connections >= 2
    far.speaks = far.answers
    await console.wait_until(lambda: console.status.phase == "connected")


async def test_silence_after_the_hello_ends_the_connection_and_another_is_made(far: Far, console: LinkClient) -> None:
    far.speaks = far.greets
    console.start()
    said: list[str] = []
    stalls: list[int] = []
    console.subscribe(lambda: said.append(console.status.reason))
    await console.wait_until(lambda: console.status.phase == "connected")
    while far.connections < 2:
        stalls.append(console.qualities[0].stalled)
        await asyncio.sleep(0.005)
    assert any("nothing was heard for" in reason for reason in said)
    assert any(stalls), "it was said before it was given up"
    far.speaks = far.answers
    await console.wait_until(lambda: console.round_trip.average > 0)
    assert console.qualities[0].host == "far"
    assert not console.round_trip.is_dead


async def test_a_command_in_the_silence_is_sent_again_on_the_next_connection(far: Far, console: LinkClient) -> None:
    far.speaks = far.greets
    console.start()
    await console.wait_until(lambda: console.status.phase == "connected")
    asking = asyncio.create_task(console.command("status"))
    far.speaks = far.answers
    await far.hears("command")
    await console.close()
    with pytest.raises(LinkLost):
        await asking


async def test_an_answering_link_is_measured_and_kept(far: Far, console: LinkClient) -> None:
    far.speaks = far.answers
    console.start()
    await far.hears("ping", 2 + DEAD_BEATS // 3)
    assert far.connections == 1
    assert console.status.phase == "connected"
    assert 0 < console.qualities[0].round_trip < 30
