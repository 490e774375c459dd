"""`PostgresLiveReplies`: streamed replies through two unlogged tables of the workspace, on a connection of its own.

Tables, for all roles that may connect to a database hear all of its notices, and a notice holds 8,000 bytes. What is
written here reaches no disk on its own: it is in no log, and gone after a crash of the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any, LiteralString

import msgspec

from runtime.record.address import PostgresAddress
from runtime.record.live_replies import WISH_S, ReplyPiece, process_name
from runtime.record.postgres.connection import Connection, connect, postgres_errors

KEPT_S = 5.0
"""How long, in seconds, pieces are there to be read."""
_LATE = 64
"""So many of the newest rows are looked at again: one with a lower number may be committed later."""

_WATCH: LiteralString = """
    INSERT INTO watched_run (run, process, until)
    SELECT run, %(process)s, extract(epoch FROM clock_timestamp()) + %(wish)s FROM unnest(%(runs)s::text[]) AS n(run)
    ON CONFLICT (run, process) DO UPDATE SET until = excluded.until"""
_FORGET: LiteralString = "DELETE FROM watched_run WHERE until < extract(epoch FROM clock_timestamp())"
_WATCHED: LiteralString = """
    SELECT DISTINCT run FROM watched_run
    WHERE process <> %(process)s AND until > extract(epoch FROM clock_timestamp())"""
_PUBLISH: LiteralString = """
    WITH gone AS (DELETE FROM live_reply WHERE at < extract(epoch FROM clock_timestamp()) - %(kept)s)
    INSERT INTO live_reply (process, pieces, at) VALUES (%(process)s, %(pieces)s,
    extract(epoch FROM clock_timestamp()))"""
_READ: LiteralString = """
    SELECT number, pieces FROM live_reply WHERE number > %(after)s AND process <> %(process)s
    AND at > extract(epoch FROM clock_timestamp()) - %(kept)s ORDER BY number LIMIT 1000"""


class PostgresLiveReplies:
    """`runtime.record.live_replies` says what each method promises. The connection is opened at the first use."""

    def __init__(self, address: PostgresAddress, process: str = "") -> None:
        self._address = address
        self._connection: Connection | None = None
        self._opening = asyncio.Lock()
        self._process = process or process_name()
        self._after = 0
        self._read: dict[int, None] = {}

    async def watch(self, run_ids: Collection[str]) -> None:
        await self._execute(_FORGET)
        await self._execute(_WATCH, {"process": self._process, "runs": list(run_ids), "wish": WISH_S})

    async def watched(self) -> frozenset[str]:
        rows = await self._execute(_WATCHED, {"process": self._process})
        return frozenset(row[0] for row in rows)

    async def publish(self, pieces: Sequence[ReplyPiece]) -> None:
        text = msgspec.json.encode(pieces).decode()
        await self._execute(_PUBLISH, {"process": self._process, "pieces": text, "kept": KEPT_S})

    async def read(self) -> list[ReplyPiece]:
        given = {"after": self._after - _LATE, "process": self._process, "kept": KEPT_S}
        found: list[ReplyPiece] = []
        for number, text in await self._execute(_READ, given):
            if number not in self._read:
                self._read[number] = None
                self._after = max(self._after, number)
                found += msgspec.json.decode(text, type=list[ReplyPiece])
        for number in [each for each in self._read if each <= self._after - _LATE]:
            del self._read[number]
        return found

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def _execute(self, statement: LiteralString, given: Mapping[str, Any] | None = None) -> Sequence[Any]:
        async with self._opening:
            if self._connection is None or self._connection.closed:
                self._connection = await connect(self._address, name="orbiter live replies")
                self._after = 0  # after a crash of the server its numbers begin again
                self._read.clear()
                with postgres_errors("cannot pass replies on", self._address):
                    await self._connection.execute("SET synchronous_commit = off")
        with postgres_errors("cannot pass replies on", self._address):
            cursor = await self._connection.execute(statement, given)
            return await cursor.fetchall() if cursor.description is not None else ()
