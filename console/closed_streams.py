"""Standard streams that were closed when the program began: `<&-`, `>&-` or `2>&-` of a shell, or a service's start."""

from __future__ import annotations

import os
import sys

_MODES = {"stdin": "r", "stdout": "w", "stderr": "w"}


def open_closed_streams() -> None:
    """Open what is closed of stdin, stdout and stderr on the null device.

    The next file that is opened would get the descriptor otherwise: a child, or user code that writes there, would
    write into the journal.
    """
    for descriptor, (name, mode) in enumerate(_MODES.items()):
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            os.dup2(opened, descriptor)
            os.set_inheritable(descriptor, True)  # dup2 did nothing if it was opened there at once
            if opened != descriptor:
                os.close(opened)
        if getattr(sys, name) is None:
            stream = open(descriptor, mode, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
