"""A console and a runtime of different versions: each says what to do, over a real link."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from runtime.daemon import sockets
from runtime.link.client.client import CommandRefused, LinkClient
from runtime.link.transports.transport import UnixTransport
from runtime.link.wire import protocol as p
from tests.runtime.link.link_bench import Bench, Raw

BOTH_ENDS = "install one version at both ends, then stop the runtime there (orbiter-console stop): "


async def _lost(bench: Bench) -> str:
    """Why a console of today finds no runtime here that it understands."""
    console = LinkClient(UnixTransport(bench.state_dir))
    bench.clients.append(console)
    console.start()
    async with asyncio.timeout(30):
        await console.wait_until(lambda: console.status.phase == "lost")
    assert console.status.mismatch
    return console.status.reason


async def test_a_console_that_is_newer_than_the_runtime(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.serve()
    monkeypatch.setattr(p, "PROTOCOL_VERSION", 3)
    said = await _lost(bench)
    assert said == f"{BOTH_ENDS}it (orbiter-console test) speaks protocol 2, this console 3"


async def test_a_console_that_is_older_than_the_runtime(bench: Bench) -> None:
    hello = p.Hello(proto=3, epoch="e", position=0, role="operator", peer="x", program="orbiter-console 9.0")

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(hello.line() + b"\n")
        await writer.drain()
        writer.close()

    bench.sockets = sockets.listen(bench.state_dir)
    async with await asyncio.start_unix_server(answer, sock=bench.sockets.by_role["operator"]):
        said = await _lost(bench)
    assert said == (
        f"{BOTH_ENDS}it (orbiter-console 9.0) speaks protocol 3, this console 2."
        " If it was open during an upgrade, close it and open it again"
    )


async def test_an_older_console_that_does_not_look_is_told_by_the_runtime(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.serve()
    monkeypatch.setattr(p, "PROTOCOL_VERSION", 3)
    console = await Raw.dial(bench)
    await console.hear()
    console.say(b'{"t":"attach","proto":2}\n')
    refused = await console.hear()
    assert isinstance(refused, p.MessageRefused)
    assert refused.message == (
        "this runtime speaks protocol 3, the console 2: stop the runtime (orbiter-console stop) and open the console"
        " again, so that both are of one version"
    )
    await console.end()


async def _reply(console: Raw, **command: Any) -> p.CommandReply:
    console.say(p.Command(id="c-1", **command).line() + b"\n")
    while not isinstance(found := await console.hear(), p.CommandReply):
        pass
    return found


async def test_a_command_that_the_other_version_does_not_have(bench: Bench) -> None:
    """Of one protocol, and yet of two versions."""
    await bench.serve()
    newer = await bench.console()
    with pytest.raises(CommandRefused) as caught:
        await newer.command("rehearse")
    assert str(caught.value) == (
        "the runtime (orbiter-console test) has no command 'rehearse': stop it (orbiter-console stop), then close the"
        " console and open it again, so that both are of one version"
    )
    older = await Raw.dial(bench)
    reply = await _reply(older, verb="withdrawn")
    assert reply.message.startswith(
        "orbiter-console test has no command 'withdrawn'. If the console is of another version, close it and open it"
        " again. There are: abort, answer, "
    )
    await older.end()
