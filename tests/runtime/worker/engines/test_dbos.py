"""DBOS gives runs to workers: in the append's transaction, with limits over all of them, and never as a gate."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from msgspec import structs
from msgspec.structs import replace
from psycopg import sql

from runtime.execution.execution_config import ExecutionConfig, SwarmLimit
from runtime.judgement.faults.classify import classify
from runtime.operations.context import OperationContext
from runtime.operations.context import Origin as RequestOrigin
from runtime.operations.decisions import Decisions
from runtime.operations.operations import Operations
from runtime.operations.requests.workers import ListWorkers
from runtime.record.address import PostgresAddress, parse_address
from runtime.record.journal import JournalError
from runtime.record.places import init_database, open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from runtime.record.state.fault_taxonomy import Cause, Effect, Origin, Persistence
from runtime.record.workers import ListedWorker, WorkerReport
from runtime.worker.engines.dbos import CARE, DbosEngine
from runtime.worker.engines.dbos_process import MAKING_LOCK, WAITS, connect_to_queue, make_queue
from runtime.worker.engines.dbos_schema import code_version, dispatch_queue, queue_schema
from runtime.worker.engines.dbos_tables import QueueTables
from runtime.worker.engines.port import EngineError, EngineOutcome
from runtime.worker.supervisor import Supervisor
from runtime.worker.worker_report import queue_words
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer
from tests.present import present
from tests.runtime.chaos.harness import SWARMS
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


async def test_a_queue_is_made_by_one_process_at_a_time(address: PostgresAddress) -> None:
    said: list[str] = []
    told = asyncio.Event()

    def say(words: str) -> None:
        said.append(words)
        told.set()

    async with await psycopg.AsyncConnection.connect(address.conninfo, autocommit=True) as other:
        await other.execute("SELECT pg_advisory_lock(%s)", (MAKING_LOCK,))
        await other.execute(sql.SQL("DROP FUNCTION {}.queue_of").format(sql.Identifier(queue_schema(address))))
        making = asyncio.create_task(make_queue(address, say=say))
        async with asyncio.timeout(PATIENCE_S):
            await told.wait()
        found = "SELECT count(*) FROM pg_proc WHERE proname = 'queue_of' AND pronamespace = to_regnamespace(%s)"
        assert await (await other.execute(found, (queue_schema(address),))).fetchone() == (0,)
        await other.execute("SELECT pg_advisory_unlock(%s)", (MAKING_LOCK,))
        await making
        assert await (await other.execute(found, (queue_schema(address),))).fetchone() == (1,)
    assert said == [WAITS]


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
        lease = present(await journal.claim("a1", "me", 60.0))
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
    found, refused = await tables.enqueue_missing(None)
    assert (found >= 1, refused) == (True, [])
    assert list(await slices(address, "b1")) == ["b1:0:"]
    assert await tables.enqueue_missing(None) == (0, [])


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
            in_gpu = replace(created("f1"), queue="gpu")
            await journal.create(in_gpu, Summary(id="f1", ref="/x/other.py:swarm"))
            await journal.create(replace(in_gpu, run_id="f2", queue="mail"), Summary(id="f2", ref=REF))
            assert (await slices(address, "f1"))["f1:0:"][1] == dispatch_queue("gpu") == "runs@gpu"
            assert (await slices(address, "f2"))["f2:0:"][1] == dispatch_queue("mail", "swarm.py:swarm")
            assert not (await tables.outlook([dispatch_queue("other")])).has_waiting
            await journal.post("f1", ev.RunMoved(code="", queue="mail", by=ME), effective=True)
            await tables.reroute([])
            assert (await slices(address, "f1"))["f1:0:"][1] == "runs@mail"
    finally:
        await tables.limit([])


async def test_a_slice_without_a_label_is_for_the_newest_one_among_workers_of_its_queue(
    address: PostgresAddress, tables: QueueTables
) -> None:
    async with await open_journal(address.url) as journal:
        in_gpu = replace(created("g1"), queue="gpu")
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
        lease = present(await journal.claim("e1", "me", 60.0))
        await journal.append(lease, [ev.RunStarted(epoch=lease.epoch, owner="me"), opened("e-i")])
        await journal.append(lease, [ev.RunParked(reason="waiting", incidents=("e-i",))])
        await journal.release(lease)
        await tables.enqueue_missing(None)
        assert list(await slices(address, "e1")) == ["e1:0:"]
        await journal.answer(answer("e-i"))
        assert set(await slices(address, "e1")) == {"e1:0:", "e1:1:"}


async def test_a_look_says_when_the_next_lease_ends(address: PostgresAddress, tables: QueueTables) -> None:
    async with await open_journal(address.url) as journal:
        await journal.create(created("k1"), Summary(id="k1", ref=REF))
        lease = present(await journal.claim("k1", "me", 1800.0))
        await journal.append(lease, [ev.RunStarted(epoch=lease.epoch, owner="me")])
        at = journal.now().timestamp()
        soon = await tables.outlook([], at)
        assert soon.lease_ends_s is not None
        assert 0 < soon.lease_ends_s <= 1800.0
        assert (await tables.outlook([], at + 3600.0)).lease_ends_s is None
        await journal.append(lease, [ev.RunFinished(state="completed")])
        await journal.release(lease)


async def test_text_of_others_in_a_summary_keeps_no_run_out(address: PostgresAddress, tables: QueueTables) -> None:
    await tables.limit(["swarm.py:swarm"])
    try:
        async with await open_journal(address.url) as journal:
            title = 'NUL: \0, \\u0000, "ref":"other"'
            await journal.create(created("h1"), Summary(id="h1", ref=REF, title=title))
        assert (await slices(address, "h1"))["h1:0:"][1] == "runs: swarm.py:swarm"
        await tables.limit([])
        await tables.reroute([])
        assert (await slices(address, "h1"))["h1:0:"][1] == "runs"
    finally:
        await tables.limit([])


async def test_a_run_that_the_queue_refuses_keeps_no_other_out_and_is_driven_without_it(
    address: PostgresAddress,
) -> None:
    await execute(address, "ALTER TABLE {queue}.workflow_status ADD CONSTRAINT no_i1 CHECK (workflow_uuid <> 'i1:0:')")
    driven: list[str] = []

    async def carry_on(run_id: str) -> EngineOutcome:
        driven.append(run_id)
        return "parked"

    try:
        async with await open_journal(address.url) as journal, QueueTables(address) as tables:
            await journal.create(created("i1"), Summary(id="i1", ref=REF))
            await journal.create(created("i2"), Summary(id="i2", ref=REF))
            await execute(address, "DELETE FROM {queue}.workflow_status WHERE workflow_uuid = 'i2:0:'")
            engine = DbosEngine(
                carry_on, no_runs, address=address, journal=journal, worker_id="me", config=ExecutionConfig("")
            )
            assert await engine._enqueue_missing(None) == 2
            assert list(engine.refused) == ["i1"]
            await asyncio.gather(*engine._unqueued.values())
            await engine.join()
            assert driven == ["i1"]
            assert list(await slices(address, "i2")) == ["i2:0:"]
            _, (refused,) = await tables.enqueue_missing(None)
            fault = classify(refused.error)
            assert (fault.origin, fault.persistence) == (Origin.QUEUE, Persistence.UNKNOWN)
    finally:
        await execute(address, "ALTER TABLE {queue}.workflow_status DROP CONSTRAINT no_i1")


async def test_a_run_that_the_queue_refuses_is_driven_by_a_worker_of_its_label_and_told_until_then(
    address: PostgresAddress,
) -> None:
    await execute(
        address, "ALTER TABLE {queue}.workflow_status ADD CONSTRAINT no_j1 CHECK (workflow_uuid <> 'j1:0:v2')"
    )
    driven: list[tuple[str, str]] = []

    def made(name: str, code: str) -> DbosEngine:
        async def carry_on(run_id: str) -> EngineOutcome:
            driven.append((name, run_id))
            return "parked"

        return DbosEngine(
            carry_on, no_runs, address=address, journal=journal, worker_id=name, config=ExecutionConfig("", code=code)
        )

    async def claims() -> bool:
        """Whether another worker may care for the queue now."""
        taken = await journal.take_claim(CARE, "another", 60.0)
        await journal.drop_claim(CARE, "another")
        return taken

    try:
        async with await open_journal(address.url) as journal:
            await journal.create(replace(created("j1"), code="v2"), Summary(id="j1", ref=REF))
            caring, fitting = made("caring", ""), made("fitting", "v2")
            # As long as no worker has its label, the run is told of, with both reasons, and the one that cares goes on.
            assert await journal.take_claim(CARE, "caring", 60.0)
            assert await caring._enqueue_missing(None, [worker("caring", "")]) >= 1
            assert list(caring.refused) == ["j1"]
            assert not await claims()
            await journal.beat(structs.replace(worker("caring", "").report, refused=caring.refused))
            operations = Operations(OperationContext(journal, Path(), Path("log")))
            told = await operations.run(ListWorkers(), RequestOrigin(ME))
            (waiting,) = [each for each in told.unserved if "j1" in each.runs]
            assert waiting.need.startswith("a worker with code 'v2', without the queue: the queue refuses it: new row")
            # Where another worker has it, that one gets to care, and drives the run.
            await caring._enqueue_missing(None, [worker("caring", ""), worker("fitting", "v2")])
            assert await claims()
            assert driven == []
            await fitting._enqueue_missing(None, [worker("caring", ""), worker("fitting", "v2")])
            await asyncio.gather(*fitting._unqueued.values())
            assert driven == [("fitting", "j1")]
            await caring.join()
            await fitting.join()
    finally:
        await execute(address, "ALTER TABLE {queue}.workflow_status DROP CONSTRAINT no_j1")


async def no_runs(limit: int) -> list[str]:
    return []


async def test_what_is_wrong_with_the_queue_is_a_fault_of_the_queue(
    postgres: PostgresServer, address: PostgresAddress, worker_id: str, tmp_path: Path
) -> None:
    """Real failures of a real server, each with what it is."""
    bare = parse_address(postgres.url(f"tests_{worker_id}", f"bare-{os.getpid()}"))
    stranger, guest = (f"{name}_{worker_id}_{os.getpid()}" for name in ("stranger", "guest"))
    postgres.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(stranger)))
    postgres.execute(sql.SQL("CREATE ROLE {} LOGIN CONNECTION LIMIT 0").format(sql.Identifier(guest)))

    def role(name: str) -> PostgresAddress:
        return parse_address(address.url.replace("postgres@", f"{name}@"))

    failing = (
        (f"postgres://postgres@/x?host={tmp_path}&workspace=w", Cause.NETWORK, Persistence.TRANSIENT),
        (role(guest).url, Cause.SERVICE_UNAVAILABLE, Persistence.TRANSIENT),
        (role("nameless").url, Cause.AUTH_FAILED, Persistence.NEEDS_CHANGE),
        (role(stranger).url, Cause.PERMISSION_DENIED, Persistence.NEEDS_CHANGE),
        (bare.url, Cause.CONFIG_INVALID, Persistence.NEEDS_CHANGE),
    )
    for url, cause, persistence in failing:
        async with QueueTables(parse_address(url)) as tables:
            with pytest.raises(EngineError) as caught:
                await tables.counts()
        fault = classify(caught.value)
        assert (fault.origin, fault.cause, fault.persistence) == (Origin.QUEUE, cause, persistence), url
    async with QueueTables(address) as tables:
        await tables.counts()
        ours = sql.SQL("application_name = 'orbiter queue' AND datname = {}").format(sql.Literal(f"tests_{worker_id}"))
        postgres.execute(sql.SQL("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {}").format(ours))
        with pytest.raises(EngineError) as caught:
            await tables.counts()
        fault = classify(caught.value)
        assert (fault.origin, fault.persistence) == (Origin.QUEUE, Persistence.TRANSIENT)
        await tables.counts()


async def test_a_worker_without_its_queue_says_so_with_the_cause_and_what_helps(
    postgres: PostgresServer, worker_id: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    bare = parse_address(postgres.url(f"tests_{worker_id}", f"no-queue-{os.getpid()}"))
    await init_database(bare.url)
    async with await open_journal(bare.url) as journal:
        config = ExecutionConfig(workspace=str(tmp_path))
        make = partial(DbosEngine, address=bare, journal=journal, worker_id="me", config=config)
        supervisor = Supervisor(journal, config, engine=make, period_s=0.01)
        serving = asyncio.create_task(supervisor.serve())
        async with asyncio.timeout(PATIENCE_S):
            while supervisor.queue_fault is None:  # noqa: ASYNC110 - told without an event
                await asyncio.sleep(0.01)
        fault = supervisor.queue_fault
        supervisor.stop()
        await serving
    assert (fault.origin, fault.cause, fault.effect) == (Origin.QUEUE, Cause.CONFIG_INVALID, Effect.NOT_ATTEMPTED)
    assert "orbiter-console database init --dbos" in queue_words(fault)
    assert "runs are not given out" in caplog.messages
    assert "DBOS successfully shut down" not in caplog.messages, "at each look, though it has not begun"


async def test_a_workers_role_drives_with_dbos_and_can_forge_nothing_through_the_queue(
    postgres: PostgresServer, worker_id: str, tmp_path: Path
) -> None:
    address = parse_address(postgres.url(f"tests_{worker_id}", f"roles-{os.getpid()}"))
    names = {role: f"dbos_{role}_{worker_id}_{os.getpid()}" for role in ("worker", "operator", "viewer")}
    for name in names.values():
        postgres.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
    await init_database(address.url, worker=names["worker"], operator=names["operator"], viewer=names["viewer"])
    await make_queue(address, worker=names["worker"], operator=names["operator"], viewer=names["viewer"])
    as_worker, as_viewer = (
        parse_address(address.url.replace("postgres@", f"{names[role]}@")) for role in ("worker", "viewer")
    )
    person = ev.Actor(name="ann", channel="cli")
    async with await open_journal(address.url) as journal:
        run = await Decisions(journal, tmp_path).start(f"{SWARMS}/zoo.py:plain", "go", by=person)
    async with await open_journal(as_worker.url) as journal:
        with pytest.raises(JournalError, match="what a person decides"):
            await journal.post(run, ev.AbortRequested(by=person))
        limits = {"zoo.py:plain": SwarmLimit(concurrency=2)}
        config = ExecutionConfig(workspace=str(tmp_path), limits=limits)
        make = partial(DbosEngine, address=as_worker, journal=journal, worker_id="me", config=config)
        supervisor = Supervisor(journal, config, engine=make, period_s=0.01)
        serving = asyncio.create_task(supervisor.serve())
        try:
            async with asyncio.timeout(2 * PATIENCE_S):
                while not isinstance((await journal.read(run))[-1], ev.RunFinished):
                    assert supervisor.queue_fault is None, supervisor.queue_fault
                    await asyncio.sleep(0.02)
        finally:
            supervisor.stop()
            await serving
    named = {"queue": sql.Identifier(queue_schema(address)), "journal": sql.Identifier(address.schema)}
    forging: tuple[tuple[PostgresAddress, LiteralString], ...] = (
        # A pickle would be code in the process of an operator's role.
        (as_worker, "UPDATE {queue}.workflow_status SET serialization = 'py_pickle'"),
        (as_worker, "INSERT INTO {queue}.workflow_status (workflow_uuid, serialization) VALUES ('x', 'py_pickle')"),
        (as_worker, "ALTER TABLE {queue}.workflow_status DROP CONSTRAINT plain_json"),
        (as_worker, "ALTER TABLE {journal}.run DISABLE TRIGGER enqueue_queued"),
        (as_worker, "CREATE FUNCTION {queue}.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'"),
        (as_viewer, "SELECT {queue}.enqueue_run('x', 0, '', '{{}}', 'default')"),
        (as_viewer, "DELETE FROM {queue}.workflow_status"),
    )
    for who, statement in forging:
        async with await psycopg.AsyncConnection.connect(who.conninfo, autocommit=True) as connection:
            with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.CheckViolation)):
                await connection.execute(sql.SQL(statement).format(**named))
    async with QueueTables(as_viewer) as tables:
        assert set(await tables.counts()) <= {"ENQUEUED", "PENDING"}
