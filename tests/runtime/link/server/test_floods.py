"""One connection that floods, stalls or asks for too much takes neither memory nor service from the others."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from runtime.daemon import sockets
from runtime.link.client.client import CommandRefused
from runtime.link.server import connection as limits
from runtime.link.server.connection import Connection
from runtime.link.server.outbox import (
    MAX_QUEUE_BYTES,
    MAX_REPLIES,
    MAX_REPLY_BYTES,
    ClientOutbox,
)
from runtime.link.server.server import MAX_CONNECTIONS, LinkServer
from runtime.link.server.verbs import Verb
from runtime.link.wire import protocol as p
from runtime.link.wire.framing import MAX_LINE_BYTES
from runtime.operations.context import Origin
from runtime.operations.requests.struct import Request
from runtime.record.state import events as ev
from runtime.record.state.operator_terms import Role
from tests.runtime.link.link_bench import Bench, Raw

ROLES: tuple[Role, ...] = ("operator", "viewer")
MANY = 20_000
"""Lines of a flood: more than all buffers between two ends of a socket take."""


class Work(Request[str], frozen=True):
    """Nothing but work."""

    verb: ClassVar[str] = "work"


class Counted:
    """A verb that gives a reply of so many bytes, and counts how often it was carried out."""

    def __init__(self, size: int, until: Callable[[], Awaitable[object]] | None = None) -> None:
        self.carried_out = self.under_way = self.most = 0
        self._size = size
        self._until = until
        self.verb = Verb(Work, self._work)

    async def _work(self, _request: Any, _origin: Origin) -> str:
        self.carried_out += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        if self._until is not None:
            await self._until()
        self.under_way -= 1
        return "x" * self._size


async def _until(fact: Callable[[], bool]) -> None:
    while not fact():  # noqa: ASYNC110 - no event tells of it
        await asyncio.sleep(0.001)


async def _settled(server: LinkServer, connection: Connection, fact: Callable[[], bool]) -> None:
    """Wait until `fact` holds, and the server has nothing to do for this connection any more."""
    await _until(lambda: fact() and not connection._under_way and not server._obeying)


def _hang_up(raw: Raw) -> None:
    """Without sending what is still in our buffers."""
    raw.writer.transport.abort()


def _flood(verb: str, count: int = MANY, **args: object) -> bytes:
    said = ({"t": "command", "id": f"c{number}", "verb": verb, "args": args} for number in range(count))
    lines = map(json.dumps, said)
    return "\n".join(lines).encode() + b"\n"


async def _dialled(bench: Bench, server: LinkServer, role: Role) -> tuple[Raw, Connection]:
    before = set(server._connections)
    raw = await Raw.dial(bench, role)
    await raw.hear()
    (connection,) = server._connections - before
    return raw, connection


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("size", [10, 200_000])
async def test_commands_of_a_connection_that_reads_nothing_are_not_read(bench: Bench, role: Role, size: int) -> None:
    server = await bench.serve()
    verb = Counted(size)
    server.verbs["big"] = verb.verb
    raw, connection = await _dialled(bench, server, role)
    raw.say(_flood("big"))
    await _settled(server, connection, lambda: connection.outbox.full)
    between = 4 * 1024 * 1024  # what the socket and both ends' buffers hold, generously
    assert (
        verb.carried_out
        <= between // max(size, 100) + MAX_REPLIES + limits.MAX_CONCURRENT_REQUESTS[role] + MAX_REPLY_BYTES // size
    )
    assert verb.carried_out < MANY
    assert verb.most <= limits.MAX_CONCURRENT_REQUESTS[role]
    other = await bench.console()
    assert (await other.command("status"))["driving"] is True
    before = verb.carried_out
    for _ in range(before + 50):  # now it reads: what was held back goes on, in full
        reply = await raw.hear()
        assert isinstance(reply, p.CommandReply)
        assert reply.ok, reply
    assert verb.carried_out > before
    _hang_up(raw)


@pytest.mark.parametrize("role", ROLES)
async def test_what_is_under_way_for_one_connection_is_bounded_and_others_are_served(bench: Bench, role: Role) -> None:
    server = await bench.serve()
    ended = asyncio.Event()
    verb = Counted(1, ended.wait)
    server.verbs["slow"] = verb.verb
    raw, _ = await _dialled(bench, server, role)
    raw.say(_flood("slow", 500))
    await _until(lambda: verb.under_way == limits.MAX_CONCURRENT_REQUESTS[role])
    other = await bench.console(role)
    for _ in range(20):
        assert (await other.command("status"))["driving"] is True
    assert verb.carried_out == limits.MAX_CONCURRENT_REQUESTS[role]
    ended.set()
    for _ in range(500):
        assert isinstance(await raw.hear(), p.CommandReply)
    assert verb.most == limits.MAX_CONCURRENT_REQUESTS[role]
    _hang_up(raw)


@pytest.mark.parametrize(
    "line", [b'{"t":"tango"}', b"no json", b'{"t":"ping","id":1}', b'{"t":"watch","run_id":"none-%d"}']
)
async def test_lines_that_are_answered_at_once_are_bounded_too(bench: Bench, line: bytes) -> None:
    server = await bench.serve()
    raw, connection = await _dialled(bench, server, "viewer")
    if b"watch" in line:
        raw.say(p.Attach(epoch="", position=0).line() + b"\n")
    raw.say(b"".join((line % number if b"%" in line else line) + b"\n" for number in range(3 * MANY)))
    await _settled(server, connection, lambda: connection.outbox.full)
    assert connection._line < 3 * MANY
    assert len(connection.outbox._replies) <= MAX_REPLIES + limits.MAX_CONCURRENT_REQUESTS["viewer"]
    console = await bench.console()
    assert (await console.command("status"))["driving"] is True
    _hang_up(raw)


async def test_a_run_that_is_asked_for_again_and_again_is_sent_once(bench: Bench) -> None:
    await bench.started()
    server = await bench.serve(window=1)
    raw, connection = await _dialled(bench, server, "viewer")
    raw.say(p.Attach(epoch="", position=0).line() + b"\n")
    raw.say((p.Watch(run_id="run-1").line() + b"\n") * 5_000)
    raw.say(b'{"t":"ping","id":1}\n')
    while not isinstance(await raw.hear(), p.Pong):
        pass
    assert len(connection.outbox._bulk) + len(connection.outbox._shows) <= 2
    _hang_up(raw)


async def test_so_many_runs_are_watched_over_one_connection_and_no_more(bench: Bench) -> None:
    await bench.started()
    server = await bench.serve()
    raw, connection = await _dialled(bench, server, "viewer")
    raw.say(p.Attach(epoch="", position=0).line() + b"\n")
    connection.watching.update(f"other-{number}" for number in range(limits.MAX_WATCHED_RUNS))
    raw.say(p.Watch(run_id="run-1").line() + b"\n")
    while not isinstance(refused := await raw.hear(), p.MessageRefused):
        pass
    assert (refused.error, refused.run_id) == ("too_many", "run-1")
    connection.watching.pop()
    raw.say(p.Watch(run_id="run-1").line() + b"\n")
    while not isinstance(await raw.hear(), p.RunSnapshot):
        pass
    await raw.end()


async def test_consoles_that_come_at_once_share_the_picture(bench: Bench) -> None:
    await bench.started()
    server = await bench.serve()
    assert [*map(id, server.projection.snapshot("first"))] == [*map(id, server.projection.snapshot("first"))]
    before = server.projection.snapshot("first")
    server.projection.touch()
    assert server.projection.snapshot("first") != before  # of another position


@pytest.mark.parametrize(("role", "longest"), [("viewer", limits.MAX_VIEWER_BYTES), ("operator", MAX_LINE_BYTES)])
async def test_half_a_line_is_kept_up_to_what_the_role_may_say(bench: Bench, role: Role, longest: int) -> None:
    server = await bench.serve()
    raw, connection = await _dialled(bench, server, role)
    raw.say(b"x" * longest)
    await _until(lambda: connection._lines.pending == longest)
    raw.say(b"x")
    assert isinstance(refused := await raw.hear(), p.MessageRefused)
    assert refused.error == "too_long"
    await raw.end()


async def test_parts_of_a_viewer_are_kept_up_to_what_it_may_say(bench: Bench) -> None:
    await bench.serve()
    raw = await Raw.dial(bench, "viewer")
    await raw.hear()
    part = json.dumps({"t": "part", "key": 1, "data": "x" * 60_000}).encode()
    raw.say(part + b"\n" + part + b"\n")
    assert isinstance(refused := await raw.hear(), p.MessageRefused)
    assert refused.error == "too_long"
    await raw.end()


async def test_more_connections_than_there_may_be_are_told_so_and_those_of_the_other_role_are_served(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_CONNECTIONS >= 500  # a burst of so many dials must work
    monkeypatch.setattr("runtime.link.server.server.MAX_CONNECTIONS", 20)
    server = await bench.serve()
    held = [await Raw.dial(bench, "viewer") for _ in range(20)]
    for raw in held:
        assert isinstance(await raw.hear(), p.Hello)
    one_more = await Raw.dial(bench, "viewer")
    assert isinstance(refused := await one_more.hear(), p.MessageRefused)
    assert (refused.error, "close some" in refused.message) == ("too_many", True)
    console = await bench.console()
    assert (await console.command("status"))["driving"] is True
    for raw in (*held, one_more):
        await raw.end()
    await console.wait_until(lambda: server.connection_count == 1)
    again = await Raw.dial(bench, "viewer")
    assert isinstance(await again.hear(), p.Hello)
    await again.end()


def test_the_stream_of_a_slow_console_is_bounded_in_bytes() -> None:
    outbox = ClientOutbox(lambda: [b"snapshot"], window=1, capacity=2000)
    outbox.offer(b"under way")
    assert outbox.ready_line() == b"under way"
    for _ in range(20):
        outbox.offer(b"x" * (MAX_QUEUE_BYTES // 4))
        assert sum(len(line) for _, line in outbox._queue) <= MAX_QUEUE_BYTES
    assert outbox.stale
    outbox.acknowledge(1)
    assert outbox.ready_line() == b"snapshot"


def _rss() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_memory_stays_flat_under_a_hundred_connections_that_flood_and_read_nothing(bench: Bench) -> None:
    driver = await bench.started()
    await driver.write(*(ev.Warned(text="x" * 200) for _ in range(500)))
    server = await bench.serve()
    raws = [await _dialled(bench, server, "viewer") for _ in range(100)]
    before = _rss()
    for raw, _ in raws:
        sock = raw.writer.get_extra_info("socket").dup()  # not asyncio's own buffer, which would be ours
        sock.setblocking(False)
        flood = _flood("events", 2_000, run_id="run-1")
        try:
            while flood:
                flood = flood[sock.send(flood) :]
        except BlockingIOError:
            pass  # it is not read any more
        finally:
            sock.close()
    for _, connection in raws:
        await _settled(server, connection, lambda: True)
    assert _rss() - before < 150 * 1024 * 1024
    console = await bench.console()
    assert (await console.command("status"))["driving"] is True
    for raw, _ in raws:
        _hang_up(raw)


async def test_a_client_with_more_to_ask_than_fits_between_the_two_gets_all_its_answers(bench: Bench) -> None:
    """Both sides hold back what the other does not read; neither waits for the other for ever."""
    server = await bench.serve()
    server.verbs["big"] = Counted(20_000).verb
    console = await bench.console()
    padding = "y" * 2_000
    asked = [console.command("big", command_id=f"{number}-{padding}"[:100]) for number in range(3_000)]
    assert {len(reply) for reply in await asyncio.gather(*asked)} == {20_000}


# -- what was refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        (rb'{"t":"command","id":"abc","verb":"status","args":{"x":"\ud800"}}', "abc"),
        (rb'{"args":{"x":"\ud800","id":"inner"},"t":"command","verb":"status","id":"abc"}', "abc"),
        (b'{"t":"command","id":"abc","verb":7}', "abc"),
        (b'{"t":"commando","id":"abc"}', "abc"),
        (b'{"t":"ping","id":12,"x":NaN,}', "12"),
        (b'{"t":"command","id":"abc","verb":"status"', "abc"),
        (b'{"t":"command","id":"abc","args":' + b"[" * 5_000, "abc"),
        (b'{"t":"command","id":"\xff\xfe","verb":"status"}', "\ufffd\ufffd"),
        (b'{"t":"command","args":{"id":"inner"},"id":"abc",}', ""),
        (b"nonsense", ""),
        (b"[1,2]", ""),
        (b'{"t":"command","verb":"status"}', ""),
    ],
)
async def test_what_is_refused_is_named(bench: Bench, line: bytes, asked: str) -> None:
    await bench.serve()
    raw = await Raw.dial(bench)
    await raw.hear()
    raw.say(b'{"t":"ping","id":1}\n' + line + b"\n")
    assert isinstance(await raw.hear(), p.Pong)
    assert isinstance(refused := await raw.hear(), p.MessageRefused)
    assert (refused.id, refused.number) == (asked, 2)
    await raw.end()


async def test_a_command_that_the_runtime_cannot_read_is_not_waited_for(bench: Bench) -> None:
    await bench.serve()
    console = await bench.console()
    nested: list[Any] = []
    for _ in range(220):  # more than its reader of JSON takes
        nested = [nested]
    with pytest.raises(CommandRefused) as caught:
        await console.command("runs", nested=nested)
    assert caught.value.error == "not_json"


# -- dialling --------------------------------------------------------------------------------------------------


async def test_a_burst_of_dials_is_taken(bench: Bench) -> None:
    """All of them before the runtime has a turn to accept one: more than the old backlog of 64."""
    server = await bench.serve()
    dialled = [sockets.dial(bench.state_dir) for _ in range(500)]
    console = await bench.console()
    await console.wait_until(lambda: server.connection_count == 501)
    for sock in dialled:
        sock.close()
    await console.wait_until(lambda: server.connection_count == 1)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full backlog looks like no runtime at all")
def test_a_full_backlog_is_dialled_again_and_named_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listening = sockets.listen(tmp_path / ".orbiter")
    waiting: list[socket.socket] = []
    try:
        server = listening.by_role["operator"]
        server.listen(0)
        path = os.fspath(sockets.socket_path(listening.directory, "operator"))
        while True:
            sock = socket.socket(socket.AF_UNIX)
            sock.setblocking(False)
            waiting.append(sock)
            if sock.connect_ex(path) == errno.EAGAIN:
                break
        with pytest.raises(sockets.SocketError, match="another runtime listens"):
            sockets._remove_stale(Path(path))
        monkeypatch.setattr(sockets, "DIAL_TIMEOUT_S", 0.1)
        with pytest.raises(sockets.SocketError, match="too many connect at once"):
            sockets.dial(tmp_path / ".orbiter")
        monkeypatch.setattr(sockets, "DIAL_TIMEOUT_S", 60.0)
        again = threading.Event()
        monkeypatch.setattr("time.sleep", lambda _: again.set())

        def accept() -> None:
            again.wait()
            for _ in waiting[1:]:
                server.accept()[0].close()

        accepting = threading.Thread(target=accept)
        accepting.start()
        sockets.dial(tmp_path / ".orbiter").close()
        accepting.join()
    finally:
        for sock in waiting:
            sock.close()
        listening.close()
