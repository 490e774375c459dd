"""A frame of the lists with 10,000 runs in them, of which there are ten a second, against a list made from nothing.

Each frame is told a new time, and that a hundred runs have changed, as under load.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec

from benchmarks import Ratio
from runtime.record.state.summary import Summary
from screens.views.lists.inbox import inbox_rows
from screens.views.lists.runs import RUN_COLUMNS
from screens.views.lists.swarms import SWARM_COLUMNS, swarm_rows
from screens.views.run.sparkline import TokenTrends
from screens.views.shared.list_state import ListState
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_cache import RowCache

RUNS = 10_000
CHANGED = 100
FRAMES = 20
START = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)

Frame = Callable[[dict[str, Summary], RenderContext, RowCache], object]


def run() -> list[Ratio]:
    """Inbox and swarms, each as remembered and as made from nothing; and a filter over all of it."""
    found: list[Ratio] = []
    for name, frame in (("inbox", _inbox("")), ("swarms", _swarms()), ("filtered inbox", _inbox("run 99"))):
        first = min(_frames(frame, 3, remembered=False))
        usual = sorted(_frames(frame, FRAMES, remembered=True))[FRAMES // 2]
        found.append(
            Ratio(
                f"{name}: a frame of {RUNS:,} runs, {CHANGED} changed / made from nothing",
                usual / first,
                0.25 if name != "filtered inbox" else None,
                f"{usual * 1000:.0f} ms of {first * 1000:.0f}",
            )
        )
    return found


def _runs(count: int) -> dict[str, Summary]:
    return {
        f"run-{number}": Summary(
            id=f"run-{number}",
            ref=f"/work/swarm-{number % 40}.py:swarm",
            title=f"run {number}",
            state="running",
            nodes={"running": 3, "succeeded": number % 9},
            input_tokens=number,
            created_at=START + timedelta(seconds=number / 10),
            updated_at=START + timedelta(hours=1),
        )
        for number in range(count)
    }


def _inbox(text: str) -> Frame:
    listing = ListState(RUN_COLUMNS)
    listing.narrow(text)

    def frame(runs: dict[str, Summary], context: RenderContext, memory: RowCache) -> object:
        rows = inbox_rows(runs, [], context, memory=memory)
        return listing.rows(rows), listing.fresh(rows, context.now)

    return frame


def _swarms() -> Frame:
    listing, trends = ListState(SWARM_COLUMNS), TokenTrends()

    def frame(runs: dict[str, Summary], context: RenderContext, memory: RowCache) -> object:
        trends.sample(runs, context.now)
        rows = swarm_rows(runs, context, trends, memory=memory)
        return listing.rows(rows), listing.fresh(rows, context.now)

    return frame


def _frames(frame: Frame, frames: int, *, remembered: bool) -> list[float]:
    """Seconds of each frame, a tenth of a second apart."""
    runs, memory, now = _runs(RUNS), RowCache(), START + timedelta(hours=2)
    times: list[float] = []
    frame(runs, RenderContext(now), memory)
    gc.collect()
    for number in range(frames):
        now += timedelta(seconds=0.1)
        for changed in range(CHANGED):
            key = f"run-{(number * CHANGED + changed) % RUNS}"
            runs[key] = msgspec.structs.replace(runs[key], steps=number + 1)
        began = time.perf_counter()
        frame(runs, RenderContext(now), memory if remembered else RowCache())
        times.append(time.perf_counter() - began)
    return times
