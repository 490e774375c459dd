"""What no console of ours would say to a runtime: lines made by hand, halves of them, and connections that break."""

from __future__ import annotations

import asyncio
import socket

import pytest

from runtime.daemon import sockets
from runtime.link.client.client import CommandRefused
from runtime.link.wire import protocol as p
from tests.runtime.link.link_bench import SWARM, Bench, Raw


async def refusal(raw: Raw) -> p.MessageRefused:
    message = await raw.hear()
    assert isinstance(message, p.MessageRefused), message
    return message


async def test_what_is_not_understood_is_refused_in_words_and_the_rest_goes_on(bench: Bench) -> None:
    await bench.started()
    await bench.serve()
    raw = await Raw.dial(bench)
    assert isinstance(await raw.hear(), p.Hello)
    raw.say(b'{"t":"tango"}\n')
    assert "'tango'" in (await refusal(raw)).message
    raw.say(b"rubbish\n\xff\xfe\n")
    assert (await refusal(raw)).error == "not_json"
    assert (await refusal(raw)).error == "not_json"
    raw.say(b'{"t":"watch","run_id":"run-1"}\n')
    assert (await refusal(raw)).error == "too_early"
    raw.say(b'{"t":"attach","proto":99}\n')
    found = await refusal(raw)
    assert found.error == "proto"
    assert "99" in found.message
    raw.say(b'{"t":"as","name":"anna"}\n')
    assert (await refusal(raw)).error == "too_late"
    raw.say(b'{"t":"attach","shoe_size":43,"epoch":"","position":0}\n')
    assert isinstance(await raw.hear(), p.WorkspaceSnapshot)
    raw.say(b'{"t":"attach"}\n')
    assert (await refusal(raw)).error == "too_late"
    raw.say(b'{"t":"command","id":"1","verb":"status"}\n')
    reply = await raw.hear()
    assert isinstance(reply, p.CommandReply)
    assert reply.result["driving"] is True
    await raw.end()


async def test_a_line_without_end_ends_the_connection_with_a_word(bench: Bench) -> None:
    server = await bench.serve()
    raw = await Raw.dial(bench)
    await raw.hear()
    raw.say(b"x" * (1024 * 1024 + 10))
    assert (await refusal(raw)).error == "too_long"
    with pytest.raises(EOFError):
        await raw.hear()
    await raw.end()
    console = await bench.console()
    await console.wait_until(lambda: server.connection_count == 1)


async def test_a_console_that_reads_no_more_keeps_no_runtime_from_stopping(bench: Bench) -> None:
    await bench.serve()
    raw = await Raw.dial(bench)
    await raw.hear()
    raw.say(b'{"t":"tango"}\n' * 40_000)  # each is refused, with more words than fit in what lies between the two
    await raw.writer.drain()
    await bench.stop()
    await raw.end()


async def test_a_console_that_is_sent_away_before_it_is_served_is_hung_up_on(bench: Bench) -> None:
    server = await bench.serve()
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours:
        await server.adopt(theirs)
        await bench.stop()
        assert await asyncio.get_running_loop().sock_recv(ours, 1) == b""


async def test_a_console_that_is_accepted_after_the_server_closed_is_hung_up_on(bench: Bench) -> None:
    server = await bench.serve()
    await bench.stop()
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours:
        await server.adopt(theirs)
        assert await asyncio.get_running_loop().sock_recv(ours, 1) == b""
    assert server.connection_count == 0


async def test_half_a_command_is_never_carried_out(bench: Bench) -> None:
    server = await bench.serve()
    raw = await Raw.dial(bench)
    await raw.hear()
    raw.say(p.Command(id="half", verb="start", args={"ref": SWARM}).line())
    await raw.end()
    console = await bench.console()
    await console.wait_until(lambda: server.connection_count == 1)
    assert await console.command("runs") == []


async def test_who_is_at_the_far_end_of_a_pump(bench: Bench) -> None:
    driver = await bench.started()
    await driver.incident("i-1")
    await bench.serve()
    raw = await Raw.dial(bench)
    await raw.hear()
    raw.say(p.Identify(name="anna").line() + b"\n")
    args = {"incident_id": "i-1", "option": "retry", "revision": 1}
    raw.say(p.Command(id="a", verb="answer", args=args).line() + b"\n")
    assert isinstance(await raw.hear(), p.CommandReply)
    found = await driver.journal.incident("i-1")
    assert found is not None
    assert found[2] is not None
    assert found[2].by.name.startswith("anna (")
    await raw.end()


async def test_a_name_that_is_refused_leaves_room_for_no_other(bench: Bench) -> None:
    """What a pump says comes first; the process that dials through it says what follows."""
    await bench.started()
    await bench.serve()
    raw = await Raw.dial(bench)
    await raw.hear()
    raw.say(b'{"t":"as","name":""}\n' + p.Identify(name="eve").line() + b"\n")
    said = [await raw.hear(), await raw.hear()]
    assert [each.error for each in said if isinstance(each, p.MessageRefused)] == ["bad_message", "too_late"]
    await raw.end()


async def test_a_stale_revision_is_refused(bench: Bench) -> None:
    driver = await bench.started()
    await driver.incident("i-1", revision=2)
    await bench.serve()
    console = await bench.console()
    with pytest.raises(CommandRefused) as caught:
        await console.command("answer", incident_id="i-1", option="retry", revision=1)
    assert caught.value.detail["reason"] == "revision"


async def test_noise_before_hello_is_skipped_and_named_if_nothing_follows(bench: Bench) -> None:
    from runtime.link.client.client import LinkClient
    from runtime.link.transports.transport import PairTransport

    server = await bench.serve()
    said: list[bytes] = [b"Welcome to far.example\nlast login: never\n", b"bash: orbiter: command not found\n"]

    async def pump(sock: socket.socket, head: bytes, *, on: bool) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=sock)
        try:
            writer.write(head)
            if on:
                far_reader, far_writer = await asyncio.open_unix_connection(sock=sockets.dial(bench.state_dir))
                back = bench.spawn(_copy(far_reader, writer))
                await _copy(reader, far_writer)
                await back
        finally:
            writer.close()

    async def good(sock: socket.socket) -> None:
        bench.spawn(pump(sock, said[0], on=True))

    async def bad(sock: socket.socket) -> None:
        bench.spawn(pump(sock, said[1], on=False))

    console = LinkClient(PairTransport(good))
    bench.clients.append(console)
    console.start()
    await console.wait_until(lambda: console.ready)
    assert server.connection_count == 1
    wrong = LinkClient(PairTransport(bad))
    bench.clients.append(wrong)
    wrong.start()
    await wrong.wait_until(lambda: "command not found" in wrong.status.reason)
    assert wrong.status.phase == "lost"


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        return
    finally:
        writer.close()
