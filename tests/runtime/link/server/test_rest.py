"""A runtime at which no console looks holds no lists of runs and incidents, and does not follow the journal."""

from __future__ import annotations

import asyncio

from runtime.link.server.server import LinkServer
from tests.runtime.link.link_bench import Bench


def held(server: LinkServer) -> tuple[int, int]:
    return len(server.projection.summaries), len(server.projection.incidents)


async def test_the_lists_are_read_for_the_first_console_and_forgotten_after_the_last(bench: Bench) -> None:
    run = await bench.started()
    await run.incident("i-1")
    server = await bench.serve(rest_s=0.0)
    assert held(server) == (0, 0)
    first, second = await bench.console(), await bench.console()
    assert (list(first.summaries), list(first.incidents), held(server)) == (["run-1"], ["i-1"], (1, 1))
    epoch = server.projection.epoch
    await first.close()
    await run.incident("i-2")
    await second.wait_until(lambda: "i-2" in second.incidents)
    assert server.projection.epoch == epoch
    await second.close()
    async with asyncio.timeout(10):
        while server.projection.epoch == epoch:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)
    assert held(server) == (0, 0)
    await run.incident("i-3")
    third = await bench.console()
    assert list(third.incidents) == ["i-1", "i-2", "i-3"]


async def test_a_console_that_comes_back_soon_is_told_only_what_it_missed(bench: Bench) -> None:
    run = await bench.started()
    server = await bench.serve()
    console = await bench.console()
    console.connection.reconnect_now()
    await run.incident("i-1")
    await console.wait_until(lambda: "i-1" in console.incidents)
    assert (console.snapshots, held(server)) == (["first"], (1, 1))


async def test_a_run_that_is_asked_for_at_once_is_shown_with_what_happens_later(bench: Bench) -> None:
    run = await bench.started()
    await bench.serve()
    console = await bench.console()
    console.watch("run-1")
    await console.wait_until(lambda: console.run("run-1") is not None)
    await run.nodes("a~0")
    await console.wait_until(lambda: "a~0" in (known.nodes if (known := console.run("run-1")) else {}))
