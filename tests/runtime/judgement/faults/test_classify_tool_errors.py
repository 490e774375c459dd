"""What tools meet, classified: the operating system, databases, other people's classes."""

from __future__ import annotations

import errno
import io
import os
import pickle
import smtplib
import socket
import sqlite3
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest
import sqlalchemy

from runtime.judgement.faults.classify import classify, classify_record
from runtime.record.state.fault_taxonomy import (
    Cause,
    Effect,
    Origin,
    Persistence,
)


@pytest.mark.parametrize(
    ("number", "cause", "transient"),
    [
        (errno.ENOSPC, "internal", False),
        (errno.EDQUOT, "internal", False),
        (errno.EMFILE, "internal", False),
        (errno.ENOTEMPTY, "internal", False),
        (errno.EINVAL, "internal", False),
        (errno.EIO, "internal", False),
        (errno.ENOEXEC, "internal", False),
        (errno.EBUSY, "service_unavailable", True),
        (errno.EAGAIN, "service_unavailable", True),
        (errno.EACCES, "permission_denied", False),
        (errno.ENOENT, "not_found", False),
        (errno.ECONNRESET, "network", True),
        (errno.EHOSTUNREACH, "network", True),
        (errno.ETIMEDOUT, "timeout", True),
    ],
)
def test_errors_of_the_operating_system_are_told_apart(number: int, cause: str, transient: bool) -> None:
    found = classify(OSError(number, os.strerror(number), "/data/x"), origin=Origin.TOOL)
    assert (found.cause, found.persistence is Persistence.TRANSIENT) == (cause, transient), found


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (sqlite3.OperationalError("database is locked"), "service_unavailable"),
        (sqlite3.IntegrityError("UNIQUE constraint failed: t.a"), "tool_failed"),
        (RuntimeError("sorry, too many clients already"), "service_unavailable"),
        (RuntimeError("canceling statement due to statement timeout"), "timeout"),
        (RuntimeError('relation "x" does not exist'), "tool_failed"),
        (smtplib.SMTPAuthenticationError(535, b"5.7.8 Username and Password not accepted"), "auth_failed"),
        (ExceptionGroup("a", [ConnectionResetError(104, "x"), ConnectionResetError(104, "y")]), "network"),
        (ExceptionGroup("a", [ValueError("x"), ConnectionResetError(104, "y")]), "tool_failed"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)"), "network"),
    ],
    ids=str,
)
def test_what_tools_meet_is_placed(error: Exception, cause: str) -> None:
    assert classify(error, origin=Origin.TOOL).cause == cause


def test_the_end_of_the_input_of_a_program_is_not_a_lost_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that calls `input()` in a runtime in the background; a file that was cut short."""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    for met in (input, lambda: pickle.loads(b"")):
        found = classify(_failure(met), origin=Origin.TOOL)
        assert (found.cause, found.persistence) == (Cause.TOOL_FAILED, Persistence.PERMANENT), found
    assert classify(EOFError(), origin=Origin.TOOL).cause is Cause.NETWORK, "as `multiprocessing` has it"


def _failure(call: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - each client has its own
        call()
    return raised.value


@contextmanager
def _closed_port() -> Iterator[int]:
    with socket.socket() as bound:  # and it does not listen
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def _psycopg_refused() -> object:
    with _closed_port() as port:
        return psycopg.connect(f"host=127.0.0.1 port={port} dbname=news")


def _sqlite_no_table() -> object:
    with closing(sqlite3.connect(":memory:")) as connection:
        return connection.execute("SELECT * FROM missing")


def _sqlalchemy_refused() -> object:
    with _closed_port() as port:
        return _connect_with_sqlalchemy(f"postgresql+psycopg://news@127.0.0.1:{port}/news")


def _sqlalchemy_no_table() -> object:
    return _connect_with_sqlalchemy("sqlite://", "SELECT * FROM missing")


def _connect_with_sqlalchemy(address: str, statement: str = "SELECT 1") -> object:
    engine = sqlalchemy.create_engine(address)
    try:
        with engine.connect() as connection:
            return connection.execute(sqlalchemy.text(statement))
    finally:
        engine.dispose()


_TOO_MANY = psycopg.errors.TooManyConnections("FATAL: sorry, too many clients already")
_LOGIN = psycopg.errors.InvalidPassword('FATAL: password authentication failed for user "news"')


class _AnyDatabase:
    """A client by PEP 249, of a database that no list here knows."""

    class Error(Exception): ...

    class DatabaseError(Error): ...

    class DataError(DatabaseError):
        code = 1406


@pytest.mark.parametrize(
    ("met", "cause"),
    [
        (_psycopg_refused, "network"),
        (_TOO_MANY, "service_unavailable"),
        (_LOGIN, "auth_failed"),
        (_sqlite_no_table, "unknown"),
        (sqlite3.OperationalError("database is locked"), "service_unavailable"),
        (_sqlalchemy_no_table, "unknown"),
        (_sqlalchemy_refused, "network"),
        (sqlalchemy.exc.OperationalError("SELECT 1", {}, _TOO_MANY), "service_unavailable"),
        (sqlalchemy.exc.OperationalError("SELECT 1", {}, _LOGIN), "auth_failed"),
        (sqlalchemy.exc.TimeoutError("QueuePool limit of size 5 reached, connection timed out"), "timeout"),
        (_AnyDatabase.DataError("the value is too long"), "unknown"),
        (smtplib.SMTPAuthenticationError(535, b"5.7.8 Username and Password not accepted"), "auth_failed"),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, Exception) else getattr(given, "__name__", given),
)
def test_a_failure_of_another_services_client_is_not_guessed_to_be_the_models(
    met: Exception | Callable[[], object], cause: str
) -> None:
    error = met if isinstance(met, Exception) else _failure(met)
    found = classify(error)
    assert (found.cause, found.origin) == (cause, Origin.RUNNER)
    # Unlike a model's call, it may have changed something, unless no connection came about.
    assert found.effect is (Effect.NOT_ATTEMPTED if cause == "network" else Effect.UNKNOWN)
    # Where it is said to be a part of the call of a model, it is.
    assert classify(error, where="connect").origin is Origin.MODEL
    assert classify(error, origin=Origin.TOOL).origin is Origin.TOOL


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("asyncpg.exceptions.TooManyConnectionsError: sorry, too many clients already", "service_unavailable"),
        ("asyncpg.exceptions.InvalidPasswordError: password authentication failed", "auth_failed"),
        ("redis.exceptions.AuthenticationError: WRONGPASS invalid username-password pair", "auth_failed"),
        ("redis.exceptions.ConnectionError: Error 111 connecting to localhost:6379. Connection refused.", "network"),
        ("redis.exceptions.TimeoutError: Timeout reading from socket", "timeout"),
        ("pymongo.errors.ServerSelectionTimeoutError: localhost:27017: timed out", "timeout"),
        ("OperationalError: (1040, 'Too many connections')", "service_unavailable"),
        ("IntegrityError: UNIQUE constraint failed: news.id", "unknown"),
    ],
)
def test_a_log_line_of_another_services_client_is_not_guessed_to_be_the_models(said: str, cause: str) -> None:
    found = classify_record({"exception": said})
    assert (found.cause, found.origin) == (cause, Origin.RUNNER)
    assert classify_record({"exception": said, "provider": "openai"}).origin is Origin.MODEL


def test_a_document_that_a_database_refuses_is_not_a_broken_connection() -> None:
    # As the classes of pymongo are: httpx has a `WriteError` too.
    refused = type("WriteError", (Exception,), {"__module__": "pymongo.errors"})
    found = classify(type("DuplicateKeyError", (refused,), {"__module__": "pymongo.errors"})("E11000 duplicate key"))
    assert (found.cause, found.persistence) == (Cause.UNKNOWN, Persistence.UNKNOWN)


def test_an_exception_that_would_end_the_process_when_it_is_read_is_placed() -> None:
    class Ending(Exception):
        def __str__(self) -> str:
            raise SystemExit(3)

        @property
        def response(self) -> None:
            raise SystemExit(4)

    found = classify(Ending("the words"), origin=Origin.TOOL)
    assert found.cause == "tool_failed"
    assert "the words" in found.technical
