"""Connections to Postgres, and what its failures mean in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, LiteralString

import psycopg
from psycopg import AsyncConnection, errors
from psycopg.conninfo import conninfo_to_dict

from runtime.record.address import IDLE_TRANSACTION_MS, PostgresAddress
from runtime.record.journal import JournalError, Unrecordable, Unwritable

CONNECT_TIMEOUT_S = 10
LOCK_TIMEOUT_MS = 6_000
"""How long rows are waited for. Then it is looked whether their holder stands still (`END_STANDING_SESSIONS`)."""
STATEMENT_TIMEOUT_MS = 30_000
TRANSACTION_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + IDLE_TRANSACTION_MS
"""A process that is stopped between two statements of a pipeline counts as active, not as idle: of the server's limits
only that of the whole transaction ends its session. Servers from version 17 on have it. It is the last resort: a writer
that waits for the rows ends that session before."""
_FIRST_WITH_TRANSACTION_TIMEOUT = 170_000
_SETTINGS: LiteralString = """
    SELECT set_config('search_path', %(schema)s, false),
    set_config('statement_timeout', %(statement)s, false),
    set_config('lock_timeout', %(lock)s, false),
    set_config('idle_in_transaction_session_timeout', %(idle)s, false),
    set_config('default_transaction_read_only', %(readonly)s, false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
        ELSE current_setting('synchronous_commit') END, false)"""

Connection = AsyncConnection[tuple[Any, ...]]


@contextmanager
def postgres_errors(doing: str, address: PostgresAddress) -> Iterator[None]:
    """Failures of Postgres as `JournalError`, saying what was being done, where, and what to do about it. Those that
    are a row's own (too big, or in the place of another) are `Unrecordable`.
    """
    try:
        yield
    except (psycopg.DataError, psycopg.IntegrityError, errors.ProgramLimitExceeded) as exc:
        raise Unrecordable(f"{doing} in {address.url}: {first_line(exc)}") from exc
    except UnicodeEncodeError as exc:
        raise Unrecordable(f"{doing} in {address.url}: the text is not valid Unicode") from exc
    except (errors.UndefinedTable, errors.InvalidSchemaName) as exc:
        raise JournalError(f"{doing}: {no_workspace(address)}") from exc
    except psycopg.Error as exc:
        advice = next((text for kind, text in _ADVICE if isinstance(exc, kind)), "")
        passing = isinstance(exc, psycopg.OperationalError | errors.ReadOnlySqlTransaction)
        kind = Unwritable if passing else JournalError
        raise kind(f"{doing} in {address.url}: {first_line(exc)}{advice}") from exc


_ADVICE: tuple[tuple[type[psycopg.Error], str], ...] = (
    (errors.DiskFull, "; the server's disk is full: free space there; nothing was half written"),
    (errors.ReadOnlySqlTransaction, "; this server is a standby, or set to read only: name the primary"),
    (errors.LockNotAvailable, f"; another session has held the rows for {LOCK_TIMEOUT_MS // 1000} s"),
    (errors.InsufficientPrivilege, "; this role may not: see docs/postgres.md for what a worker and a viewer need"),
)


def first_line(exc: BaseException) -> str:
    """What an error of Postgres says, without the statement that it may quote."""
    return (str(exc).strip().splitlines() or [type(exc).__name__])[0]


def no_workspace(address: PostgresAddress) -> str:
    """What to do where the workspace's tables are missing."""
    return (
        f"this database has no workspace {address.workspace!r}: create it with"
        f" orbiter-console --workspace '{address.url}' database init"
    )


async def connect(
    address: PostgresAddress, *, readonly: bool = False, patient: bool = False, name: str = "orbiter-console"
) -> Connection:
    """A connection in autocommit mode: the journal says itself where a transaction begins.

    Args:
        address: Where the journal is.
        readonly: Whether the server shall refuse every write.
        patient: Whether a statement may take as long as it needs.
        name: What `pg_stat_activity` shows as `application_name`.

    Raises:
        Unwritable: the server cannot be reached, or refuses; it may be there later.
    """
    with postgres_errors("cannot connect", address):
        given: dict[str, Any] = {"connect_timeout": CONNECT_TIMEOUT_S, **conninfo_to_dict(address.conninfo)}
        given |= {"application_name": name, "client_encoding": "utf8"}
        connection: Connection = await AsyncConnection.connect(autocommit=True, prepare_threshold=1, **given)
        try:
            await connection.execute(
                _SETTINGS,
                {
                    "schema": f'"{address.schema}"',
                    "statement": "0" if patient else str(STATEMENT_TIMEOUT_MS),
                    "lock": str(LOCK_TIMEOUT_MS),
                    "idle": str(IDLE_TRANSACTION_MS),
                    "readonly": "on" if readonly else "off",
                },
            )
            if not patient and connection.info.server_version >= _FIRST_WITH_TRANSACTION_TIMEOUT:
                await connection.execute(
                    "SELECT set_config('transaction_timeout', %s, false)", [str(TRANSACTION_TIMEOUT_MS)]
                )
        except BaseException:
            await connection.close()
            raise
    return connection


async def roll_back(connection: Connection) -> None:
    """End the transaction that failed; a connection on which that fails, too, is closed."""
    try:
        await connection.execute("ROLLBACK")
    except psycopg.Error:
        with suppress(psycopg.Error):
            await connection.close()
