"""The wait between a pilot's keys."""

from __future__ import annotations

import asyncio

from textual.app import App
from textual.screen import ModalScreen

from tests.quiet_loop import wait_for_quiet_loop


async def test_it_waits_for_what_one_turn_hands_to_the_next() -> None:
    loop, turns = asyncio.get_running_loop(), 0

    def turn() -> None:
        nonlocal turns
        turns += 1
        if turns < 1_000:
            loop.call_soon(turn)

    loop.call_soon(turn)
    await wait_for_quiet_loop()
    assert turns == 1_000


async def test_it_goes_on_beside_a_loop_that_is_never_quiet() -> None:
    loop, pending = asyncio.get_running_loop(), list[asyncio.Handle]()

    def turn() -> None:
        pending[:] = [loop.call_soon(turn)]

    turn()
    await wait_for_quiet_loop(max_sleep=0.05)
    pending[0].cancel()


class Dialog(ModalScreen[None]):
    CSS = "Dialog { background: black 50%; }"


async def test_it_waits_for_a_screen_that_is_seen_below_a_dialog() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        await app.push_screen(Dialog())
        await pilot.pause()
        (below,) = app._background_screens
        frame = below._update_timer
        frame._callback = None  # it paints when this test says so
        frame.resume()
        asyncio.get_running_loop().call_later(0.05, frame.pause)
        await wait_for_quiet_loop()
        assert not frame._active.is_set()


async def test_it_goes_on_beside_a_screen_that_never_paints() -> None:
    app = App[None]()
    async with app.run_test() as pilot:
        await pilot.pause()
        frame = app.screen._update_timer
        frame._callback = None
        frame.resume()
        await wait_for_quiet_loop(max_sleep=0.05)
        assert frame._active.is_set()
