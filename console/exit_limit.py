"""A limit to the end of the process: Python waits at its exit for threads of user code, for as long as they take."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

EXIT_S = 10.0
"""Seconds that threads and exit handlers of user code get, once all else is done and recorded."""


def limit_exit(code: int) -> None:
    """See to it that the process ends with `code` within `EXIT_S`: a tool may block in ``asyncio.to_thread``, or have
    registered an exit handler that hangs.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # full, closed, or None
            stream.flush()
    timer = threading.Timer(EXIT_S, os._exit, (code,))
    timer.daemon = True
    timer.start()
