"""The terminal's own stdin, stdout and stderr.

User code that runs in this process never gets them (`console.output_capture`).

They are `sys.stdin`, `sys.stdout` and `sys.stderr` until user code is about to run here; from then on those belong to
user code, and these are on descriptors of our own.
"""

from __future__ import annotations

import sys
from typing import TextIO


class _Own:
    stdin: TextIO | None = None
    stdout: TextIO | None = None
    stderr: TextIO | None = None


_own = _Own()


def stdin() -> TextIO:
    """Where the operator types."""
    return _own.stdin or sys.stdin


def stdout() -> TextIO:
    """Where results go."""
    return _own.stdout or sys.stdout


def stderr() -> TextIO:
    """Where everything else goes."""
    return _own.stderr or sys.stderr


def set_streams(given: tuple[TextIO, TextIO, TextIO] | None) -> None:
    """From now on the operator's streams are these: stdin, stdout and stderr. None: those of `sys` again."""
    _own.stdin, _own.stdout, _own.stderr = given or (None, None, None)


def are_own() -> bool:
    """Whether they are apart from those of `sys`."""
    return _own.stdout is not None
