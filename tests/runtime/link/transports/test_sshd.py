"""A console on another machine over a real sshd: attached, cut, silent, refused, misled."""

from __future__ import annotations

import asyncio
import os
import random
import shlex
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.daemon import daemon
from runtime.link.client.client import CommandRefused, LinkClient, LinkLost
from runtime.link.transports.ssh import SshTransport
from runtime.link.transports.ssh_host import SshHost
from runtime.link.transports.transport import Unreachable
from runtime.link.wire import protocol as p
from runtime.link.wire.message_parser import parse_message
from runtime.record.state.durable_run import DurableRun
from tests.runtime.link.link_bench import SWARM, Bench, Driver, watched
from tests.runtime.link.transports.sshd_bench import REMOTE, Sshd

CUTS = 50 if os.environ.get("SOAK") else 15
EVENTS_A_SECOND = 1000
SILENCE_S = 30.0

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def place() -> Iterator[Path]:
    """Short enough for sockets: the far side has a home of its own, in which nothing must be left."""
    with tempfile.TemporaryDirectory(prefix="orb-") as path:
        yield Path(path)


@pytest.fixture
def sshd(place: Path) -> Iterator[Sshd]:
    (place / "sshd").mkdir()
    server = Sshd(place / "sshd")
    server.key()
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
async def bench(place: Path) -> AsyncIterator[Bench]:
    (place / "swarm.py").write_text("team = None\n")
    made = Bench(place / ".orbiter")
    try:
        yield made
    finally:
        await made.close()


def transport(sshd: Sshd, path: Path, *ssh: str, key: str = "key", **settings: Any) -> SshTransport:
    given: dict[str, Any] = {"remote": REMOTE, **settings}
    return SshTransport(SshHost("far", path=str(path)), ssh=sshd.ssh(key, *ssh), **given)


async def console(bench: Bench, way: SshTransport) -> LinkClient:
    client = LinkClient(way)
    bench.clients.append(client)
    client.start()
    return client


async def told(client: LinkClient, driver: Driver, last: str) -> None:
    """Wait until a watched run is known up to a node, and compare it with the journal."""
    await client.wait_until(lambda: (state := client.run(driver.run_id)) is not None and last in state.nodes)
    state = client.run(driver.run_id)
    assert isinstance(state, DurableRun)
    assert state == await driver.truth()
    assert state.anomalies == 0


async def test_a_console_over_ssh_sees_and_acts(bench: Bench, sshd: Sshd) -> None:
    driver = await bench.started()
    await driver.incident("i-1")
    await bench.serve()
    client = await console(bench, transport(sshd, bench.workspace))
    await watched(client)
    await client.command("answer", incident_id="i-1", option="retry", revision=1)
    await client.wait_until(lambda: not client.incidents)
    assert client.hello is not None
    assert client.hello.role == "operator"
    assert await client.ping() < 30


async def test_cuts_by_kill_under_1000_events_a_second_no_gap_no_double_every_command_once(
    bench: Bench, sshd: Sshd, caplog: pytest.LogCaptureFixture
) -> None:
    driver = await bench.started()
    await bench.serve()
    way = transport(sshd, bench.workspace)
    way.backoff = (0.1,)  # to wait longer after each of so many cuts is tried elsewhere
    client = await console(bench, way)
    await watched(client)
    asked: list[asyncio.Task[Any]] = []
    over = asyncio.Event()

    async def load() -> None:
        number = 0
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not over.is_set():
            await driver.nodes(*(f"n{number}-{i}" for i in range(EVENTS_A_SECOND // 20)))
            if number % 4 == 0:
                asked.append(asyncio.create_task(client.command("start", ref=SWARM, input=str(number))))
            number += 1
            await asyncio.sleep(max(0.0, began + number / 20 - loop.time()))

    loading = bench.spawn(load())
    chance = random.Random(1)
    for _ in range(CUTS):
        await client.wait_until(lambda: client.status.phase == "connected")
        await asyncio.sleep(chance.uniform(0.02, 0.3))
        process = way._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        await client.wait_until(lambda: client.status.phase != "connected")
    over.set()
    await loading
    await driver.nodes("last")
    await told(client, driver, "last")
    results = [await task for task in asked]
    runs = await (await bench.open()).runs(100_000)
    assert len(runs) == len(asked) + 1
    assert len({str(result) for result in results}) == len(asked) >= CUTS
    await client.wait_until(lambda: len(client.summaries) == len(runs))
    assert not [record for record in caplog.records if "gap" in record.getMessage()]


async def test_30_seconds_of_silence_are_noticed_and_what_was_missed_is_told(bench: Bench, sshd: Sshd) -> None:
    driver = await bench.started()
    await bench.serve()
    client = await console(bench, transport(sshd, bench.workspace))
    await watched(client)
    noticed = asyncio.create_task(client.wait_until(lambda: client.status.phase != "connected"))
    frozen = sshd.freeze()
    await driver.nodes(*(f"n{i}" for i in range(1500)))
    asking = asyncio.create_task(client.command("start", ref=SWARM, input="in the silence"))
    await asyncio.sleep(SILENCE_S)
    assert frozen
    assert noticed.done(), "ssh gave the silent connection up by itself"
    await asking
    await driver.nodes("last")
    await told(client, driver, "last")
    assert len(await (await bench.open()).runs()) == 2


async def test_a_runtime_that_is_restarted_under_an_attached_console(bench: Bench, sshd: Sshd) -> None:
    driver = await bench.started()
    await bench.serve()
    client = await console(bench, transport(sshd, bench.workspace))
    await watched(client)
    first = await client.command("start", command_id="once", ref=SWARM)
    await bench.stop()
    await client.wait_until(lambda: client.status.phase == "lost")
    assert "no runtime works on far:" in client.status.reason
    await driver.nodes("meanwhile")
    await bench.serve()
    await client.wait_until(lambda: client.status.phase == "connected")
    assert await client.command("start", command_id="once", ref=SWARM) == first
    await told(client, driver, "meanwhile")
    assert client.snapshots == ["first", "epoch"]
    assert len(await (await bench.open()).runs()) == 2


async def test_a_console_that_stops_reading_gets_a_snapshot_and_no_stale_flood(bench: Bench, sshd: Sshd) -> None:
    driver = await bench.started()
    await bench.serve()
    way = transport(sshd, bench.workspace)
    reader, writer = await way.connect()
    client = LinkClient(transport(sshd, bench.workspace))
    bench.clients.append(client)
    client.watch("run-1")
    client.start()
    await client.wait_until(lambda: client.run("run-1") is not None)
    writer.write(p.Attach().line() + b"\n" + p.Watch(run_id="run-1").line() + b"\n")
    heard = 0
    kinds: list[tuple[str, int]] = []

    async def hear() -> p.RuntimeMessage:
        message = parse_message(await reader.readline())
        nonlocal heard
        heard += message.STREAMED
        return message

    while not isinstance(message := await hear(), p.RunSnapshot) or message.more:
        pass
    for number in range(200):  # far more than ssh, the pipes and the window hold
        await driver.nodes(*(f"n{number}-{i}" for i in range(25)))
    await told(client, driver, "n199-24")  # who reads is told all of it meanwhile
    while True:
        writer.write(p.Ack(taken=heard).line() + b"\n")
        message = await hear()
        if isinstance(message, p.RunEvent):
            kinds.append(("event", message.seq))
        if isinstance(message, p.RunSnapshot):
            assert message.why == "slow"
            break
    assert len(kinds) <= 500, "not more than the window of old news"
    assert message.seq >= 5000
    writer.transport.abort()
    await way.close()


async def test_a_viewers_key_can_do_nothing_but_look(bench: Bench, sshd: Sshd) -> None:
    driver = await bench.started()
    await driver.incident("i-1")
    server = await bench.serve()
    forced = f"cd {shlex.quote(str(bench.workspace))} && {REMOTE} dial-stdio --viewer --as wall"
    sshd.key("wall", options=f'restrict,command="{forced}"')
    client = await console(bench, transport(sshd, Path("/"), key="wall"))  # it asks for the operator's socket
    await client.wait_until(lambda: client.ready)
    assert client.hello is not None
    assert client.hello.role == "viewer"
    await watched(client)
    before = await driver.truth()
    acting = {name for name, verb in server.verbs.items() if verb.request.acts}
    assert {"answer", "abort", "start", "revoke", "stop"} <= acting
    for name in acting:
        with pytest.raises(CommandRefused, match="viewer"):
            await client.command(name, run_id="run-1")
    assert await driver.truth() == before
    assert not bench.stopping.is_set()
    assert {run.id for run in await (await bench.open()).runs()} == {"run-1"}

    said, complaint = await _ssh(*sshd.ssh("wall"), "-tt", "far")
    assert said == b""
    assert b"PTY allocation request failed" in complaint
    said, complaint = await _ssh(*sshd.ssh("wall"), "far", f"touch {bench.workspace}/hit")
    assert said.startswith(b'{"t":"hello"')
    assert not (bench.workspace / "hit").exists()
    said, complaint = await _ssh(*sshd.ssh("wall", "-W", f"127.0.0.1:{sshd.port}"), "far")
    assert said == b""
    assert b"administratively prohibited" in complaint


async def _ssh(*command: str) -> tuple[bytes, bytes]:
    """What an ssh with nothing on its stdin printed: on stdout, on stderr."""
    process = await asyncio.create_subprocess_exec(*command, stdin=subprocess.DEVNULL, stdout=-1, stderr=-1)
    return await process.communicate()


async def test_a_persons_key_is_named_in_the_audit_whatever_the_console_says(bench: Bench, sshd: Sshd) -> None:
    await bench.started()
    await bench.serve()
    forced = f"cd {shlex.quote(str(bench.workspace))} && {REMOTE} dial-stdio --as anna"
    sshd.key("anna", options=f'restrict,command="{forced}"')
    way = transport(sshd, Path("/"), key="anna")
    reader, writer = await way.connect()
    assert parse_message(await reader.readline()).t == "hello"
    writer.write(
        p.Identify(name="eve").line() + b"\n" + p.Command(id="x", verb="abort", args={"run_id": "run-1"}).line()
    )
    writer.write(b"\n")
    refused, reply = parse_message(await reader.readline()), parse_message(await reader.readline())
    assert isinstance(refused, p.MessageRefused)
    assert isinstance(reply, p.CommandReply)
    assert reply.ok
    writer.transport.abort()
    await way.close()
    journal = await bench.open()
    by = [event.by.name for event in await journal.read("run-1") if event.type == "run.abort_requested"]  # type: ignore[attr-defined]
    assert len(by) == 1
    assert by[0].startswith("anna (")


async def test_a_login_shell_that_prints_noise(bench: Bench, sshd: Sshd) -> None:
    await bench.started()
    await bench.serve()
    sshd.key("noisy", options="command=\"echo Welcome; echo '{}'; printf 'no line feed'; eval $SSH_ORIGINAL_COMMAND\"")
    client = await console(bench, transport(sshd, bench.workspace, key="noisy"))
    await client.wait_until(lambda: client.ready)
    way = transport(sshd, bench.workspace, key="noisy", remote="echo hello is not what this says; true")
    lost = await console(bench, way)
    await lost.wait_until(lambda: "no hello" in lost.status.reason)
    assert "Welcome" in lost.status.reason


async def test_what_is_wrong_over_there_is_said_in_a_line(bench: Bench, sshd: Sshd, place: Path) -> None:
    program = place / "elder"
    program.write_text(
        '#!/bin/sh\necho \'{"t":"hello","proto":99,"epoch":"e","position":0,"role":"operator",'
        '"peer":"x","program":"orbiter-console 99.0"}\'\ncat >/dev/null\n'
    )
    program.chmod(0o755)
    place.joinpath("frozen").write_text("")
    cases: list[tuple[SshTransport, str]] = [
        (transport(sshd, place), "no runtime works on far:"),
        (transport(sshd, place, remote="no-such-program"), "has no program 'no-such-program' in the PATH"),
        (transport(sshd, place / "nowhere"), "nowhere"),
        (transport(sshd, place, remote=str(program)), "(orbiter-console 99.0) speaks protocol 99"),
        (transport(sshd, place, "-o", "Port=1"), "ssh: connect to host 127.0.0.1 port 1: Connection refused"),
        (transport(sshd, place, key="host"), "a login is needed"),
        (transport(sshd, place, "-o", f"UserKnownHostsFile={place}/frozen"), "Host key verification failed"),
    ]
    needs_login = ("a login is needed", "Host key verification failed")
    for way, words in cases:
        client = await console(bench, way)
        said = client.status
        while not (words in said.reason or said.phase == "lost"):
            await client.wait_until(lambda said=said, client=client: client.status != said)  # type: ignore[misc]
            said = client.status
        assert words in said.reason
        assert "\n" not in said.reason
        assert said.phase == ("connecting" if "refused" in words else "lost")
        assert client.needs_login == (words in needs_login)
        if client.needs_login:  # a dial that follows keeps the reason
            with pytest.raises(Unreachable) as caught:
                await way.connect()
            assert str(caught.value) == said.reason


async def test_a_runtime_is_started_over_there_on_request(sshd: Sshd, place: Path) -> None:
    (place / "orbiter.toml").write_text('[runtime]\nenv_file = "keys.env"\n')
    (place / "keys.env").write_text("ANTHROPIC_API_KEY=not-a-real-one\n")
    client = LinkClient(transport(sshd, place))
    client.start()
    try:
        await client.wait_until(lambda: client.status.phase == "lost")
        await client.revive()
        await client.wait_until(lambda: client.ready)
        assert client.hello is not None
        assert client.hello.workspace == os.path.realpath(place)
        assert "ANTHROPIC_API_KEY" in client.hello.keys
        with pytest.raises(CommandRefused):
            await client.command("no-such-verb")
    finally:
        await client.close()
        await asyncio.to_thread(daemon.stop, place / ".orbiter")
    with pytest.raises(LinkLost):
        await client.command("status")
