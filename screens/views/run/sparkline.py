"""The sparkline of a run's recent tokens.

Time is cut into steps of `STEP_S`. A line ends with the last step in which something was used, so that it stands still
while nothing happens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from runtime.record.state.durable_run import Summary
from screens.render.glyphs import Glyphs
from screens.render.layout import Spans, span
from screens.views.lists.runs import is_done

STEP_S: Final = 15
"""Seconds of one bar."""
MAX_BARS: Final = 8
_SAMPLE_S: Final = 1.0


@dataclass(slots=True)
class _Trend:
    total: int
    last: int = 0
    used: list[int] = field(default_factory=list)

    def take(self, total: int, step: int) -> None:
        gained, self.total = total - self.total, total
        if gained <= 0:
            return
        if self.used:
            self.used += [0] * min(MAX_BARS, step - self.last)
        else:
            self.used = [0]
        self.last = step
        self.used = self.used[-MAX_BARS:]
        self.used[-1] += gained


class TokenTrends:
    """What was used by each run, told by looking at its summary once a second at most."""

    def __init__(self) -> None:
        self._trends: dict[str, _Trend] = {}
        self._looked: datetime | None = None

    def sample(self, summaries: Mapping[str, Summary], now: datetime) -> None:
        """See what was used since the last look. Runs that have ended keep what is known; unknown ones have nothing."""
        if self._looked is not None and 0 <= (now - self._looked).total_seconds() < _SAMPLE_S:
            return
        self._looked = now
        step = int(now.timestamp() // STEP_S)
        for run_id, summary in summaries.items():
            total = summary.input_tokens + summary.output_tokens
            known = self._trends.get(run_id)
            if known is not None:
                known.take(total, step)
            elif not is_done(summary):
                self._trends[run_id] = _Trend(total)
        for run_id in [run_id for run_id in self._trends if run_id not in summaries]:
            del self._trends[run_id]

    def trend(self, run_id: str) -> tuple[int, ...]:
        """Tokens by step, the latest last; empty where nothing was seen."""
        found = self._trends.get(run_id)
        return tuple(found.used) if found is not None else ()


def sparkline(used: tuple[int, ...], glyphs: Glyphs) -> Spans:
    """A bar for each step, as high as its share of the highest; a step in which nothing was used is a blank."""
    most = max(used, default=0)
    if not most:
        return ()
    top = len(glyphs.heights) - 1
    return span("".join(glyphs.heights[round(top * each / most)] if each else " " for each in used), "ink-accent")
