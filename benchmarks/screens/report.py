"""The HTML report of a run of 1,000 steps: against one of 100, step for step, and against reading its export first.

Times are of the CPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from benchmarks import Ratio
from console.html.page import html_report
from runtime.judgement.reports.export_file import read_export
from tests.console.html.test_page import exported, large

FEW: Final = 100
MANY: Final = 1_000
ROUNDS: Final = 5


def run() -> list[Ratio]:
    """The best of several times for each."""
    short, long = exported(large(FEW)), exported(large(MANY))
    read = _seconds(lambda: read_export(long).state())
    few, many = _seconds(lambda: html_report(short)), _seconds(lambda: html_report(long))
    note = f"{many:.2f} s of CPU, {len(html_report(long).encode()) / 1e6:.2f} MB"
    return [
        Ratio(f"HTML report, a step of {MANY:,} / a step of {FEW}", many / MANY / (few / FEW), 1.5, note),
        Ratio(f"HTML report of {MANY:,} steps / reading its export", many / read, None, f"{read:.2f} s to read"),
    ]


def _seconds(act: Callable[[], object]) -> float:
    found: list[float] = []
    for _ in range(ROUNDS):
        began = time.process_time()
        act()
        found.append(time.process_time() - began)
    return min(found)
