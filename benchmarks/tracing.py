"""What traces cost a step: nothing while they are off, and a tenth at most while a receiver takes them.

Runs are driven without, twice with and without the duty that sends traces and metrics, so that a machine that becomes
slower within a round does not count against one of them. The receiver is another process, which reads and answers.
What counts is the time of the processor, of all threads: other load on the machine hardly changes it. The time until
the last span is accepted, which no run waits for, is told as well.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from benchmarks import Ratio
from benchmarks.looping import LONG
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.judgement.traces.span import TraceSettings
from runtime.operations.decisions import Decisions
from runtime.record.journal_care import JournalCare
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.worker.drive import drive
from runtime.worker.telemetry.cursor import read_cursor
from runtime.worker.telemetry.trace_export import TraceExport

LOOPING = Path(__file__).with_name("looping.py")
ROUNDS = 12
RUNS = 4
STEPS = RUNS * (2 * LONG + 1)
_RECEIVER = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()
    def log_message(self, *_): pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


async def _drive(journal: JournalCare, root: Path, traces: TraceSettings | None) -> float:
    """Seconds of the processor that this process takes while the runs are driven, side by side."""
    config = ExecutionConfig(workspace=str(root), policy=RetryPolicy(), traces=traces)
    by = ev.Actor(name="benchmark")
    ids = [await Decisions(journal, root).start(f"{LOOPING}:agent", f"loop {LONG}", by=by) for _ in range(RUNS)]
    began = time.process_time()
    outcomes = await asyncio.gather(*(drive(journal, run_id, "me", config) for run_id in ids))
    assert set(outcomes) == {"finished"}
    return time.process_time() - began


def _off() -> float:
    """Seconds that one attempt takes to see that traces are off."""
    config = ExecutionConfig(workspace="")
    began = time.perf_counter()
    for _ in range(100_000):
        if config.traces is not None:
            raise AssertionError
    return (time.perf_counter() - began) / 100_000


async def _measure(root: Path) -> list[Ratio]:
    settings = TraceSettings()
    on, whole, step = [], [], []
    (root / "plain").mkdir()
    (root / "traced").mkdir()
    async with await open_journal(root / "plain") as plain, await open_journal(root / "traced") as traced:
        export = TraceExport(traced, settings, owner="benchmark")
        serving = asyncio.create_task(export.serve())
        await _drive(plain, root, None)
        await _drive(traced, root, settings)
        await _drain(export, traced)
        for _ in range(ROUNDS):
            without = await _drive(plain, root, None)
            with_it = until_sent = 0.0
            for _ in range(2):
                began = time.process_time()
                with_it += await _drive(traced, root, settings)
                await _drain(export, traced)
                until_sent += time.process_time() - began
            without += await _drive(plain, root, None)
            on.append(with_it / without)
            whole.append(until_sent / without)
            step.append(without / 2 / STEPS)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    low, _, high = quantiles(on, n=4)
    note = (
        f"{median(step) * 1e3:.2f} ms a step without; half of {ROUNDS} rounds {low:.2f} to {high:.2f}; "
        f"until the last span is accepted {median(whole):.2f}"
    )
    off = 1 + _off() / median(step)
    return [
        Ratio("a step with traces off / without the question", off, 1.01, f"{_off() * 1e9:.0f} ns"),
        Ratio("a step with traces on / off", median(on), 1.1, note),
    ]


async def _drain(export: TraceExport, journal: JournalCare) -> None:
    """Until all is accepted."""
    while (await read_cursor(journal) or 0) < await journal.position() - 1:
        await export.finish()


def run() -> list[Ratio]:
    """All ratios of this module."""
    with (
        tempfile.TemporaryDirectory() as directory,
        subprocess.Popen([sys.executable, "-c", _RECEIVER], stdout=subprocess.PIPE, text=True) as receiver,
    ):
        assert receiver.stdout is not None
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://127.0.0.1:{receiver.stdout.readline().strip()}"
        os.environ["OTEL_BSP_SCHEDULE_DELAY"] = "200"  # so that it is sent while the runs are driven
        try:
            return asyncio.run(_measure(Path(directory)))
        finally:
            receiver.kill()
