"""The console in a terminal at the far end of a bad link: the loop goes on, and the link is judged."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.console.terminal import Terminal


@pytest.mark.timeout(120)
def test_a_terminal_that_is_not_read_does_not_stop_the_loop_and_is_told_of(tmp_path: Path) -> None:
    beats = tmp_path / "beats"
    with Terminal("-m", "tests.console.busy", str(beats), size=(160, 50)) as terminal:
        terminal.until("a run of many")
        terminal.quiet(1)
        begin = time.monotonic()
        time.sleep(8)  # nothing is read
        end = time.monotonic()
        terminal.press("")
        terminal.until("terminal link")
        terminal.press("q")
        assert terminal.ended() == 0
    times = [at for at in map(float, beats.read_text().split()) if begin <= at <= end]
    assert max(later - at for at, later in pairwise(times)) < 2.5
    assert end - times[-1] < 2.5, "it was still alive at the end"
