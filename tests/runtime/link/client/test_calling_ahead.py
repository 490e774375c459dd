"""A console that dials before its event loop runs: the first connection is the one that was dialled."""

from __future__ import annotations

import pytest

from runtime.link.client.client import LinkClient
from runtime.link.transports.transport import UnixTransport, Unreachable
from tests.present import present
from tests.runtime.link.link_bench import Bench


async def test_what_was_dialled_is_the_first_connection_and_the_next_one_is_dialled_anew(bench: Bench) -> None:
    await bench.started()
    await bench.serve()
    transport = UnixTransport(bench.state_dir)
    assert transport.call_ahead()
    dialled = present(transport._dialled)
    peer = dialled.fileno()
    _, writer = await transport.connect()
    assert writer.get_extra_info("socket").fileno() == peer
    writer.close()
    await writer.wait_closed()
    client = LinkClient(transport)
    bench.clients.append(client)
    client.start()
    await client.wait_until(lambda: client.ready)
    assert set(client.summaries) == {"run-1"}


async def test_where_nobody_answers_it_says_so_and_connecting_finds_the_reason(bench: Bench) -> None:
    transport = UnixTransport(bench.state_dir)
    assert not transport.call_ahead()
    with pytest.raises(Unreachable, match="no runtime works on") as caught:
        await transport.connect()
    assert caught.value.gone


async def test_a_runtime_that_went_after_the_call_is_lost_like_any_other(bench: Bench) -> None:
    await bench.serve()
    transport = UnixTransport(bench.state_dir)
    assert transport.call_ahead()
    await bench.stop()
    client = LinkClient(transport)
    bench.clients.append(client)
    client.start()
    await client.wait_until(lambda: client.status.phase == "lost")


async def test_what_was_dialled_for_nobody_is_hung_up(bench: Bench) -> None:
    await bench.serve()
    transport = UnixTransport(bench.state_dir)
    assert transport.call_ahead()
    dialled = present(transport._dialled)
    await transport.close()
    assert dialled.fileno() == -1
    transport.call_ahead()  # on a thread that is not waited for any more
    assert transport._dialled is None
