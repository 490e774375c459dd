"""The file that the terminal is to the driver."""

from __future__ import annotations

import os

from console.terminal.driver import TimedFile
from screens.shell.frame_rate import FrameRateGovernor


def test_what_a_terminal_that_is_gone_did_not_take_is_not_tried_again_when_the_interpreter_ends() -> None:
    leader, follower = os.openpty()
    os.close(leader)
    gone = []
    with open(follower, "w", encoding="utf-8") as painted:  # noqa: PTH123 - a descriptor
        file = TimedFile(painted, FrameRateGovernor(), lambda: gone.append(True))
        file.write("a frame")
        file.is_written = False
        file.flush()
        assert gone == [True]
        assert file.is_written, "the loop waits for a terminal that is gone"
        painted.flush()  # as the interpreter does; an error ends it with 120
