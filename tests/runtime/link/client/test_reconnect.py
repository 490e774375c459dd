"""When a cut connection is tried again."""

from __future__ import annotations

import asyncio
import socket

import pytest

from runtime.link.client import reconnect
from runtime.link.client.client import LinkClient
from runtime.link.client.reconnect import STABLE_CONNECTION_S, ReconnectBackoff
from runtime.link.transports.ssh import SSH_RETRY_DELAYS_S
from runtime.link.transports.transport import PairTransport, Streams
from runtime.link.wire import protocol as p
from tests.runtime.link.linked import linked

HELLO = p.Hello(epoch="e", position=0, role="operator", peer="x", program="x").line() + b"\n"


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits that were asked for; none of them is waited for."""
    found: list[float] = []

    async def at_once(self: ReconnectBackoff, seconds: float) -> bool:
        found.append(seconds)
        await asyncio.sleep(0)
        return False

    monkeypatch.setattr(ReconnectBackoff, "_asked_within", at_once)
    return found


async def test_each_failure_in_a_row_waits_longer_and_a_connection_that_held_begins_anew(waits: list[float]) -> None:
    again = ReconnectBackoff(SSH_RETRY_DELAYS_S)
    for _ in range(8):
        await again.wait()
    assert waits == [*SSH_RETRY_DELAYS_S, SSH_RETRY_DELAYS_S[-1]]
    waits.clear()
    again.connection_ended(STABLE_CONNECTION_S - 0.1, answered=False)
    await again.wait()
    assert waits == [20.0], "a first word proves nothing"
    again.connection_ended(0.3, answered=True)
    await again.wait()
    again.connection_ended(0.3, answered=True)
    await again.wait()
    assert waits[1:] == [1.0, 1.0], "a link that flaps"
    again.connection_ended(STABLE_CONNECTION_S, answered=True)
    await again.wait()
    assert waits[-1] == 0.1


async def test_who_does_something_about_it_ends_the_wait_and_begins_anew() -> None:
    again = ReconnectBackoff([60.0])
    waiting = asyncio.create_task(again.wait())
    await asyncio.sleep(0)
    again.reconnect_now()
    await waiting
    assert again._failures == 0
    again.reconnect_now()  # while an attempt is under way
    await again.wait()


async def redialled(transport: PairTransport, waits: list[float]) -> None:
    """Lets a console dial until it has waited once more than its back-off has steps."""
    transport.backoff = SSH_RETRY_DELAYS_S
    async with linked(transport) as console:
        await console.wait_until(lambda: len(waits) > len(SSH_RETRY_DELAYS_S))


async def test_a_host_that_says_hello_and_drops_is_dialled_ever_more_seldom(waits: list[float]) -> None:
    async def drops(sock: socket.socket) -> None:
        sock.sendall(HELLO)
        sock.close()

    transport = PairTransport(drops)
    await redialled(transport, waits)
    assert tuple(waits[: len(SSH_RETRY_DELAYS_S)]) == SSH_RETRY_DELAYS_S


async def test_a_link_that_answers_and_is_cut_again_and_again_is_tried_every_second(waits: list[float]) -> None:
    async def answers_once(sock: socket.socket) -> None:
        _reader, writer = await asyncio.open_unix_connection(sock=sock)
        writer.write(HELLO + p.Pong(id=1).line() + b"\n")
        writer.close()

    transport = PairTransport(answers_once)
    await redialled(transport, waits)
    assert max(waits) == reconnect.STABLE_AFTER_REPLY_S


@pytest.mark.parametrize("turns", range(5))
async def test_a_wait_that_is_cancelled_as_it_ends_is_cancelled(turns: int) -> None:
    backoff = ReconnectBackoff((60.0,))
    waiting = asyncio.create_task(backoff.wait())
    for _ in range(5):
        await asyncio.sleep(0)
    backoff.reconnect_now()
    for _ in range(turns):
        await asyncio.sleep(0)
    cancelled = waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert waiting.cancelled() == cancelled


@pytest.mark.parametrize("turns", range(6))
async def test_a_link_that_is_closed_as_it_hears_something_is_closed(turns: int) -> None:
    heard: list[asyncio.StreamReader] = []
    ends: list[socket.socket] = []

    class Silent(PairTransport):
        async def connect(self) -> Streams:
            reader, writer = await super().connect()
            heard.append(reader)
            return reader, writer

    async def adopt(sock: socket.socket) -> None:
        ends.append(sock)

    link = LinkClient(Silent(adopt, where="far"))
    link.start()
    while not heard or heard[0]._waiter is None:  # type: ignore[attr-defined]  # noqa: ASYNC110 - until it reads
        await asyncio.sleep(0)
    heard[0].feed_data(b"noise\n")
    for _ in range(turns):
        await asyncio.sleep(0)
    async with asyncio.timeout(20):
        await link.close()
    for end in ends:
        end.close()
