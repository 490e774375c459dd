"""The console in a terminal at the far end of a bad link: the loop goes on, and the link is judged."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.console.busy import BEATS
from tests.console.pseudo_terminal import Terminal


@pytest.mark.timeout(240)
def test_a_terminal_that_is_not_read_does_not_stop_the_loop_and_is_told_of(tmp_path: Path) -> None:
    heart = tmp_path / "beats"
    with Terminal("-m", "tests.console.busy", str(heart), size=(160, 50)) as terminal:
        terminal.until("a run of many")
        _beats(heart, seconds=5)  # nothing is read: what lies between the two is full long before
        terminal.press("", then="terminal link")
        assert terminal.ended("q") == 0


def _beats(heart: Path, *, seconds: float) -> None:
    """Wait for as many beats as a loop that nothing stops has in `seconds`."""
    deadline = time.monotonic() + 90
    wanted = len(heart.read_text().splitlines()) + seconds / BEATS
    while len(heart.read_text().splitlines()) < wanted:
        assert time.monotonic() < deadline, "the loop stands still"
        time.sleep(0.05)
