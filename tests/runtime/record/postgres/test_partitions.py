"""Events in partitions: made before they are needed, found in one order, and no right on any of them."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString

import pytest
from psycopg import errors, sql

from runtime.record.address import PostgresAddress, parse_address
from runtime.record.journal import JournalError
from runtime.record.places import init_database, open_journal
from runtime.record.postgres import partitions, schema
from runtime.record.postgres.connection import connect
from runtime.record.postgres.tables import read_tables
from runtime.record.state import events as ev
from tests.runtime.record.journal_samples import created, opened, started, summary, texts, warned

if TYPE_CHECKING:
    from tests.postgres_server import PostgresServer

DUMP = Path(__file__).resolve().parents[3] / "data" / "postgres" / "schema-4.sql"
"""A workspace as `pg_dump` wrote it when events were in one table (tests/data/postgres/README.md)."""
_HOUR = timedelta(hours=1)
WHERE: LiteralString = "SELECT low, high, filled, ahead FROM event_partition ORDER BY low"


async def rows(url: str, statement: LiteralString | sql.Composed) -> list[tuple[Any, ...]]:
    """What the owner of the tables is given, or that nothing is."""
    connection = await connect(parse_address(url))
    try:
        cursor = await connection.execute(statement)
        return await cursor.fetchall() if cursor.description is not None else []
    finally:
        await connection.close()


def as_role(postgres: PostgresServer, url: str, name: str) -> str:
    """The workspace's address for a new role of the database."""
    postgres.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
    return url.replace("postgres@", f"{name}@")


async def test_the_stream_of_the_workspace_has_a_partition_of_its_own(postgres_url: str) -> None:
    await init_database(postgres_url)
    assert await rows(postgres_url, WHERE) == [(0, 2, True, False), (2, 100_002, False, True)]
    async with await open_journal(postgres_url) as journal:
        await started(journal)
        await journal.post(ev.WORKSPACE_RUN_ID, ev.FreezeSet(by=ev.Actor(name="ann", channel="cli")))
    assert await rows(postgres_url, "SELECT DISTINCT run FROM event_from_1") == [(1,)]
    assert await rows(postgres_url, "SELECT DISTINCT run FROM event_from_2") == [(2,)]


async def test_the_next_partition_is_made_when_the_last_one_is_begun(postgres_url: str) -> None:
    await init_database(postgres_url, partition_runs=3)
    async with await open_journal(postgres_url) as journal:
        assert await journal.make_partitions() == 0
        await started(journal, "r2")
        assert await journal.make_partitions() == 1
        assert await journal.make_partitions() == 0
    assert await rows(postgres_url, WHERE) == [(0, 2, True, False), (2, 5, False, False), (5, 8, False, True)]
    await init_database(postgres_url, partition_runs=10)
    async with await open_journal(postgres_url) as journal:
        for number in range(3, 6):
            await started(journal, f"r{number}")
        assert await journal.make_partitions() == 1
    assert (await rows(postgres_url, WHERE))[-1] == (8, 18, False, True), "the new size holds from now on"


async def test_no_run_fails_where_its_partition_was_not_made(postgres_url: str) -> None:
    """Those that came before a partition stay together in the default one; the next partition begins above them."""
    await init_database(postgres_url, partition_runs=2)
    async with await open_journal(postgres_url) as journal:
        leases = [await started(journal, f"r{number}") for number in range(2, 8)]
        assert await journal.make_partitions() == 1
        leases += [await started(journal, f"r{number}") for number in range(8, 10)]
        for lease in leases:
            await journal.append(lease, [warned(f"in {lease.run_id}")])
        assert await rows(postgres_url, "SELECT DISTINCT run FROM event_default ORDER BY run") == [
            (run,) for run in range(4, 8)
        ]
        assert (await rows(postgres_url, WHERE))[2:] == [(8, 10, True, False)]
        placed = await journal.latest(limit=1000)
        assert [each.pos for each in placed] == list(range(1, 25))
        assert texts([each.event for each in placed]) == [f"in r{number}" for number in range(2, 10)]
        assert await journal.check() == []
        heard = [event async for batch in _until(journal.tail(), 24) for event in batch]
        assert [event.run_id for event in heard[16:]] == [f"r{number}" for number in range(2, 10)]


async def _until(tail: Any, count: int) -> Any:
    async for batch in tail:
        count -= len(batch)
        yield batch
        if count <= 0:
            return


async def test_events_are_found_by_their_position_in_every_partition(postgres_url: str) -> None:
    """By an index of each partition, and not by sorting them."""
    await init_database(postgres_url, partition_runs=2)
    async with await open_journal(postgres_url) as journal:
        for number in range(12):
            await started(journal, f"r{number}")
            await journal.make_partitions()
    connection = await connect(parse_address(postgres_url))
    try:
        for setting in ("enable_seqscan", "enable_bitmapscan"):
            await connection.execute(sql.SQL("SET {} = off").format(sql.Identifier(setting)))
        for order in ("pos", "pos DESC"):
            found = await connection.execute(
                f"EXPLAIN (COSTS OFF) SELECT pos, body FROM event WHERE pos > 5 ORDER BY {order} LIMIT 10"
            )
            plan = "\n".join(row[0] for row in await found.fetchall())
            assert "Merge Append" in plan
            assert "Sort Key: event.pos" in plan
            assert "  Sort\n" not in plan
            assert plan.count("_pos_key") == 9, "of the workspace's, of seven for runs, of the default one"
    finally:
        await connection.close()


async def test_a_worker_makes_partitions_and_has_no_right_on_one(
    postgres: PostgresServer, postgres_url: str, worker_id: str
) -> None:
    await init_database(postgres_url, partition_runs=1)
    address = parse_address(postgres_url)
    worker, viewer = (f"{role}_{worker_id}_{address.workspace}" for role in ("worker", "viewer"))
    as_worker, as_viewer = as_role(postgres, postgres_url, worker), as_role(postgres, postgres_url, viewer)
    await schema.grant_roles(address, worker=worker, viewer=viewer)
    async with await open_journal(as_worker) as journal:
        lease = await started(journal, "r2")
        assert await journal.make_partitions() == 1
        await started(journal, "r3")
        await journal.append(lease, [warned("by a worker")])
    async with await open_journal(as_viewer, readonly=True) as journal:
        assert len(await journal.read("r3")) == 2, "a viewer reads what is in a partition that was made later"
    with pytest.raises(errors.InsufficientPrivilege):
        await rows(as_viewer, partitions.MAKE_PARTITIONS)
    values = "(run, seq, pos, body) VALUES (3, 99, 99, '{}')"
    for statement in (
        f"INSERT INTO event_from_3 {values}",
        f"INSERT INTO event_default {values}",
        "DELETE FROM event_from_3",
        "DROP TABLE event_from_3",
        "TRUNCATE event_from_3",
        "UPDATE partitioning SET runs = 5",
        "SELECT add_partition('mine', 'DEFAULT')",
    ):
        with pytest.raises(errors.InsufficientPrivilege):
            await rows(as_worker, statement)


async def test_a_worker_that_may_write_a_partition_forges_nothing_in_it(
    postgres: PostgresServer, postgres_url: str, worker_id: str
) -> None:
    """As where an administrator grants it rights on everything: also in partitions that were there before."""
    await init_database(postgres_url)
    address = parse_address(postgres_url)
    worker = f"worker_{worker_id}_{address.workspace}"
    as_worker = as_role(postgres, postgres_url, worker)
    await schema.grant_roles(address, worker=worker)
    everything = sql.SQL("GRANT INSERT ON ALL TABLES IN SCHEMA {} TO {}")
    await rows(postgres_url, everything.format(sql.Identifier(address.schema), sql.Identifier(worker)))
    for table, run in (("event_from_1", 1), ("event_from_2", 2), ("event_default", 200_000)):
        forged = sql.SQL("INSERT INTO {} (run, seq, pos, body) VALUES ({}, 99, 99, {})").format(
            sql.Identifier(table), run, '{"type":"grant.added"}'
        )
        with pytest.raises(errors.InsufficientPrivilege, match="what a person decides"):
            await rows(as_worker, forged)


async def test_what_makes_partitions_looks_at_no_table_of_its_caller(
    postgres: PostgresServer, postgres_url: str, worker_id: str
) -> None:
    await init_database(postgres_url, partition_runs=5)
    address = parse_address(postgres_url)
    worker = f"worker_{worker_id}_{address.workspace}"
    as_worker = as_role(postgres, postgres_url, worker)
    await schema.grant_roles(address, worker=worker)
    connection = await connect(parse_address(as_worker))
    try:
        await connection.execute("CREATE TEMP TABLE event_partition AS SELECT false AS ahead, 7::bigint AS high")
        await connection.execute("CREATE TEMP TABLE partitioning AS SELECT 3::bigint AS runs")
        made = await (await connection.execute(partitions.MAKE_PARTITIONS)).fetchone()
    finally:
        await connection.close()
    assert made == (0,)


async def load_dump(url: str) -> PostgresAddress:
    """The kept workspace, with the name that `url` says."""
    address = parse_address(url)
    text = DUMP.read_text(encoding="utf-8").replace("orbiter_kept", f'"{address.schema}"')
    connection = await connect(address)
    try:
        await connection.execute(text.encode())
    finally:
        await connection.close()
    return address


ALL_EVENTS: LiteralString = "SELECT run, seq, pos, body, blobs FROM event ORDER BY pos"


async def test_a_workspace_of_one_table_becomes_one_of_partitions(
    postgres: PostgresServer, postgres_url: str, worker_id: str
) -> None:
    address = await load_dump(postgres_url)
    before = await rows(postgres_url, ALL_EVENTS)
    assert len(before) > 20
    worker = f"worker_{worker_id}_{address.workspace}"
    as_worker = as_role(postgres, postgres_url, worker)
    for right in (
        "USAGE ON SCHEMA {}",
        "SELECT, INSERT ON ALL TABLES IN SCHEMA {}",
        "USAGE ON ALL SEQUENCES IN SCHEMA {}",
    ):
        granted = sql.SQL(f"GRANT {right} TO {{}}")
        await rows(postgres_url, granted.format(sql.Identifier(address.schema), sql.Identifier(worker)))
    with pytest.raises(
        JournalError, match=rf"has schema 4, this program needs {schema.SCHEMA_VERSION}: .*database init"
    ):
        await open_journal(postgres_url)
    assert "brought up to date from schema 4" in await init_database(postgres_url, partition_runs=10)
    assert await rows(postgres_url, ALL_EVENTS) == before
    (first, second) = await rows(postgres_url, "SELECT low, high, filled, ahead FROM event_partition ORDER BY low")
    assert first[:2] == (0, second[0]), "old events, and what an older program may still have written"
    assert second[1] - second[0] == 10
    async with await open_journal(postgres_url) as journal:
        assert await journal.check() == []
        states = {run.id: run.state for run in await journal.runs()}
        assert states == {"done": "completed", "asks": "waiting", "long": "queued"}
        lease = await started(journal, "new")
        await journal.append(lease, [opened("i9")])
        assert await journal.position() == len(before) + 3
    await rows(as_worker, "INSERT INTO event (run, seq, pos, body) VALUES (1, 999, 999, '{}')")
    await rows(as_worker, partitions.MAKE_PARTITIONS)
    with pytest.raises(errors.InsufficientPrivilege):
        await rows(as_worker, "INSERT INTO event_from_1 (run, seq, pos, body) VALUES (1, 998, 998, '{}')")


@pytest.mark.parametrize("done", range(1, len(partitions.PREPARATION) + 1))
async def test_a_migration_that_was_interrupted_is_done_by_the_next_call(postgres_url: str, done: int) -> None:
    await load_dump(postgres_url)
    before = await rows(postgres_url, ALL_EVENTS)
    for statement in partitions.PREPARATION[:done]:
        await rows(postgres_url, statement)
    await init_database(postgres_url)
    assert await rows(postgres_url, ALL_EVENTS) == before
    async with await open_journal(postgres_url) as journal:
        assert await journal.check() == []


async def test_writers_are_kept_out_for_no_look_at_all_events(postgres_url: str) -> None:
    """The old table is read as a whole while others write it; when it becomes a partition it is not read again."""
    address = await load_dump(postgres_url)
    unbound, bound, validated, *_ = partitions.PREPARATION
    for statement in (unbound, bound):
        await rows(postgres_url, statement)
    connection, writing = await connect(address), await connect(address)
    told: list[str] = []
    connection.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
    try:
        async with writing.transaction():
            await writing.execute("INSERT INTO event (run, seq, pos, body) VALUES (4, 900, 900, '{}')")
            await connection.execute("SET lock_timeout = '1s'")
            await connection.execute(validated)
        await connection.execute("SET client_min_messages = debug1")
        async with connection.transaction():
            for statement in partitions.MIGRATION:
                await connection.execute(statement)
    finally:
        await connection.close()
        await writing.close()
    assert any(re.search('for table "event_from_1" is implied by existing constraints', line) for line in told)
    assert not [line for line in told if "verifying table" in line and "event_from_1" in line]


async def test_an_export_sees_what_is_pruned_while_it_reads(postgres_url: str) -> None:
    await init_database(postgres_url, partition_runs=1)
    async with await open_journal(postgres_url) as journal:
        for number in range(3):
            lease = await started(journal, f"r{number}")
            await journal.append(lease, [ev.RunFinished(state="completed")])
            await journal.release(lease)
            await journal.make_partitions()
        reading = read_tables(parse_address(postgres_url))
        head = await anext(reading)
        pruning = asyncio.create_task(journal.prune(older_than=-_HOUR))
        events = [row async for table, found in reading if table == "event" for row in found]
        assert len(events) == head.rows[0][0] == 9
        assert await pruning == ["r0", "r1", "r2"]
        await journal.create(created("r3"), summary("r3"))
        assert await journal.check() == []
