"""What is printed last, where the pipe behind the standard streams is closed before its rest is asked for."""

from __future__ import annotations

import subprocess
import sys

CLOSED_FIRST = """
import os, sys
from console import output_capture

output_capture._DRAIN_S = 3_600.0  # so long that a needless wait shows
shown = []
capture = output_capture.Capture(shown.append)
ours = os.dup(2)
capture.begin()
os.write(1, b"all of it, without an end of line")
for descriptor in (1, 2):
    os.dup2(ours, descriptor)
capture._reader.join()
{then}
os.write(ours, "".join(shown).encode())
"""


def test_the_end_does_not_wait_for_a_reader_that_has_read_all() -> None:
    for then in ("capture.finish()", "capture.drain(); capture.finish()"):
        done = subprocess.run(
            [sys.executable, "-c", CLOSED_FIRST.format(then=then)],
            capture_output=True,
            text=True,
            timeout=50,
            check=True,
        )
        assert done.stderr == "output: all of it, without an end of line"
