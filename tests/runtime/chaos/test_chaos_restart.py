"""A database that crashes under workers while they drive, and is there again."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer
from tests.runtime.chaos.conftest import Tried
from tests.runtime.chaos.harness import Place, check
from tests.runtime.chaos.pairs import PAIRS, SERVER_ENV

ON_POSTGRES = [pair for pair in PAIRS if pair.name.startswith("postgres")]
RUNS = 6
CRASHES = 3
EXPECTED = Counter({f"note {what}": RUNS for what in ("deep1", "deep2", "high1", "high2")})


@pytest.mark.parametrize("pair", ON_POSTGRES, ids=[pair.name for pair in ON_POSTGRES], indirect=True)
@pytest.mark.timeout(280)
async def test_a_database_that_crashes_under_two_workers_loses_no_run_and_doubles_nothing(
    place: Callable[[str], Place], own_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, tried: Tried
) -> None:
    own_server.make_database("chaos")
    monkeypatch.setenv(SERVER_ENV, own_server.url("chaos", "chaos-"))
    async with place("s") as found:
        runs = [await found.start("chaos:nested", f"task {number}") for number in range(RUNS)]
        begin = partial(found.lives.begin, "live", found.root, lease_s=10.0, stay=True, engine_options={"slots": 4})
        workers = [begin(), begin()]
        doubts = 0
        async with asyncio.timeout(PATIENCE_S):
            for crash in range(CRASHES):
                # While they drive: not all is done before the last crash.
                while found.effects.total() < (crash + 1) * RUNS:  # noqa: ASYNC110 - told by a file
                    await asyncio.sleep(0.001)
                await asyncio.to_thread(own_server.restart)
            while await found.unfinished(runs):
                doubts += await found.answer_all()
                await asyncio.sleep(0.05)
        for worker in workers:
            await worker.signal(signal.SIGTERM)
            assert await worker.status() == 0, found.log
        for run in runs:
            assert check(await found.journal.read(run)).output.startswith("the end: deeper is done")
        effects = found.effects
        assert all(count <= RUNS for count in effects.values())
        assert sum((EXPECTED - effects).values()) <= doubts
    tried("a crash of the database under two workers", CRASHES)
