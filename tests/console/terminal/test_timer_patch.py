"""One-shot timers on a machine that stalls: each is called, and each size of the terminal reaches the screen."""

from __future__ import annotations

from itertools import count

import pytest
from textual import _time
from textual.app import ComposeResult
from textual.containers import Container

from console.terminal.patched_app import PatchedApp


class Filled(PatchedApp):
    """One widget that is as large as the screen is told to be."""

    def compose(self) -> ComposeResult:
        yield Container()


@pytest.fixture
def stalling(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock by which 20 ms go by between any two looks at it: longer than Textual lets the timer of a size wait."""
    ticks = count()
    monkeypatch.setattr(_time, "get_time", lambda: next(ticks) * 0.02)


@pytest.mark.usefixtures("stalling")
async def test_each_of_several_sizes_reaches_the_screen() -> None:
    app = Filled()
    async with app.run_test(size=(80, 24)) as pilot:
        for size in ((20, 10), (100, 30)):
            await pilot.resize_terminal(*size)
            await pilot.pause(0.1)
            assert app.query_one(Container).size == size


@pytest.mark.usefixtures("stalling")
async def test_a_timer_is_called_once() -> None:
    app = PatchedApp()
    called: list[str] = []
    async with app.run_test() as pilot:
        app.set_timer(0.01, lambda: called.append("once"))
        await pilot.pause(0.1)
        assert called == ["once"]
