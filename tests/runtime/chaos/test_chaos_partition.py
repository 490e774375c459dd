"""A whole worker that is cut off from the database while it drives, and comes back."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from runtime.record.address import parse_address
from runtime.record.places import journal_address, make_state_directory
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer
from tests.runtime.chaos.conftest import Tried
from tests.runtime.chaos.harness import Place, check
from tests.runtime.chaos.pairs import PAIRS

ON_POSTGRES = [pair for pair in PAIRS if pair.name.startswith("postgres")]


class Cable:
    """Between a worker and the server. While it is cut nothing passes, and nothing is closed; what was under way
    arrives when it is mended.
    """

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self.whole = asyncio.Event()
        self.whole.set()
        self._ends: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._ends.add(writer)
        await self.whole.wait()
        up_reader, up_writer = await asyncio.open_unix_connection(str(self._socket))
        self._ends.add(up_writer)
        with suppress(OSError):
            await asyncio.gather(self._pump(reader, up_writer), self._pump(up_reader, writer))
        for each in (writer, up_writer):
            each.close()
            self._ends.discard(each)

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while data := await source.read(1 << 20):
            await self.whole.wait()
            target.write(data)
            await target.drain()
        await self.whole.wait()
        target.close()

    def drop(self) -> None:
        for each in self._ends:
            each.transport.abort()


@asynccontextmanager
async def laid(server: PostgresServer) -> AsyncIterator[tuple[Cable, int]]:
    """A cable, and the port of its worker's end."""
    cable = Cable(server.socket_directory / ".s.PGSQL.5432")
    listening = await asyncio.start_server(cable.serve, "127.0.0.1", 0)
    try:
        yield cable, listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        cable.whole.set()
        cable.drop()


async def until(fact: Callable[[], bool], what: str) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not fact():  # noqa: ASYNC110 - of other processes
                await asyncio.sleep(0.02)
    except TimeoutError as exc:
        raise AssertionError(f"it never came about that {what}") from exc


@pytest.mark.parametrize("pair", ON_POSTGRES, ids=[pair.name for pair in ON_POSTGRES], indirect=True)
@pytest.mark.timeout(280)
async def test_a_worker_cut_off_from_the_database_while_it_drives_doubles_nothing(
    place: Callable[[str], Place], postgres: PostgresServer, tmp_path: Path, tried: Tried
) -> None:
    async with place("p") as found, laid(postgres) as (cable, port):
        runs = [await found.start("chaos:patient", f"task {number}") for number in range(3)]
        address = journal_address(found.root)
        assert address is not None
        database = address.url.split("@/")[1].split("?", maxsplit=1)[0]
        over_cable = f"postgres://postgres@127.0.0.1:{port}/{database}?sslmode=disable&workspace={address.workspace}"
        far = tmp_path / "far"
        make_state_directory(parse_address(over_cable).url, far)
        env = {"ORBITER_TEST_EFFECTS": str(found.root / "effects")}
        cut_off = found.lives.begin("live", far, lease_s=1.0, stay=True, env=env)
        await until(lambda: found.effects["look out"] == len(runs), "the first worker drives all runs")
        cable.whole.clear()
        other = found.lives.begin("live", found.root, lease_s=1.0)
        await until(lambda: found.effects["look out"] == 2 * len(runs), "another worker takes all runs over")
        (found.root / "go").touch()
        assert await other.status() == 0, found.log
        written = [await found.journal.read(run) for run in runs]
        cable.whole.set()
        log = far / "log"
        await until(lambda: log.read_text().count(": fenced") == len(runs), "the worker that was cut off lets go")
        await cut_off.signal(signal.SIGTERM)
        assert await cut_off.status() == 0, log.read_text()
        assert [await found.journal.read(run) for run in runs] == written, "a fenced worker wrote"
        for events in written:
            assert check(events).output == "the end: seen"
        assert found.effects["look out"] == 2 * len(runs), "once by each worker"
    tried("a run whose worker was cut off from the database", len(runs))
