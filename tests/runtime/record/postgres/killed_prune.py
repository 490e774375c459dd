"""Prunes a workspace in processes that are killed: the first before its first statement that changes or locks
something, or its first export; the next before its second.

``python -m tests.runtime.record.postgres.killed_prune ADDRESS`` prints how many were killed, when one got through. The
address names a database that is not there yet: each process has a copy of it.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from runtime.record.address import parse_address
from runtime.record.journal_care import JournalCare
from runtime.record.places import init_database, open_journal
from runtime.record.postgres import retention
from runtime.record.postgres.connection import Connection
from runtime.record.state import events as ev
from tests.runtime.record.journal_samples import started, warned

AGE = -timedelta(hours=1)
STAYS = "r3"
"""A run that has not ended. Others are with it in a partition that is emptied, in one that is dropped, or go by row."""


async def make(url: str) -> dict[str, list[ev.JournalEvent]]:
    """A workspace with partitions of three runs. Gives the events of each."""
    await init_database(url, partition_runs=3)
    async with await open_journal(url) as journal:
        for number in range(2, 9):
            run_id = f"r{number}"
            lease = await started(journal, run_id)
            await journal.append(lease, [ev.StepEnded(attempt=1, result=str(number) * 70_000), *[warned()] * 9])
            if run_id != STAYS:
                await journal.append(lease, [ev.RunFinished(state="completed")])
            await journal.make_partitions()
        return {run.id: await journal.read(run.id) for run in await journal.runs()}


async def prune(url: str, exports: Path, kill_at: int) -> None:
    """Dies before its change or export number `kill_at`, if it comes that far."""
    count = itertools.count()

    def step() -> None:
        if next(count) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    async def export(run_id: str) -> None:
        step()
        await asyncio.to_thread((exports / run_id).write_text, run_id)

    async with await open_journal(url) as journal:
        execute = Connection.execute

        async def counted(self: Any, statement: Any, *arguments: Any, **named: Any) -> Any:
            if not str(statement).lstrip().startswith("SELECT"):  # nothing is different after a look
                step()
            return await execute(self, statement, *arguments, **named)

        Connection.__origin__.execute = counted  # type: ignore[attr-defined]
        await journal.prune(older_than=AGE, export=export)


async def check(journal: JournalCare, before: dict[str, list[ev.JournalEvent]], exports: Path) -> None:
    """Each run is there wholly, or is gone wholly and exported before."""
    left = {run.id for run in await journal.runs()}
    assert STAYS in left
    for run_id, events in before.items():
        assert await journal.read(run_id) == (events if run_id in left else []), run_id
        assert run_id in left or (exports / run_id).exists(), run_id
    assert await journal.check() == []


async def check_killed(url: str, before: dict[str, list[ev.JournalEvent]], exports: Path) -> None:
    """What a process left that was killed; and that the next call goes on, and runs that stayed can be written."""
    async with await open_journal(url) as journal:
        await check(journal, before, exports)
        await journal.prune(older_than=AGE)
        assert {run.id for run in await journal.runs()} == {STAYS}
        assert await journal.check() == []
        await started(journal, "next")
        await check(journal, {STAYS: before[STAYS]}, exports)


@contextmanager
def copy_of(url: str, number: int) -> Iterator[str]:
    """A database with all that is in that of `url`."""
    conninfo = parse_address(url).conninfo
    database = str(conninfo_to_dict(conninfo)["dbname"])
    copy = f"{database}_{number}"
    with psycopg.connect(make_conninfo(conninfo, dbname="postgres"), autocommit=True) as connection:
        made = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(copy), sql.Identifier(database))
        connection.execute(made)
        try:
            yield url.replace(f"/{database}?", f"/{copy}?")
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(copy)))


def main(template: str) -> int:
    """How many were killed."""
    retention.WORTHWHILE_EVENTS = 15
    retention.KEPT_SHARE = 0.6
    before = asyncio.run(make(template))
    for kill_at in itertools.count():
        with TemporaryDirectory() as directory, copy_of(template, kill_at) as url:
            exports = Path(directory)
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    asyncio.run(prune(url, exports, kill_at))
                    code = 0
                finally:
                    os._exit(code)
            _, status = os.waitpid(child, 0)
            asyncio.run(check_killed(url, before, exports))
        if not os.WIFSIGNALED(status):
            assert os.waitstatus_to_exitcode(status) == 0
            return kill_at
    raise AssertionError("one gets through")


if __name__ == "__main__":
    print(main(sys.argv[1]))
