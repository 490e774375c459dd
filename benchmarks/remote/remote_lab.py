"""A console far away: attached over ssh, against the whole console over `ssh -t`, on a link that delays and drops.

    python -m benchmarks.remote.remote_lab [--delay 50] [--loss 0.01] [--keys 40]

Two network namespaces with a TUN device each; a thread carries whole IP packets between them, late, and loses some, so
that TCP's own recovery counts (a kernel may have no sch_netem). A run of 20 events a second is watched meanwhile.
Printed for each way: milliseconds from a key to its screen, and the bytes that went down the wire each second. Keys are
of two kinds: one that moves the cursor in the run's tree, and one that opens the help, which is a whole screen. Needs
root, `ip`, and an sshd. The namespaces are removed however it ends; those of a lab that was killed, by the next one.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import heapq
import os
import random
import select
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.remote.namespaces import ended_by_signals, ip, namespace, own, remove_leftovers, within
from tests.console.pseudo_terminal import Terminal
from tests.runtime.link.link_bench import Bench
from tests.runtime.link.transports.sshd_bench import REMOTE, Sshd

HERE, THERE = own("here"), own("there")
ADDRESSES = {HERE: "10.213.7.1", THERE: "10.213.7.2"}
EVENTS_A_SECOND = 20
BEFORE = 200
"""Nodes that are there at the start: what comes is out of sight, and the cursor's line is what a key changes."""
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000


class Link(threading.Thread):
    """The wire between two namespaces. `down` counts the bytes that arrived here."""

    def __init__(self, delay_s: float, loss: float) -> None:
        super().__init__(daemon=True)
        self.down = 0
        self._delay_s = delay_s
        self._loss = loss
        self._over = threading.Event()
        self._chance = random.Random(7)
        self._ends: dict[str, int] = {}
        for name in ADDRESSES:
            self._attach(name)

    def _attach(self, name: str) -> None:
        device = f"orb{len(self._ends)}-{os.getpid()}"
        descriptor = self._ends[name] = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH", device.encode(), IFF_TUN | IFF_NO_PI))
        ip("link", "set", device, "netns", name)
        ip("-n", name, "address", "add", f"{ADDRESSES[name]}/24", "dev", device)
        ip("-n", name, "link", "set", device, "up")
        ip("-n", name, "link", "set", "lo", "up")

    def run(self) -> None:
        under_way: list[tuple[float, int, int, bytes]] = []
        number = 0
        other = {self._ends[HERE]: self._ends[THERE], self._ends[THERE]: self._ends[HERE]}
        while not self._over.is_set():
            pause = max(0.0, under_way[0][0] - time.monotonic()) if under_way else 0.2
            for end in select.select(list(other), [], [], pause)[0]:
                packet = os.read(end, 65536)
                if self._chance.random() >= self._loss:
                    number += 1
                    heapq.heappush(under_way, (time.monotonic() + self._delay_s, number, other[end], packet))
            while under_way and under_way[0][0] <= time.monotonic():
                _, _, end, packet = heapq.heappop(under_way)
                self.down += len(packet) if end == self._ends[HERE] else 0
                os.write(end, packet)

    def close(self) -> None:
        self._over.set()
        self.join()
        for descriptor in self._ends.values():
            os.close(descriptor)


class FarSshd(Sshd):
    """An sshd in the namespace at the other end."""

    def come_up(self) -> None:
        deadline = time.monotonic() + 30
        scan = [*within(HERE), "ssh-keyscan", "-T", "2", "-p", str(self.port), self.address]
        while not subprocess.run(scan, capture_output=True, check=False).stdout:
            if time.monotonic() > deadline:
                raise TimeoutError("sshd did not come up in its namespace")


class Work(threading.Thread):
    """A runtime that serves one run, in which something happens again and again."""

    def __init__(self, place: Path) -> None:
        super().__init__(daemon=True)
        self._place = place
        self._over = threading.Event()
        self.ready = threading.Event()

    def run(self) -> None:
        asyncio.run(self._work())

    async def _work(self) -> None:
        bench = Bench(self._place / ".orbiter")
        driver = await bench.started(title="a run in the lab")
        await bench.serve()
        self.ready.set()
        await driver.nodes(*map(_node, range(BEFORE)))
        number = BEFORE
        while not self._over.is_set():
            await driver.nodes(_node(number))
            number += 1
            await asyncio.sleep(1 / EVENTS_A_SECOND)
        await bench.close()

    def close(self) -> None:
        self._over.set()
        self.join()


def _node(number: int) -> str:
    return f"node-{number:05}"


def measured(command: list[str], link: Link, keys: int) -> tuple[dict[str, list[float]], float]:
    """Milliseconds from each key to its screen, by the kind of key, and kB a second down the wire while it was so."""
    code = f"import os; os.execvp({command[0]!r}, {command!r})"
    took: dict[str, list[float]] = {"cursor": [], "help": []}
    with Terminal("-c", code, size=(120, 40)) as terminal:
        terminal.until("a run in the lab", seconds=60)
        terminal.press("\r")
        terminal.until(_node(20), seconds=60)
        before, began = link.down, time.monotonic()
        for number in range(keys):  # down from the first node to the 21st, and up again
            step = number % 40
            key, node = ("j", step + 1) if step < 20 else ("k", 39 - step)
            took["cursor"].append(_key(terminal, key, _node(node)))
        for number in range(keys // 2):
            key, words = ("?", "Everywhere") if number % 2 == 0 else ("\x1b", "a run in the lab")
            took["help"].append(_key(terminal, key, words))
        rate = (link.down - before) / 1000 / (time.monotonic() - began)
        terminal.press("q")
    return took, rate


def _key(terminal: Terminal, key: str, words: str) -> float:
    """Milliseconds until `words` stand there."""
    time.sleep(0.15)
    pressed = time.monotonic()
    terminal.press(key)
    terminal.until(words, seconds=60)
    return (time.monotonic() - pressed) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay", type=float, default=50.0, help="milliseconds each way")
    parser.add_argument("--loss", type=float, default=0.01, help="the part of the packets that is lost, each way")
    parser.add_argument("--keys", type=int, default=80)
    given = parser.parse_args()
    if os.getuid() != 0:
        print("the lab makes network namespaces: run it as root", file=sys.stderr)
        return 2
    for name in remove_leftovers():
        print(f"removed {name}, which a lab before this one left behind", file=sys.stderr)
    with ended_by_signals(), ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="orb-")))
        (place / "sshd").mkdir()
        for name in ADDRESSES:
            stack.enter_context(namespace(name))
        link, work = Link(given.delay / 1000, given.loss), Work(place)
        for thread in (link, work):
            thread.start()
            stack.callback(thread.close)
        while not work.ready.wait(1):
            if not work.is_alive():
                raise RuntimeError("the runtime of the lab did not start: its error is above")
        sshd = FarSshd(place / "sshd", address=ADDRESSES[THERE], within=within(THERE))
        stack.callback(sshd.close)
        sshd.key()
        show(place, sshd, link, given.keys)
    return 0


def show(place: Path, sshd: Sshd, link: Link, keys: int) -> None:
    """Measure each way, and print a line for it."""
    ssh = [*within(HERE), *sshd.ssh()]
    there = f"cd {place} && TERM=xterm-256color exec {REMOTE}"
    wrapper = place / "ssh"
    wrapper.write_text(f'#!/bin/sh\nPATH={shlex.quote(os.environ["PATH"])}\nexec {shlex.join(ssh)} "$@"\n')
    wrapper.chmod(0o755)
    config = place / "config" / "orbiter"
    config.mkdir(parents=True)
    (config / "orbiter.toml").write_text(f'[hosts.far]\naddress = "far:{place}"\ncommand = "{REMOTE}"\n')
    here = ["env", f"PATH={place}:{os.environ['PATH']}", f"XDG_CONFIG_HOME={place / 'config'}"]
    ways = {
        "attached (--host)": [*here, sys.executable, "-m", "console", "--host", "far"],
        "console over ssh -t": [*ssh, "-tt", "far", there],
        "console over ssh -t -C": [*ssh, "-C", "-tt", "far", there],
    }
    for name, command in ways.items():
        took, rate = measured(command, link, keys)
        for kind, times in took.items():
            p50, p90 = statistics.median(times), statistics.quantiles(times, n=10)[-1]
            print(f"{name:<24} {kind:<8} p50 {p50:6.0f}  p90 {p90:6.0f}  max {max(times):6.0f} ms", flush=True)
        print(f"{name:<24} down the wire {rate:7.1f} kB/s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
