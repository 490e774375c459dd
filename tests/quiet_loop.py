"""When a pilot goes on to its next key: once the event loop has nothing left to do.

Textual's own `wait_for_idle` takes a process that uses little CPU for one that is done. On a loaded machine a process
uses little CPU because others have it, and keys overtake what the key before them does: the first letters of a filter
went to the list. And it sleeps 40 ms for each key, which took a third of what a test of the console takes.
"""

from __future__ import annotations

import asyncio
from time import thread_time
from typing import Final

from textual._context import active_app

QUIET_TURNS: Final = 3
"""How many turns in a row nothing may be ready: a turn also asks what has come from sockets, pipes and threads."""
POLL_S: Final = 0.002
"""How often, in seconds, it is asked whether the screen has painted."""


async def wait_for_quiet_loop(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until only this task is ready, and the screen has painted; in place of `textual._wait.wait_for_idle`.

    Args:
        min_sleep: seconds that it waits at least.
        max_sleep: seconds after which it goes on though the loop is still busy, or a screen does not paint. Counted in
            CPU time of this thread, and in looks: on a loaded machine, seconds of the clock may pass before the loop
            has had one turn.
    """
    began = thread_time()
    await asyncio.sleep(min_sleep)
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]  # asyncio's own, as in each BaseEventLoop
    quiet, looks = 0, max_sleep / POLL_S
    while quiet < QUIET_TURNS and looks > 0 and thread_time() - began < max_sleep:
        painting = not ready and _is_to_paint()
        looks -= painting
        await asyncio.sleep(POLL_S if painting else 0)
        quiet = 0 if ready or painting else quiet + 1


def _is_to_paint() -> bool:
    """Whether a screen waits for the next frame to paint, or for the end of a change of size.

    A screen that is seen below a dialog paints by a timer of its own, which may come later than the dialog's.
    """
    app = active_app.get(None)
    if app is None or app._exit or not app._screen_stack:  # one that ends paints no more
        return False
    seen = (app.screen, *app._background_screens)
    return app._resize_timer is not None or any(screen._update_timer._active.is_set() for screen in seen)
