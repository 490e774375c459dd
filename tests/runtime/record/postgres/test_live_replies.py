"""Replies that stream on one machine and are watched on another, through tables of the workspace."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runtime.record.address import parse_address
from runtime.record.live_replies import ReplyPiece
from runtime.record.places import init_database
from runtime.record.postgres.live_replies import PostgresLiveReplies


def piece(text: str, offset: int = 0) -> ReplyPiece:
    return ReplyPiece("r1", "root/ask", 1, "text", offset, text)


@pytest.fixture
async def ends(postgres_url: str) -> AsyncIterator[tuple[PostgresLiveReplies, PostgresLiveReplies]]:
    """A worker's, and a server's."""
    await init_database(postgres_url)
    address = parse_address(postgres_url)
    worker, server = PostgresLiveReplies(address, "worker"), PostgresLiveReplies(address, "server")
    yield worker, server
    await worker.close()
    await server.close()


async def test_pieces_are_read_once_in_their_order_and_not_by_their_own_process(
    ends: tuple[PostgresLiveReplies, PostgresLiveReplies],
) -> None:
    worker, server = ends
    hostile = "a NUL \0, an escape \x1b[31m, half a pair: é"
    await worker.publish([piece("one "), piece("two", 4)])
    assert await server.read() == [piece("one "), piece("two", 4)]
    await worker.publish([piece(hostile, 7)])
    assert await server.read() == [piece(hostile, 7)]
    assert (await server.read(), await worker.read()) == ([], [])


async def test_a_worker_knows_what_is_watched_through_other_processes(
    ends: tuple[PostgresLiveReplies, PostgresLiveReplies],
) -> None:
    worker, server = ends
    await server.watch(["r1", "r2"])
    await server.watch(["r2"])
    await worker.watch(["r3"])
    assert await worker.watched() == {"r1", "r2"}
    assert await server.watched() == {"r3"}


async def test_what_is_passed_on_is_for_roles_of_the_workspace_only(
    ends: tuple[PostgresLiveReplies, PostgresLiveReplies],
) -> None:
    """A notice would be heard by every role that may connect to the database."""
    worker, server = ends
    await worker.publish([piece("secret")])
    rows = await server._execute(
        "SELECT has_table_privilege('public', c.oid, 'SELECT') FROM pg_class c WHERE relname = 'live_reply'"
        " AND relnamespace = to_regnamespace(current_schema())::oid"
    )
    assert rows == [(False,)]
