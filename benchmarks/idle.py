"""What a runtime costs in which nothing happens: with runs parked in it, and with a console attached."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from benchmarks import Ratio
from benchmarks.durability import park
from runtime.daemon import daemon
from runtime.link.client.client import LinkClient
from runtime.link.transports.transport import UnixTransport
from runtime.record.places import open_journal

PARKED = (0, 31, 300)
SETTLE_S = 6.0
WINDOW_S = 20.0
GOAL = 0.3
"""Percent of one core."""


def cpu_s(pid: int) -> float:
    """Processor seconds that a process has used, all its threads: what the scheduler counted where it tells, for a
    clock tick of 10 ms is coarse here.
    """
    tasks = Path(f"/proc/{pid}/task")
    try:
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9
    except FileNotFoundError:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _percent(pid: int) -> float:
    await asyncio.sleep(SETTLE_S)
    before = cpu_s(pid)
    await asyncio.sleep(WINDOW_S)
    return 100 * (cpu_s(pid) - before) / WINDOW_S


async def _measure(root: Path, parked: int) -> list[Ratio]:
    state_dir = root / ".orbiter"
    async with await open_journal(state_dir) as journal:
        for number in range(parked):
            await park(journal, number)
    pid = (await asyncio.to_thread(daemon.ensure_runtime, state_dir, workspace=root)).pid
    note = f"of {WINDOW_S:g} s"
    try:
        ratios = [Ratio(f"percent of a core, {parked} parked runs", await _percent(pid), GOAL, note)]
        if parked == PARKED[-1]:
            client = LinkClient(UnixTransport(state_dir))
            client.start()
            await client.wait_until(lambda: client.whole)
            name = f"percent of a core, {parked} parked runs and a console"
            ratios.append(Ratio(name, await _percent(pid), GOAL, note))
            await client.close()
        return ratios
    finally:
        await asyncio.to_thread(daemon.stop, state_dir)


def run() -> list[Ratio]:
    if not Path("/proc/self/stat").exists():  # the figures come from there
        return []
    ratios: list[Ratio] = []
    for parked in PARKED:
        with tempfile.TemporaryDirectory() as directory:
            ratios += asyncio.run(_measure(Path(directory), parked))
    return ratios
