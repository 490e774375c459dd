"""Limits of a swarm over all workers, with DBOS as the engine, while a worker dies."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql

from runtime.record.address import PostgresAddress
from runtime.record.places import journal_address
from runtime.worker.engines.dbos_schema import dispatch_queue
from runtime.worker.engines.dbos_tables import QueueTables
from tests.patience import PATIENCE_S
from tests.present import present
from tests.runtime.chaos.harness import Place, check
from tests.runtime.chaos.pairs import PAIRS

QUEUED = [pair for pair in PAIRS if pair.name == "postgres+dbos"]
with_a_queue = pytest.mark.parametrize("pair", QUEUED, ids=[pair.name for pair in QUEUED], indirect=True)


async def until(fact: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await fact():  # noqa: ASYNC110 - of other processes
            await asyncio.sleep(0.02)


async def driven_now(address: PostgresAddress) -> int:
    query = sql.SQL("SELECT count(*) FROM {}.run WHERE lease_until > extract(epoch FROM clock_timestamp())")
    async with await psycopg.AsyncConnection.connect(address.conninfo, autocommit=True) as connection:
        row = await (await connection.execute(query.format(sql.Identifier(address.schema)))).fetchone()
    assert row is not None
    return int(row[0])


async def writers(address: PostgresAddress) -> int:
    """How many processes have the database open to write."""
    query: LiteralString = """
        SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'orbiter-console %'
        AND datname = current_database()"""
    async with await psycopg.AsyncConnection.connect(address.conninfo, autocommit=True) as connection:
        row = await (await connection.execute(query)).fetchone()
    assert row is not None
    return int(row[0])


@with_a_queue
@pytest.mark.timeout(240)
async def test_no_more_drives_begin_within_a_time_than_a_limit_allows(place: Callable[[str], Place]) -> None:
    async with AsyncExitStack() as stack:
        found = await stack.enter_async_context(place("r"))
        runs = [await found.start("zoo:plain", f"task {number}") for number in range(3)]
        address = present(journal_address(found.root))
        options = {"limits": {"zoo.py:plain": {"starts": 2, "period_s": 3600.0}}}
        working = found.lives.begin("live", found.root, lease_s=10.0, stay=True, engine_options=options)
        queue = await stack.enter_async_context(QueueTables(address))

        async def two_have_ended() -> bool:
            waiting = [dispatch_queue(ref="zoo.py:plain")]
            return len(await found.unfinished(runs)) == 1 and (await queue.outlook(waiting)).has_waiting

        await until(two_have_ended)
        assert (await queue.counts()).get("ENQUEUED") == 1
        await working.signal(signal.SIGTERM)
        assert await working.status() == 0, found.log


@with_a_queue
@pytest.mark.timeout(240)
async def test_limits_hold_over_two_workers_while_one_dies_with_all_of_its_places(
    place: Callable[[str], Place],
) -> None:
    async with AsyncExitStack() as stack:
        found = await stack.enter_async_context(place("w"))
        runs = [await found.start("chaos:patient", f"task {number}") for number in range(5)]
        address = present(journal_address(found.root))
        options = {"limits": {"chaos.py:patient": {"concurrency": 2}}}
        first = found.lives.begin("live", found.root, lease_s=1.0, stay=True, engine_options=options)

        async def looked(times: int) -> bool:
            return found.effects["look out"] == times

        await until(lambda: looked(2))
        second = found.lives.begin("live", found.root, lease_s=1.0, engine_options=options)
        queue = await stack.enter_async_context(QueueTables(address))

        async def others_have_waited() -> bool:  # and both workers are there
            waiting = [dispatch_queue(ref="chaos.py:patient")]
            return (await queue.outlook(waiting)).has_waiting and await writers(address) >= 3

        await until(others_have_waited)
        assert (await queue.counts(), found.effects["look out"]) == ({"PENDING": 2, "ENQUEUED": 3}, 2)
        await first.signal(signal.SIGKILL)
        await until(lambda: looked(4))
        assert await driven_now(address) <= 2
        assert (await queue.counts()) == {"PENDING": 2, "ENQUEUED": 3}
        (found.root / "go").touch()
        while await found.unfinished(runs):
            assert await driven_now(address) <= 2
        assert await second.status() == 0, found.log
        for run in runs:
            assert check(await found.journal.read(run)).output == "the end: seen"
        assert found.effects["look out"] == len(runs) + 2, "only what the dead worker had begun was done again"
