"""Patch of Textual: a one-shot timer that is late is called late, and not dropped.

Textual 8.2.8 drops a one-shot timer when the process loses the CPU for longer than its interval (`textual/timer.py`,
`_run`: `skip` with `repeat=0`). Its own timer that tells the screens of another size waits for 8 ms (`textual/app.py`,
`_on_resize`): once it is dropped, it is taken for pending for ever, and no screen is told of any size again.
"""

from __future__ import annotations

from textual.timer import Timer

_run_as_textual = Timer._run


def install_timer_patch() -> None:
    """From now on each one-shot timer of this process is called. Before the app is run; more than once does no harm."""
    Timer._run = _run  # type: ignore[assignment, method-assign]


async def _run(timer: Timer) -> None:
    """Textual's; a timer that is called once has no call that could be skipped."""
    if timer._repeat == 0:
        timer._skip = False
    await _run_as_textual(timer)
