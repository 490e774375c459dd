"""The schema: made once, refused where it is newer, and usable by roles that may do little."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from psycopg import errors, sql

from runtime.record.address import parse_address
from runtime.record.journal import AnswerAccepted, JournalError, NewerJournal
from runtime.record.places import init_database, open_journal
from runtime.record.postgres import connection as connections
from runtime.record.postgres import schema
from runtime.record.state import events as ev
from tests.patience import PATIENCE_S
from tests.runtime.record.journal_samples import answer, opened, started, texts, warned

if TYPE_CHECKING:
    from tests.postgres_server import PostgresServer


async def test_a_workspace_is_made_once_however_many_make_it(postgres_url: str) -> None:
    with pytest.raises(JournalError, match=r"this database has no workspace .* create it with .* database init"):
        await open_journal(postgres_url)
    done = await asyncio.gather(*(init_database(postgres_url) for _ in range(4)))
    assert sum("created" in each for each in done) == 1
    assert sum("is up to date" in each for each in done) == 3
    async with await open_journal(postgres_url) as journal:
        assert await journal.check() == []
        assert (await journal.describe()).startswith(f"{parse_address(postgres_url).url}: ")


async def test_workspaces_of_a_database_know_nothing_of_each_other(postgres_url: str) -> None:
    urls = (f"{postgres_url}-a", f"{postgres_url}-b")
    for url in urls:
        await init_database(url)
    async with await open_journal(urls[0]) as one, await open_journal(urls[1]) as other:
        await started(one)
        assert await other.runs() == []
        assert await other.position() == 0


async def test_a_newer_schema_is_refused_in_words(postgres_url: str) -> None:
    await init_database(postgres_url)
    address = parse_address(postgres_url)
    here = schema.SCHEMA_VERSION
    newer = {here: ("ALTER TABLE run ADD COLUMN colour text",)}
    done = await schema.init_database(address, version=here + 1, migrations=newer)
    assert f"brought up to date from schema {here}" in done
    with pytest.raises(NewerJournal, match=rf"schema {here + 1}, this one knows {here}\): update orbiter-console"):
        await open_journal(postgres_url)
    with pytest.raises(NewerJournal, match="update orbiter-console"):
        await init_database(postgres_url)


async def test_an_older_schema_waits_for_its_owner(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await init_database(postgres_url)
    monkeypatch.setattr(schema.check_version, "__defaults__", (schema.SCHEMA_VERSION + 1,))
    found = rf"has schema {schema.SCHEMA_VERSION}, this program needs {schema.SCHEMA_VERSION + 1}: .*database init"
    with pytest.raises(JournalError, match=found):
        await open_journal(postgres_url)


async def test_a_migration_that_fails_changes_nothing(postgres_url: str) -> None:
    await init_database(postgres_url)
    here = schema.SCHEMA_VERSION
    broken = {here: ("ALTER TABLE run ADD COLUMN colour text", "ALTER TABLE nowhere ADD COLUMN x text")}
    with pytest.raises(JournalError):
        await schema.init_database(parse_address(postgres_url), version=here + 1, migrations=broken)
    async with await open_journal(postgres_url) as journal:
        assert await journal.runs() == []


async def test_a_viewer_reads_and_a_worker_cannot_take_events_away(
    postgres: PostgresServer, postgres_url: str, worker_id: str
) -> None:
    await init_database(postgres_url)
    names = {role: f"{role}_{worker_id}_{parse_address(postgres_url).workspace}" for role in ("worker", "viewer")}
    for name in names.values():
        postgres.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
    await schema.grant_roles(parse_address(postgres_url), worker=names["worker"], viewer=names["viewer"])
    as_worker, as_viewer = (postgres_url.replace("postgres@", f"{names[role]}@") for role in ("worker", "viewer"))
    async with await open_journal(as_worker) as journal:
        lease = await started(journal)
        await journal.append(lease, [warned("written by a worker"), ev.RunFinished(state="completed")])
        with pytest.raises(JournalError, match="permission denied"):
            await journal.prune(max_bytes=0)
    async with await open_journal(as_viewer, readonly=True) as journal:
        assert texts(await journal.read("r1")) == ["written by a worker"]
    with pytest.raises(JournalError, match=r"permission denied.*what a worker and a viewer need"):
        await open_journal(as_viewer)


async def test_a_worker_cannot_decide_in_the_name_of_a_person(
    postgres: PostgresServer, postgres_url: str, worker_id: str
) -> None:
    """However it writes it: the role is refused, not the program."""
    await init_database(postgres_url)
    address = parse_address(postgres_url)
    names = {role: f"{role}_{worker_id}_{address.workspace}" for role in ("worker", "operator")}
    for name in names.values():
        postgres.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
    await schema.grant_roles(address, worker=names["worker"], operator=names["operator"])
    as_worker, as_operator = (postgres_url.replace("postgres@", f"{names[role]}@") for role in ("worker", "operator"))
    person = ev.Actor(name="ann", channel="cli")
    async with await open_journal(as_worker) as journal:
        lease = await started(journal)
        await journal.append(lease, [opened(), opened("i2"), warned("a NUL: \0"), warned(r'"\u0000"')])
        for forged in (answer(), replace(answer(), by=ev.Actor(name="ann", channel="console"))):
            with pytest.raises(JournalError, match=r"cannot record what a person decides \(incident.answered\)"):
                await journal.answer(forged)
        with pytest.raises(JournalError, match="what a person decides"):
            await journal.post("r1", ev.AbortRequested(by=person))
        rule = replace(answer("i2"), by=ev.Actor(name="deadline", channel="rule"))
        assert isinstance(await journal.answer(rule), AnswerAccepted)
    connection = await connections.connect(parse_address(as_worker))
    try:
        for body in (
            r'{"by": {"name": "ann", "ch\u0061nnel" : "cl\u0069"}, "type": "incident.answered", "x": "\u0000"}',
            '{"type":"run.frozen","by":{"channel":"rule"},"by":{"channel":"console"}}',
            '{"type":"grant.added"}',
        ):
            with pytest.raises(errors.InsufficientPrivilege, match="what a person decides"):
                await connection.execute("INSERT INTO event (run, seq, pos, body) VALUES (1, 99, 99, %s)", (body,))
        for statement in ("DELETE FROM event", "UPDATE event SET body = ''", "DELETE FROM machine_role"):
            with pytest.raises(errors.InsufficientPrivilege):
                await connection.execute(statement)
        await connection.execute("CREATE TEMP TABLE machine_role (name text)")
        with pytest.raises(errors.InsufficientPrivilege, match="what a person decides"):
            await connection.execute("INSERT INTO event (run, seq, pos, body) VALUES (1, 99, 99, %s)", (body,))
    finally:
        await connection.close()
    async with await open_journal(as_operator) as journal:
        assert isinstance(await journal.answer(answer()), AnswerAccepted)
        assert await journal.check() == []


async def test_a_database_of_another_encoding_is_refused(postgres: PostgresServer, worker_id: str) -> None:
    name = f"latin_{worker_id}"
    postgres.execute(
        sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'").format(
            sql.Identifier(name)
        )
    )
    with pytest.raises(JournalError, match="encoding is LATIN1: create it with ENCODING 'UTF8'"):
        await init_database(postgres.url(name, "news"))


@pytest.mark.parametrize("workspace", ["news", "not-there"])
async def test_no_server_is_said_in_one_line(workspace: str) -> None:
    with pytest.raises(JournalError, match=r"^cannot connect in postgres://127\.0\.0\.1:1/db\?workspace") as caught:
        await open_journal(f"postgres://127.0.0.1:1/db?workspace={workspace}")
    assert "\n" not in str(caught.value)


async def test_writers_do_not_wait_while_an_old_run_is_deleted(postgres: PostgresServer, postgres_url: str) -> None:
    await init_database(postgres_url)
    address = parse_address(postgres_url)
    async with await open_journal(postgres_url) as journal:
        old, young = await started(journal, "r0"), await started(journal, "r1")
        await journal.append(old, [opened(), ev.RunFinished(state="completed")])
        holding = await connections.connect(address)
        deleting = asyncio.create_task(journal.prune(max_bytes=0))
        try:
            async with asyncio.timeout(PATIENCE_S), holding.transaction():
                held = await holding.execute("SELECT 1 FROM incident FOR UPDATE")
                assert held.rowcount == 1
                waiting = sql.SQL("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE {}")
                in_deletion = waiting.format(sql.Literal("DELETE FROM incident%"))
                while not postgres.execute(in_deletion):  # noqa: ASYNC110 - the events of the run are deleted, and not for good
                    await asyncio.sleep(0.01)
                await journal.append(young, [warned("written meanwhile"), opened("i2")])
        finally:
            await holding.close()
        assert await deleting == ["r0"]
        assert texts(await journal.read("r1")) == ["written meanwhile"]


async def test_old_runs_go_and_unfinished_ones_stay(postgres_url: str) -> None:
    await init_database(postgres_url)
    async with await open_journal(postgres_url) as journal:
        for number in range(3):
            lease = await started(journal, f"r{number}")
            await journal.append(lease, [ev.StepEnded(node_id="a~0", attempt=1, result={"big": str(number) * 200_000})])
            if number != 1:
                await journal.append(lease, [ev.RunFinished(state="completed")])
        here = await journal.position()
        assert await journal.prune(max_bytes=450_000) == ["r0"]
        assert await journal.prune(max_bytes=0) == ["r2"]
        assert [run.id for run in await journal.runs()] == ["r1"]
        assert len(await journal.read("r1")) == 3
        assert await journal.position() == here, "a position is never given twice"
        assert await journal.check() == []
        await journal.rebuild_summaries()
