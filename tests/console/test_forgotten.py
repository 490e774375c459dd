"""A screen that was closed leaves nothing behind: a console is open for days."""

from __future__ import annotations

import gc

from screens.run import RunScreen
from screens.widgets.editor import Editor
from tests.console.test_app import broken, console, until


def living(kind: type) -> int:
    gc.collect()
    return sum(type(each) is kind for each in gc.get_objects())


async def test_runs_that_were_opened_and_closed_are_forgotten() -> None:
    async with console(broken()) as (pilot, _desk):
        before = living(Editor), living(RunScreen)
        for _ in range(4):
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, RunScreen))
            while isinstance(pilot.app.screen, RunScreen):  # the prompt's escape comes first
                await pilot.press("escape")
                await pilot.pause()
        await pilot.pause()
        after = living(Editor), living(RunScreen)
        assert after[0] - before[0] <= 1
        assert after[1] - before[1] <= 1
