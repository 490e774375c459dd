"""Who is at the other end of a socket: another account gets nowhere, not even past an open directory."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from runtime.daemon import sockets
from runtime.link.client.client import LinkClient
from runtime.link.transports.transport import UnixTransport
from tests.runtime.link.link_bench import Bench

DIAL = """
import os, socket, sys
sock = socket.socket(socket.AF_UNIX)
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
try:
    sock.connect(sys.argv[1])
    print(repr(sock.recv(100)))
except PermissionError:
    print("refused")
"""

root = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another account")


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    with tempfile.TemporaryDirectory(prefix="orb-") as place:
        Path(place).chmod(0o755)
        made = Bench(Path(place) / ".orbiter")
        try:
            yield made
        finally:
            await made.close()


async def _dialled(path: Path) -> str:
    """What a process of another account gets from a socket."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", DIAL, str(path), stdout=subprocess.PIPE)
    said, _ = await process.communicate()
    return said.decode().strip()


@root
async def test_another_account_is_kept_out_and_where_it_gets_in_is_sent_away(bench: Bench) -> None:
    server = await bench.serve()
    assert bench.sockets is not None
    path = sockets.socket_path(bench.sockets.directory, "operator")
    assert await _dialled(path) == "refused"
    bench.state_dir.chmod(0o755)
    bench.sockets.directory.chmod(0o755)
    path.chmod(0o666)
    assert await _dialled(path) == "b''"
    assert server.connection_count == 0
    client = LinkClient(UnixTransport(bench.state_dir))
    bench.clients.append(client)
    client.start()
    await client.wait_until(lambda: "open to others" in client.status.reason)


LISTEN = """
import os, socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.bind(sys.argv[1])
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
sock.listen()
print("listens", flush=True)
sys.stdin.read()
"""


@root
def test_a_socket_that_another_account_answers_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / ".orbiter" / "run").mkdir(parents=True, mode=0o700)
    path = sockets.socket_path(tmp_path / ".orbiter" / "run", "operator")
    with subprocess.Popen([sys.executable, "-c", LISTEN, str(path)], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "listens\n"
        with pytest.raises(sockets.SocketError, match=r"another user \(uid 65534\)"):
            sockets.dial(tmp_path / ".orbiter")
        process.communicate()


def test_a_symbolic_link_in_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    state = tmp_path / ".orbiter"
    state.mkdir(mode=0o700)
    (state / "run").symlink_to(elsewhere)
    with pytest.raises(sockets.SocketError, match="symbolic link"):
        sockets.listen(state)
    (elsewhere / "operator.sock").touch()
    with pytest.raises(sockets.SocketError, match="symbolic link"):
        sockets.dial(state)


def test_a_state_directory_behind_a_symbolic_link_is_one_workspace(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    listening = sockets.listen(link / ".orbiter")
    try:
        assert listening.directory == real.resolve() / ".orbiter" / "run"
        assert (listening.directory.stat().st_mode & 0o777) == 0o700
        assert {path.stat().st_mode & 0o777 for path in listening.directory.iterdir()} == {0o600}
        sockets.dial(real / ".orbiter").close()
    finally:
        listening.close()


def test_a_path_too_long_for_a_socket_takes_another_place_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    state = tmp_path / ("deep" * 30) / ".orbiter"
    listening = sockets.listen(state)
    try:
        assert state not in listening.directory.parents
        assert len(str(sockets.socket_path(listening.directory, "operator"))) <= sockets.MAX_PATH_BYTES
        assert (listening.directory.stat().st_mode & 0o777) == 0o700
        sockets.dial(state).close()
    finally:
        listening.close()
