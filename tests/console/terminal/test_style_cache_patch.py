"""A screen that was closed leaves nothing behind: a console is open for days."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import pytest
from textual._styles_cache import StylesCache
from textual.pilot import Pilot

from console.terminal.style_cache_patch import install_style_cache_patch
from screens.pages.run import RunScreen
from screens.widgets.editor import Editor
from tests.console.app.console_bench import broken, console
from tests.screens.waiting import press

MOST = {Editor: 2, RunScreen: 2, StylesCache: 50}
"""What may be more after four runs were looked at than after one: the widgets of the last two screens, which may not
have been given up yet. A leak keeps those of three."""

LOOKS = 100
"""How often it is looked before what is left counts as kept."""


def living() -> Counter[type]:
    gc.collect()
    return Counter(type(each) for each in gc.get_objects() if type(each) in MOST)


def more_than(before: Counter[type]) -> dict[type, int]:
    after = living()
    return {kind: after[kind] - before[kind] for kind in MOST if after[kind] - before[kind] > MOST[kind]}


async def look_at_runs(pilot: Pilot[Any], times: int) -> None:
    for _ in range(times):
        await press(pilot, "enter", then=RunScreen)
        while isinstance(pilot.app.screen, RunScreen):  # the prompt's escape comes first
            await pilot.press("escape")
            await pilot.pause()


async def test_runs_that_were_opened_and_closed_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StylesCache, "get_inner_outer", StylesCache.__dict__["get_inner_outer"])
    install_style_cache_patch()
    install_style_cache_patch()
    async with console(broken()) as (pilot, _desk):
        await look_at_runs(pilot, 1)
        before = living()
        await look_at_runs(pilot, 3)
        grown = more_than(before)
        for _ in range(LOOKS):  # a timer of a closed screen may hold it for a second or two
            if not grown:
                break
            await pilot.pause(0.1)
            grown = more_than(before)
        assert grown == {}
