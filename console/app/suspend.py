"""Suspend and resume of the console: `ctrl+z` and `fg`. The runs go on, except for those of `--embedded`."""

from __future__ import annotations

import os


def has_shell() -> bool:
    """Whether the parent process has job control: it is of our session, and gave us a process group of our own."""
    parent = os.getppid()
    try:
        return os.getsid(parent) == os.getsid(0) and os.getpgid(parent) != os.getpgrp()
    except OSError:  # of another session, or gone
        return False
