"""A console on a run that never rests, with a heart that beats into a file: what becomes of the loop when the terminal
is not read.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from console.app.app import OrbiterApp
from screens.shell.context import ConsoleContext
from screens.shell.frame_rate import FrameRateGovernor
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import Story

BEATS = 0.05


class Busy(OrbiterApp):
    def __init__(self, link: MemoryLink, governor: FrameRateGovernor) -> None:
        super().__init__(ConsoleContext(link, clock=lambda: link.now, governor=governor), governor=governor)
        self._link = link
        self._working: list[asyncio.Task[None]] = []

    def on_mount(self) -> None:
        super().on_mount()
        self._working = [asyncio.create_task(self._work()), asyncio.create_task(self._beat())]

    async def _work(self) -> None:
        """Ten rows change twenty times a second."""
        number = 0
        while True:
            for story in self._link.stories.values():
                story.open("agent", f"agent-{number}")
                story.wait(7)
            number += 1
            self._link.changed()
            await asyncio.sleep(0.05)

    async def _beat(self) -> None:
        with Path(sys.argv[1]).open("a") as file:  # noqa: ASYNC230 - a line, and it is what is measured
            while True:
                file.write(f"{time.monotonic()}\n")
                file.flush()
                await asyncio.sleep(BEATS)


def main() -> None:
    stories = [Story(f"run-{number}", f"a run of many {number}") for number in range(10)]
    for story in stories:
        story.begin()
    Busy(MemoryLink(*stories), FrameRateGovernor()).run(mouse=False)


if __name__ == "__main__":
    main()
