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

from runtime.link.client import LinkClient
from runtime.link.transport import UnixTransport
from runtime.work import sockets
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

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another account")


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


async def test_another_account_is_kept_out_and_where_it_gets_in_is_sent_away(bench: Bench) -> None:
    server = await bench.serve()
    assert bench.sockets is not None
    path = sockets.path_of(bench.sockets.directory, "operator")
    assert await _dialled(path) == "refused"
    bench.state_dir.chmod(0o755)
    bench.sockets.directory.chmod(0o755)
    path.chmod(0o666)
    assert await _dialled(path) == "b''"
    assert server.consoles == 0
    client = LinkClient(UnixTransport(bench.state_dir))
    bench.clients.append(client)
    client.start()
    await client.until(lambda: "open to others" in client.status.reason)
