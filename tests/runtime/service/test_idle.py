"""A runtime in which nothing happens does next to nothing, also while a console looks on."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from runtime.daemon import daemon
from runtime.link.client.client import LinkClient
from runtime.link.transports.transport import UnixTransport

WAKE_UPS = 200
"""Between two pings of a console, which are three seconds apart; about 50 were counted, and 820 where the journal was
looked at every 30 ms.
"""


def _wake_ups(pid: int) -> int:
    """How often a thread of the process has waited for something and gone on."""
    found = (task / "status" for task in Path(f"/proc/{pid}/task").iterdir())
    lines = [line for status in found for line in status.read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


@pytest.mark.skipif(sys.platform != "linux", reason="counts by /proc")
async def test_a_runtime_at_rest_with_a_console_attached_is_hardly_ever_woken(tmp_path: Path) -> None:
    state_dir = tmp_path / ".orbiter"
    running = await asyncio.to_thread(daemon.ensure_runtime, state_dir, workspace=tmp_path)
    client = LinkClient(UnixTransport(state_dir))
    pongs: list[float] = []
    try:
        client.start()
        await client.wait_until(lambda: client.ready and client.round_trip.average > 0)
        client.subscribe(lambda: pongs.append(client.round_trip.average))  # what else would be told is nothing
        await client.wait_until(lambda: len(pongs) >= 1)
        before = _wake_ups(running.pid)
        await client.wait_until(lambda: len(pongs) >= 2)
        assert _wake_ups(running.pid) - before < WAKE_UPS
    finally:
        await client.close()
        await asyncio.to_thread(daemon.stop, state_dir)
