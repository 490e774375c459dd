"""What cuts a writer off from its server: nothing acknowledged is lost, nothing is written twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import psycopg
import pytest

from runtime.record.address import parse_address
from runtime.record.journal import AnswerAccepted, CommitUnknown, Fenced, Unrecordable, Unwritable
from runtime.record.places import init_database, open_journal
from runtime.record.postgres import connection as connections
from runtime.record.postgres import locked_rows
from runtime.record.postgres import writer as writers
from runtime.record.postgres.journal import PostgresJournal
from runtime.record.state import events as ev
from tests.postgres_server import PostgresServer
from tests.runtime.record.journal_samples import answer, opened, started, texts, warned

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
async def workspace(postgres_url: str) -> str:
    await init_database(postgres_url)
    return postgres_url


def open_writer(journal: object) -> writers.Writer:
    assert isinstance(journal, PostgresJournal)
    return journal._write()


class Proxy:
    """Between a client and the server. `cut` says what becomes of the next batch in which `mark` stands."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self.mark = b""
        self.cut = ""
        self.seen = asyncio.Event()
        self.dropped: set[asyncio.StreamWriter] = set()
        self.refusing = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refusing:
            writer.close()
            return
        up_reader, up_writer = await asyncio.open_unix_connection(str(self.socket))
        try:
            await asyncio.gather(
                self.pump(reader, up_writer, writer), self.pump(up_reader, writer, None), return_exceptions=True
            )
        finally:
            for each in (writer, up_writer):
                each.close()

    async def pump(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, client: asyncio.StreamWriter | None
    ) -> None:
        while data := await source.read(1 << 20):
            if client is not None and self.mark and self.mark in data:
                self.mark = b""
                if self.cut == "before":
                    client.transport.abort()
                    target.transport.abort()
                    self.seen.set()
                    return
                self.dropped.add(client)  # the server gets it, its reply gets lost
                target.write(data)
                await target.drain()
                self.seen.set()
            elif target in self.dropped:
                continue
            else:
                target.write(data)
                await target.drain()
        target.close()

    def drop(self) -> None:
        """Cut off the clients whose replies were lost."""
        for client in self.dropped:
            client.transport.abort()


@asynccontextmanager
async def proxied(server: PostgresServer, url: str) -> AsyncIterator[tuple[Proxy, str]]:
    proxy = Proxy(server.socket_directory / ".s.PGSQL.5432")
    listening = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    name = parse_address(url)
    database = url.split("@/")[1].split("?", maxsplit=1)[0]
    try:
        yield proxy, f"postgres://postgres@127.0.0.1:{port}/{database}?sslmode=disable&workspace={name.workspace}"
    finally:
        listening.close()
        proxy.drop()


async def test_a_commit_whose_reply_was_lost_is_not_made_twice(postgres: PostgresServer, workspace: str) -> None:
    async with proxied(postgres, workspace) as (proxy, url), await open_journal(workspace) as watching:
        async with await open_journal(url) as journal:
            lease = await started(journal)
            proxy.mark, proxy.cut = b"the lost reply", "after"
            appending = asyncio.ensure_future(journal.append(lease, [warned("the lost reply")]))
            await proxy.seen.wait()
            async for events in watching.tail("r1"):  # until the server has committed it
                if "the lost reply" in texts(events):
                    break
            assert not appending.done()
            proxy.drop()
            (written,) = await appending
            assert written.seq == 3
            assert [event.seq for event in await journal.append(lease, [warned("next")])] == [4]
        assert texts(await watching.read("r1")) == ["the lost reply", "next"]
        assert await watching.check() == []


async def test_a_batch_that_never_came_to_the_server_is_sent_again(postgres: PostgresServer, workspace: str) -> None:
    async with proxied(postgres, workspace) as (proxy, url), await open_journal(url) as journal:
        lease = await started(journal)
        proxy.mark, proxy.cut = b"never arrived", "before"
        written = await asyncio.gather(*(journal.append(lease, [warned(f"never arrived {n}")]) for n in range(20)))
        assert proxy.seen.is_set()
        assert [events[0].seq for events in written] == list(range(3, 23))
        assert texts(await journal.read("r1")) == [f"never arrived {n}" for n in range(20)]


async def test_an_answer_whose_reply_was_lost_is_given_once(postgres: PostgresServer, workspace: str) -> None:
    async with proxied(postgres, workspace) as (proxy, url), await open_journal(workspace) as watching:
        async with await open_journal(url) as journal:
            lease = await started(watching)
            await watching.append(lease, [opened()])
            proxy.mark, proxy.cut = b"lost-option", "after"
            answering = asyncio.ensure_future(journal.answer(answer(option="lost-option")))
            await proxy.seen.wait()
            async for events in watching.tail("r1"):
                if any(isinstance(event, ev.IncidentAnswered) for event in events):
                    break
            proxy.drop()
            assert isinstance(await answering, AnswerAccepted)
        given = [event for event in await watching.read("r1") if isinstance(event, ev.IncidentAnswered)]
        assert len(given) == 1


async def test_a_server_that_stays_away_says_that_the_outcome_is_unknown(
    postgres: PostgresServer, workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "PATIENCE_S", 0.1)
    async with proxied(postgres, workspace) as (proxy, url), await open_journal(url) as journal:
        lease = await started(journal)
        proxy.mark, proxy.cut = b"who knows", "before"
        appending = asyncio.ensure_future(journal.append(lease, [warned("who knows")]))
        proxy.refusing = True
        with pytest.raises(CommitUnknown, match="may be written or not"):
            await appending
        with pytest.raises(CommitUnknown):
            await journal.append(lease, [warned("later")])
        proxy.refusing = False
        await journal.append(lease, [warned("then")])
        assert texts(await journal.read("r1")) == ["then"]


async def test_what_a_drive_appends_is_held_until_the_server_is_back(
    postgres: PostgresServer, workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "PATIENCE_S", 0.1)
    async with proxied(postgres, workspace) as (proxy, url), await open_journal(url) as journal:
        lease = await started(journal)
        journal.hold_back(True)
        proxy.mark, proxy.cut = b"held", "before"
        proxy.refusing = True
        held = [asyncio.ensure_future(journal.append(lease, [warned(f"held {n}")])) for n in range(3)]
        while not journal.held_back:  # noqa: ASYNC110 - a property, which tells no waiter that it changes
            await asyncio.sleep(0)
        with pytest.raises((Unwritable, CommitUnknown)):
            await journal.renew(lease)
        proxy.refusing = False
        await asyncio.gather(*held)
        assert journal.held_back == ""
        assert texts(await journal.read("r1")) == ["held 0", "held 1", "held 2"]


async def test_sessions_that_an_administrator_ends_come_back(
    postgres: PostgresServer, workspace: str, worker_id: str
) -> None:
    async with await open_journal(workspace) as journal:
        lease = await started(journal)
        tail = journal.tail("r1")
        assert len(await anext(tail)) == 2
        for round_ in range(3):
            postgres.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()",
                f"tests_{worker_id}",
            )
            await journal.append(lease, [warned(str(round_))])
            assert texts(await anext(tail)) == [str(round_)]
        assert len(await journal.read("r1")) == 5
        await tail.aclose()  # type: ignore[attr-defined]


async def test_a_server_that_crashes_under_many_producers(own_server: PostgresServer) -> None:
    """Twice in mid-stream, `pg_ctl restart -m immediate`: what was acknowledged is there, once and in order."""
    own_server.make_database("crashing")
    url = own_server.url("crashing", "news")
    await init_database(url)
    async with await open_journal(url) as journal:
        leases = [await started(journal, f"r{n}", ttl_s=600) for n in range(4)]
        acknowledged: list[list[str]] = [[] for _ in range(4)]
        stop, more = asyncio.Event(), asyncio.Condition()

        async def produce(number: int) -> None:
            part = 0
            while not stop.is_set():
                await journal.append(leases[number], [warned(f"{part}")])
                async with more:
                    acknowledged[number].append(f"{part}")
                    more.notify_all()
                part += 1

        producers = [asyncio.ensure_future(produce(number)) for number in range(4)]
        for _ in range(2):
            enough = len(acknowledged[0]) + 20
            async with more:
                while len(acknowledged[0]) < enough:
                    await more.wait()
            await asyncio.to_thread(own_server.restart)
        stop.set()
        await asyncio.gather(*producers)
        for number in range(4):
            assert texts(await journal.read(f"r{number}")) == acknowledged[number]
        assert await journal.check() == []


async def test_a_stopped_server_is_waited_for(own_server: PostgresServer) -> None:
    own_server.make_database("stopping")
    url = own_server.url("stopping", "news")
    await init_database(url)
    async with await open_journal(url) as journal:
        lease = await started(journal)
        await asyncio.to_thread(own_server.stop)
        appending = asyncio.ensure_future(journal.append(lease, [warned("in the meantime")]))
        await asyncio.to_thread(own_server.start)
        await appending
        assert texts(await journal.read("r1")) == ["in the meantime"]


async def test_a_session_stopped_in_mid_transaction_holds_a_run_only_for_a_while(
    workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of a process under SIGSTOP: the server ends it, and what it would have done is fenced."""
    async with await open_journal(workspace) as journal:
        lease = await started(journal)
        monkeypatch.setattr(connections, "IDLE_TRANSACTION_MS", 300)
        stopped = await connections.connect(parse_address(workspace))
        try:
            await stopped.execute("BEGIN")
            await stopped.execute("SELECT 1 FROM run FOR UPDATE")
            await journal.append(lease, [warned("after the other one")])
            with pytest.raises(Exception, match=r"terminating connection|closed"):
                await stopped.execute("COMMIT")
        finally:
            with suppress(Exception):
                await stopped.close()


async def test_a_session_stopped_between_two_statements_of_a_pipeline_is_ended_by_the_next_writer(
    workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No limit of a server before 17 ends it: for the server it is active, and waits for its client."""
    monkeypatch.setattr(connections, "LOCK_TIMEOUT_MS", 300)
    monkeypatch.setattr(locked_rows, "IDLE_TRANSACTION_MS", 200)
    async with await open_journal(workspace) as journal:
        lease = await started(journal)
        stopped = await connections.connect(parse_address(workspace), name="orbiter-console stopped")
        try:
            with suppress(psycopg.OperationalError):  # that of the session that was ended
                async with stopped.pipeline():
                    await stopped.execute("BEGIN")
                    await stopped.execute("SELECT id FROM run ORDER BY rid FOR UPDATE")
                    await stopped.execute("SELECT repeat('x', 100000)")  # a server keeps less before it sends it
                    await journal.append(lease, [warned("after the other one")])
        finally:
            await stopped.close()
        assert texts(await journal.read("r1")) == ["after the other one"]


async def test_a_writer_that_lost_its_lease_while_it_was_cut_off_is_fenced(
    postgres: PostgresServer, workspace: str
) -> None:
    async with proxied(postgres, workspace) as (proxy, url), await open_journal(workspace) as other:
        async with await open_journal(url) as journal:
            lease = await started(journal, ttl_s=0.05)
            proxy.mark, proxy.cut = b"from the grave", "before"
            proxy.refusing = True
            appending = asyncio.ensure_future(journal.append(lease, [warned("from the grave")]))
            await proxy.seen.wait()
            while (heir := await other.claim("r1", "heir", 60)) is None:  # noqa: ASYNC110 - the server's clock is waited for
                await asyncio.sleep(0)
            await other.append(heir, [warned("the heir's")])
            proxy.refusing = False
            with pytest.raises(Fenced, match="heir holds epoch 2"):
                await appending
        assert texts(await other.read("r1")) == ["the heir's"]


async def test_a_row_of_a_writer_that_was_taken_away_is_made_again(postgres: PostgresServer, workspace: str) -> None:
    async with await open_journal(workspace) as journal:
        lease = await started(journal)
        await open_writer(journal).run_exclusive(lambda connection: connection.execute("DELETE FROM writer"))
        await journal.append(lease, [warned("still here")])
        assert texts(await journal.read("r1")) == ["still here"]


async def test_a_text_that_cannot_be_sent_fails_alone_and_leaves_no_transaction(workspace: str) -> None:
    async with await open_journal(workspace) as journal:
        lease = await started(journal)
        refused, *others = await asyncio.gather(
            journal.command("half an emoji: \ud83d", {}),
            journal.append(lease, [warned("one")]),
            journal.command("c2", {}),
            return_exceptions=True,
        )
        assert isinstance(refused, Unrecordable)
        assert not any(isinstance(other, BaseException) for other in others), others
        await journal.append(lease, [warned("two")])
    async with await open_journal(workspace) as journal:
        assert texts(await journal.read("r1")) == ["one", "two"]
