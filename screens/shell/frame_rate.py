"""The frame rate: how fast the terminal takes output, and how often screens are drawn.

A terminal at the far end of a slow link (`ssh -t`, tmux) takes writes late: the kernel's buffers are full, and the
thread that writes waits. A program that goes on drawing sends pictures that are old when they arrive, and keys wait
behind them; in the end the event loop itself stands still (`facts/textual.md` section 4.2). So the waiting is measured,
and drawing is made rarer until it is gone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Literal

TerminalQuality = Literal["good", "slow", "bad"]

WINDOW_S = 2.0
"""Seconds that are looked back on."""
CALM_S = 5.0
"""Seconds for which a link must have been better before it counts as better: drawing less is what made it so."""
QUALITY_BY_SHARE: tuple[tuple[float, TerminalQuality], ...] = ((0.3, "bad"), (0.05, "slow"))
"""From which part of the time on that is spent waiting a link is called what."""
FRAME_S_BY_QUALITY: dict[TerminalQuality, float] = {"good": 0.1, "slow": 0.5, "bad": 2.0}
"""Seconds between two drawings."""
TOLD_AFTER_S = 3.0
"""Seconds for which a link must have been slow before it is called so on the screen: a first picture takes a moment."""
STUCK_S = 1.0
"""Seconds after which a write that still waits means that nothing is read at the far end."""
_ORDER: tuple[TerminalQuality, ...] = ("good", "slow", "bad")


class FrameRateGovernor:
    """Fed by the thread that writes (`begin`, `end`), read by the screens."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._waits: deque[tuple[float, float]] = deque()
        self._began: float | None = None
        self._quality: TerminalQuality = "good"
        self._since = clock()
        self._good_until = clock()

    def begin(self) -> None:
        """A write begins."""
        with self._lock:
            self._began = self._clock()

    def end(self) -> None:
        """The write that had begun is done."""
        with self._lock:
            if self._began is not None:
                self._waits.append((self._began, self._clock()))
                self._began = None
            self._forget()

    @property
    def stuck(self) -> bool:
        """Whether nothing is read at the far end: what is drawn now would only wait, and make the loop wait with it."""
        with self._lock:
            return self._began is not None and self._clock() - self._began > STUCK_S

    @property
    def frame_s(self) -> float:
        """Seconds between two drawings, now."""
        return FRAME_S_BY_QUALITY[self.quality]

    @property
    def quality(self) -> TerminalQuality:
        """How the link is: worse at once, better only after it has been calm for a while."""
        with self._lock:
            self._forget()
            now = self._clock()
            found: TerminalQuality = next(
                (name for share, name in QUALITY_BY_SHARE if self._share(now) >= share), "good"
            )
            worse = _ORDER.index(found) - _ORDER.index(self._quality)
            if worse >= 0:
                self._since = now
                self._quality = found
            elif now - self._since >= CALM_S:
                self._since = now
                self._quality = _ORDER[_ORDER.index(self._quality) - 1]
            if self._quality == "good":
                self._good_until = now
            return self._quality

    @property
    def told_quality(self) -> TerminalQuality:
        """What is said of the link: a slow one only once it has been slow for a while, a bad one at once."""
        quality = self.quality
        with self._lock:
            lasts = self._clock() - self._good_until >= TOLD_AFTER_S
        return quality if quality == "bad" or lasts else "good"

    def _share(self, now: float) -> float:
        start = now - WINDOW_S
        waits = [*self._waits, *([(self._began, now)] if self._began is not None else [])]
        return sum(end - max(began, start) for began, end in waits) / WINDOW_S

    def _forget(self) -> None:
        start = self._clock() - WINDOW_S
        while self._waits and self._waits[0][1] <= start:
            self._waits.popleft()
