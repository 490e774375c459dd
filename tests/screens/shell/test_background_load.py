"""What is loaded on a thread: the loop goes on meanwhile, and the interpreter is left as it was."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest

from screens.shell.background_load import SWITCH_S, load_in_background


async def test_the_loop_goes_on_while_something_is_loaded_and_one_is_loaded_at_a_time() -> None:
    goes_on, begun = threading.Event(), list[str]()

    def first() -> None:
        begun.append("first")
        assert goes_on.wait(30)

    loading = asyncio.create_task(load_in_background(first))
    while not begun:  # noqa: ASYNC110 - of another thread
        await asyncio.sleep(0.001)
    after = asyncio.create_task(load_in_background(lambda: begun.append("second")))
    await asyncio.sleep(0.05)
    assert begun == ["first"]
    goes_on.set()
    await asyncio.gather(loading, after)
    assert begun == ["first", "second"]


async def test_the_turns_of_threads_are_as_long_as_before_also_after_a_failure() -> None:
    before, meanwhile = sys.getswitchinterval(), list[float]()

    def fails() -> None:
        meanwhile.append(sys.getswitchinterval())
        raise ImportError("not there")

    with pytest.raises(ImportError, match="not there"):
        await load_in_background(fails)
    assert meanwhile == [pytest.approx(SWITCH_S)]
    assert sys.getswitchinterval() == before
