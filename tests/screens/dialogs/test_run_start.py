"""A run that was started is waited for, but not for the rest of a long list of runs."""

from __future__ import annotations

import asyncio

from runtime.link.client.client import PictureProgress
from screens.dialogs.run_start import wait_for_run
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import limited


async def test_of_one_host_a_run_can_be_looked_at_before_the_list_is_whole() -> None:
    link = MemoryLink()
    link.loading = {"": PictureProgress(1, 10_000, 0, 0)}
    await wait_for_run(link, "run-1")


async def test_of_several_hosts_it_must_be_known_which_one_has_it() -> None:
    link = MemoryLink()
    link.loading = {"far": PictureProgress(1, 10_000, 0, 0)}
    waiting = asyncio.create_task(wait_for_run(link, "run-1"))
    await asyncio.sleep(0)
    link.changed()
    await asyncio.sleep(0)
    assert not waiting.done()
    link.stories["run-1"] = limited(1)
    link.changed()
    await waiting
