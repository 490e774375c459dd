"""Loads what the first frame does without, on a thread: keys are answered meanwhile."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable

SWITCH_S = 0.001
"""How long, in seconds, the loop waits for its turn beside a thread that loads; Python's own is five times that."""

_one_at_a_time = threading.Lock()


async def load_in_background(load: Callable[[], object]) -> None:
    """Call `load`, which imports modules, on a thread. One is loaded at a time: two would share the loop's turns."""
    await asyncio.to_thread(_load, load)


def _load(load: Callable[[], object]) -> None:
    with _one_at_a_time:
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        try:
            load()
        finally:
            sys.setswitchinterval(before)
