"""DBOS gives runs to workers: in the append's transaction, with limits over all of them, and never as a gate."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import closing
from typing import LiteralString

import psycopg
import pytest
from psycopg import sql

from runtime.record.address import PostgresAddress, parse_address
from runtime.record.places import init_database, open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from runtime.record.workers import ListedWorker, WorkerReport
from runtime.worker.engines.dbos import connect_to_queue, make_queue
from runtime.worker.engines.dbos_tables import QueueTables, code_version, dispatch_queue, queue_schema
from tests.postgres_server import PostgresServer
from tests.runtime.chaos.pairs import PAIRS
from tests.runtime.record.journal_samples import answer, created, opened

ME = ev.Actor(name="tester", channel="cli")
(QUEUED,) = [pair for pair in PAIRS if pair.name == "postgres+dbos"]
REF = "/swarm.py:swarm"


@pytest.fixture(scope="module")
def address(postgres: PostgresServer, worker_id: str) -> PostgresAddress:
    """A workspace with a queue."""
    found = parse_address(postgres.url(f"tests_{worker_id}", f"queue-{os.getpid()}"))

    async def make() -> None:
        await init_database(found.url)
        await make_queue(found)

    asyncio.run(make())
    return found


@pytest.fixture
async def tables(address: PostgresAddress) -> AsyncIterator[QueueTables]:
    async with QueueTables(address) as found:
        yield found


async def slices(address: PostgresAddress, run_id: str) -> dict[str, tuple[str, str]]:
    """State and queue of each slice of a run."""
    query = sql.SQL("SELECT workflow_uuid, status, queue_name FROM {}.workflow_status WHERE workflow_uuid LIKE {}")
    made = query.format(sql.Identifier(queue_schema(address)), sql.Literal(f"{run_id}:%"))
    async with await psycopg.AsyncConnection.connect(address.conninfo, autocommit=True) as connection:
        return {row[0]: (row[1], row[2]) for row in await (await connection.execute(made)).fetchall()}


async def version(address: PostgresAddress, run_id: str) -> str | None:
    """The version of the program that a run's newest slice is for; None: the latest."""
    query = sql.SQL("SELECT application_version FROM {}.workflow_status WHERE workflow_uuid LIKE {}")
    made = query.format(sql.Identifier(queue_schema(address)), sql.Literal(f"{run_id}:%"))
    async with await psycopg.AsyncConnection.connect(address.conninfo, autocommit=True) as connection:
        row = await (await connection.execute(made)).fetchone()
    assert row is not None
    return row[0] if row[0] is None else str(row[0])


async def execute(address: PostgresAddress, statement: LiteralString) -> None:
    names = {"queue": sql.Identifier(queue_schema(address)), "journal": sql.Identifier(address.schema)}
    async with await psycopg.AsyncConnection.connect(address.conninfo, autocommit=True) as connection:
        await connection.execute(sql.SQL(statement).format(**names))


def test_a_worker_that_stands_still_in_mid_transaction_holds_the_queue_only_for_a_while(
    address: PostgresAddress,
) -> None:
    with closing(connect_to_queue(address)) as connection:
        assert connection.execute("SHOW idle_in_transaction_session_timeout").fetchone() == ("5s",)


async def test_a_run_is_queued_in_the_transaction_that_makes_it_one_that_can_go_on(address: PostgresAddress) -> None:
    async with await open_journal(address.url) as journal:
        await journal.create(created("a1"), Summary(id="a1", ref=REF))
        assert await slices(address, "a1") == {"a1:0:": ("ENQUEUED", "runs")}
        lease = await journal.claim("a1", "me", 60.0)
        assert lease is not None
        await journal.append(lease, [ev.RunStarted(epoch=lease.epoch, owner="me")])
        await journal.append(lease, [ev.RunParked(reason="stop")])
        assert list(await slices(address, "a1")) == ["a1:0:"], "it is driven until its lease is given back"
        await journal.release(lease)
        assert set(await slices(address, "a1")) == {"a1:0:", "a1:1:"}


async def test_what_was_not_queued_is_found_later_and_stops_no_append(
    address: PostgresAddress, tables: QueueTables
) -> None:
    await execute(address, "ALTER TABLE {queue}.workflow_input RENAME TO away")
    try:
        async with await open_journal(address.url) as journal:
            assert await journal.create(created("b1"), Summary(id="b1", ref=REF))
            assert [run.state for run in await journal.runs() if run.id == "b1"] == ["queued"]
    finally:
        await execute(address, "ALTER TABLE {queue}.away RENAME TO workflow_input")
    assert await slices(address, "b1") == {}
    assert await tables.enqueue_missing(None) >= 1
    assert list(await slices(address, "b1")) == ["b1:0:"]
    assert await tables.enqueue_missing(None) == 0


async def test_a_run_that_is_moved_is_queued_for_its_new_code(address: PostgresAddress, tables: QueueTables) -> None:
    async with await open_journal(address.url) as journal:
        await journal.create(created("c1"), Summary(id="c1", ref=REF))
        await journal.post("c1", ev.RunMoved(code="v: 2", by=ME), effective=True)
    assert set(await slices(address, "c1")) == {"c1:0:", "c1:0:v: 2"}
    assert "c1:0:" in await tables.obsolete(None, 3600.0, 5.0)
    assert "c1:0:v: 2" not in await tables.obsolete(None, 3600.0, 5.0)


async def test_a_limit_names_the_end_of_a_reference(address: PostgresAddress, tables: QueueTables) -> None:
    await tables.limit(["swarm.py:swarm", "arm.py:swarm"])
    try:
        async with await open_journal(address.url) as journal:
            await journal.create(created("d1"), Summary(id="d1", ref=REF))
            await journal.create(created("d2"), Summary(id="d2", ref="/x/arm.py:swarm"))
        assert (await slices(address, "d1"))["d1:0:"][1] == "runs: swarm.py:swarm"
        assert (await slices(address, "d2"))["d2:0:"][1] == "runs: arm.py:swarm"
        await tables.limit(["arm.py:swarm"])
        await tables.reroute([])
        assert (await slices(address, "d1"))["d1:0:"][1] == "runs", "what waits goes to the queue that it has now"
        assert (await slices(address, "d2"))["d2:0:"][1] == "runs: arm.py:swarm"
    finally:
        await tables.limit([])


def worker(name: str, code: str, *queues: str) -> ListedWorker:
    report = WorkerReport(id=name, place="host:7", slots=1, code=code, queues=queues, alive_since=ev.utc_now())
    return ListedWorker(report=report, heard_s=0.0, driving=())


async def test_a_run_waits_in_the_queue_that_its_workers_take(address: PostgresAddress, tables: QueueTables) -> None:
    await tables.limit(["swarm.py:swarm"])
    try:
        async with await open_journal(address.url) as journal:
            in_gpu = created("f1").model_copy(update={"queue": "gpu"})
            await journal.create(in_gpu, Summary(id="f1", ref="/x/other.py:swarm"))
            await journal.create(in_gpu.model_copy(update={"run_id": "f2", "queue": "mail"}), Summary(id="f2", ref=REF))
            assert (await slices(address, "f1"))["f1:0:"][1] == dispatch_queue("gpu") == "runs@gpu"
            assert (await slices(address, "f2"))["f2:0:"][1] == dispatch_queue("mail", "swarm.py:swarm")
            assert [await tables.has_waiting([dispatch_queue("other")])] == [False]
            await journal.post("f1", ev.RunMoved(code="", queue="mail", by=ME), effective=True)
            await tables.reroute([])
            assert (await slices(address, "f1"))["f1:0:"][1] == "runs@mail"
    finally:
        await tables.limit([])


async def test_a_slice_without_a_label_is_for_the_newest_one_among_workers_of_its_queue(
    address: PostgresAddress, tables: QueueTables
) -> None:
    async with await open_journal(address.url) as journal:
        in_gpu = created("g1").model_copy(update={"queue": "gpu"})
        await journal.create(in_gpu, Summary(id="g1", ref=REF))
        await journal.create(created("g2"), Summary(id="g2", ref=REF))
        await tables.reroute([worker("a", "v1", "gpu"), worker("b", "v2", "default")])
        assert await version(address, "g1") == code_version("v1"), "the newest of all, v2, takes no runs of its queue"
        assert await version(address, "g2") is None, "DBOS gives it to the newest of all"
        await tables.reroute([worker("b", "v2", "default", "gpu")])
        assert await version(address, "g1") is None


async def test_parked_runs_are_in_no_queue(address: PostgresAddress, tables: QueueTables) -> None:
    async with await open_journal(address.url) as journal:
        await journal.create(created("e1"), Summary(id="e1", ref=REF))
        lease = await journal.claim("e1", "me", 60.0)
        assert lease is not None
        await journal.append(lease, [ev.RunStarted(epoch=lease.epoch, owner="me"), opened("e-i")])
        await journal.append(lease, [ev.RunParked(reason="waiting", incidents=("e-i",))])
        await journal.release(lease)
        await tables.enqueue_missing(None)
        assert list(await slices(address, "e1")) == ["e1:0:"]
        await journal.answer(answer("e-i"))
        assert set(await slices(address, "e1")) == {"e1:0:", "e1:1:"}
