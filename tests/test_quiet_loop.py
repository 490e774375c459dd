"""The wait between a pilot's keys."""

from __future__ import annotations

import asyncio

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
