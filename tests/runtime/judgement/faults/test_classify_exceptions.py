"""Exceptions as they are raised: by the framework, by Python, and by the vendor SDKs against a failing server."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import random
import smtplib
import socket
import sqlite3
import ssl
import threading
import urllib.error
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic
import httpx
import openai
import psycopg
import pytest
import sqlalchemy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orbiter import errors
from runtime.judgement.faults.classify import classify, classify_record
from runtime.judgement.recovery.options import options_for
from runtime.judgement.recovery.retry import RetryPolicy, decide_retry
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Limit,
    Origin,
    Persistence,
    Remedy,
)

NOW = 1_767_225_600.0


# -- the SDKs, over the wire -----------------------------------------------------------------------------------------


class _Misbehaving(BaseHTTPRequestHandler):
    """Answers every request with the status, headers and body that the server was told."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status, headers, body = self.server.answer  # type: ignore[attr-defined]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Nothing: the test says what happened."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    found = ThreadingHTTPServer(("127.0.0.1", 0), _Misbehaving)
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    yield found
    found.shutdown()
    found.server_close()
    thread.join(5)


def _ask(vendor: str, port: int, *, stream: bool = False) -> Exception:
    """What the vendor's SDK raises for one call."""
    url = f"http://127.0.0.1:{port}"
    message: Any = {"role": "user", "content": "hello"}
    try:
        if vendor == "anthropic":
            with anthropic.Anthropic(api_key="key", base_url=url, max_retries=0) as ours:
                if stream:
                    with ours.messages.stream(model="m", max_tokens=5, messages=[message]) as events:
                        events.get_final_message()
                else:
                    ours.messages.create(model="m", max_tokens=5, messages=[message])
        else:
            with openai.OpenAI(api_key="key", base_url=url, max_retries=0) as theirs:
                found = theirs.chat.completions.create(model="m", messages=[message], stream=stream)
                if stream:
                    list(found)
    except Exception as exc:
        return exc
    raise AssertionError("the call succeeded")


def _answer(server: ThreadingHTTPServer, status: int, body: Any, **headers: str) -> int:
    kind = "text/html" if isinstance(body, str) else "application/json"
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    server.answer = (status, {"content-type": kind} | named, data)  # type: ignore[attr-defined]
    return int(server.server_address[1])


_SAID = [
    ("anthropic", 429, "rate_limit_error", "too fast", "rate_limited"),
    ("anthropic", 529, "overloaded_error", "Overloaded", "service_unavailable"),
    ("anthropic", 400, "invalid_request_error", "Your credit balance is too low to access the API.", "quota_exhausted"),
    (
        "anthropic",
        400,
        "invalid_request_error",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "context_overflow",
    ),
    ("anthropic", 403, "permission_error", "Your API key may not use this.", "permission_denied"),
    ("anthropic", 404, "not_found_error", "model: claude-9", "model_unknown"),
    ("anthropic", 413, "request_too_large", "Request exceeds the maximum size", "payload_too_large"),
    ("openai", 429, "insufficient_quota", "You exceeded your current quota", "quota_exhausted"),
    ("openai", 429, "requests", "Rate limit reached", "rate_limited"),
    (
        "openai",
        400,
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens.",
        "context_overflow",
    ),
    ("openai", 401, "invalid_api_key", "Incorrect API key provided: x.", "auth_failed"),
    ("openai", 404, "model_not_found", "The model `x` does not exist", "model_unknown"),
    ("openai", 500, "server_error", "The server had an error", "service_unavailable"),
]


@pytest.mark.parametrize("said", _SAID, ids=lambda said: f"{said[0]}-{said[2]}")
def test_what_the_sdk_raises(server: ThreadingHTTPServer, said: tuple[str, int, str, str, str]) -> None:
    vendor, status, kind, message, cause = said
    error = {"type": kind, "code": kind, "message": message}
    port = _answer(server, status, {"type": "error", "error": error})
    found = classify(_ask(vendor, port), origin=Origin.MODEL, now=NOW)
    assert (found.cause, found.provider, found.http_status) == (cause, vendor, status)
    assert found.effect is Effect.NONE
    assert message.partition(":")[0] in found.technical


@pytest.mark.parametrize("vendor", ["anthropic", "openai"])
def test_hints_come_through_the_sdk(server: ThreadingHTTPServer, vendor: str) -> None:
    port = _answer(server, 429, {"error": {"type": "rate_limit_error", "message": "slow"}}, retry_after="7.5")
    found = classify(_ask(vendor, port), now=NOW)
    assert (found.retry_after_s, found.hint_source) == (7.5, "retry-after header")


@pytest.mark.parametrize("vendor", ["anthropic", "openai"])
def test_a_proxys_page_is_a_failing_service(server: ThreadingHTTPServer, vendor: str) -> None:
    port = _answer(server, 502, "<html><h1>502 Bad Gateway</h1></html>")
    assert classify(_ask(vendor, port)).cause == "service_unavailable"


def test_a_page_where_a_stream_should_be(server: ThreadingHTTPServer) -> None:
    port = _answer(server, 200, "<html>log in</html>")
    found = classify(_ask("anthropic", port, stream=True), origin=Origin.MODEL)
    assert (found.cause, found.persistence) == ("service_unavailable", "transient")


def test_an_error_inside_a_stream_counts_although_the_status_is_200(server: ThreadingHTTPServer) -> None:
    event = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    server.answer = (200, {"content-type": "text/event-stream"}, event)  # type: ignore[attr-defined]
    found = classify(_ask("anthropic", int(server.server_address[1]), stream=True))
    assert (found.cause, found.http_status) == ("service_unavailable", 200)


@pytest.mark.parametrize("vendor", ["anthropic", "openai"])
def test_nobody_listens(vendor: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    found = classify(_ask(vendor, port))
    assert (found.cause, found.persistence, found.effect) == ("network", "transient", "not_attempted")
    assert found.origin is Origin.MODEL


# -- wrappers --------------------------------------------------------------------------------------------------------


def _chained(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__cause__ = inner
    return outer


def test_wrappers_are_taken_off() -> None:
    model = errors.ModelError("slow down", model="m", code="rate_limit_exceeded", provider="openai", status=429)
    agent = _chained(errors.AgentError("Agent 'a' failed after 3 retries: [m] slow down"), model)
    found = classify(_chained(errors.CallRunnerError(f"Call runner failed for agent 'a': {agent}"), agent))
    assert (found.cause, found.provider, found.http_status, found.exhausted) == ("rate_limited", "openai", 429, True)


def test_wrappers_are_taken_off_texts_too() -> None:
    text = "CallRunnerError: Call runner failed for agent 'a': Agent 'a' failed after 3 retries: Error code: 503 - x"
    found = classify_record({"exception": text})
    assert (found.cause, found.http_status, found.exhausted) == ("service_unavailable", 503, True)


def test_a_group_of_one_is_its_member() -> None:
    assert classify(ExceptionGroup("unhandled errors", [TimeoutError("slow")])).cause == "timeout"


def test_a_group_of_several_is_itself() -> None:
    found = classify(ExceptionGroup("unhandled errors", [TimeoutError("slow"), ValueError("bad")]))
    assert found.cause == "unknown"


def test_a_tools_failure_is_the_tools_whatever_the_cause() -> None:
    found = classify(_chained(errors.ToolError("Tool 't' failed: refused"), ConnectionRefusedError("refused")))
    assert (found.origin, found.cause, found.impact) == ("tool", "network", "absorbed")


_CERTIFICATE = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")


@pytest.mark.parametrize(
    "refused",
    [
        ConnectionRefusedError(111, "Connection refused"),
        socket.gaierror(-2, "Name or service not known"),
        _CERTIFICATE,
        urllib.error.URLError(ConnectionRefusedError(111, "Connection refused")),
        urllib.error.URLError(socket.gaierror(-2, "Name or service not known")),
        urllib.error.URLError(_CERTIFICATE),
        httpx.ConnectError("[Errno 111] Connection refused"),
        httpx.ConnectTimeout("timed out"),
    ],
    ids=repr,
)
def test_a_connection_that_did_not_come_about_had_no_effect_also_in_a_tool(refused: Exception) -> None:
    found = classify(refused, origin=Origin.TOOL, effect=Effect.UNKNOWN)
    assert (found.origin, found.effect) == ("tool", "not_attempted")
    assert found.cause in ("network", "timeout")
    decision = decide_retry(found, attempt=1, policy=RetryPolicy(), rng=random.Random(0))
    assert decision.remedy is Remedy.FEED_BACK  # what its code did before is not known: it is not repeated unasked
    unsure = "what the tool did before the call that failed is not known"
    assert decision.reason == (unsure if found.persistence == "transient" else "not transient")
    offered = {each.id: each.label for each in options_for(found, "tool")[0]}
    assert offered["retry"] == "Retry operation"


@pytest.mark.parametrize(
    "cut",
    [
        ConnectionResetError(104, "Connection reset by peer"),
        urllib.error.URLError(ConnectionResetError(104, "Connection reset by peer")),
        httpx.ReadTimeout("timed out"),
        httpx.RemoteProtocolError("Server disconnected without sending a response."),
        ssl.SSLEOFError(8, "EOF occurred in violation of protocol"),
        TimeoutError("timed out"),
    ],
    ids=repr,
)
def test_a_connection_that_broke_may_have_had_an_effect_in_a_tool(cut: Exception) -> None:
    found = classify(cut, origin=Origin.TOOL, effect=Effect.UNKNOWN)
    assert found.effect == "unknown"
    assert options_for(found, "tool")[0][0].label == "I checked: it DID happen"


def test_a_bare_model_error_is_its_cause_with_its_own_provider() -> None:
    error = errors.ModelError("the stream broke", model="m", provider="anthropic", where="stream")
    found = classify(_chained(error, ConnectionResetError("reset by peer")))
    assert (found.origin, found.cause, found.provider) == ("model", "network", "anthropic")


def test_causes_that_go_round_in_a_circle() -> None:
    first = errors.AgentError("Agent 'a' failed after 3 retries: x")
    second = errors.AgentError("Agent 'b' failed after 3 retries: x")
    first.__cause__, second.__cause__ = second, first
    assert classify(first).exhausted


# -- the framework's own ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exc", "origin", "cause", "persistence", "impact"),
    [
        (
            errors.AgentError("Agent 'a' requires a provider for run()"),
            "agent",
            "config_invalid",
            "needs_change",
            "run",
        ),
        (
            errors.AgentError("Context length exceeded on agent 'a': x"),
            "model",
            "context_overflow",
            "needs_change",
            "node",
        ),
        (
            errors.CallRunnerError("Endless loop detected: same tool calls repeated 3 times (threshold=3)"),
            "runner",
            "loop_detected",
            "needs_change",
            "run",
        ),
        (errors.SwarmError("Max handoffs (10) exceeded in swarm"), "swarm", "limit_reached", "needs_change", "run"),
        (errors.SwarmError("Swarm requires at least one agent"), "swarm", "config_invalid", "permanent", "run"),
        (
            errors.SwarmError("Cycle in flow DSL: Cycle detected in graph"),
            "swarm",
            "config_invalid",
            "permanent",
            "run",
        ),
        (errors.RegistryError("'x' is already registered in r"), "registry", "config_invalid", "permanent", "run"),
        (errors.RegistryError("'x' not found in r"), "registry", "not_found", "permanent", "run"),
        (
            errors.OutputParseError("Invalid JSON in arguments for tool 't': x"),
            "parser",
            "args_invalid",
            "transient",
            "node",
        ),
        (
            errors.OutputParseError("Structured output is not valid JSON: x"),
            "parser",
            "output_invalid",
            "transient",
            "node",
        ),
        (
            errors.ModelError("Provider 'p' not registered. Available: []"),
            "agent",
            "config_invalid",
            "needs_change",
            "run",
        ),
        (errors.AgentPermissionError("no"), "swarm", "permission_denied", "needs_change", "node"),
        (errors.PoolExhaustedError("no thread is left"), "runner", "pool_exhausted", "transient", "node"),
        (errors.ToolCallError("no such tool"), "parser", "args_invalid", "transient", "node"),
        (errors.JoinError("quorum not met"), "swarm", "dependency_failed", "needs_change", "run"),
        (errors.RateLimitError("slow"), "model", "rate_limited", "transient", "node"),
    ],
)
def test_the_table_of_the_taxonomy(exc: Exception, origin: str, cause: str, persistence: str, impact: str) -> None:
    found = classify(exc)
    assert (found.origin, found.cause, found.persistence, found.impact) == (origin, cause, persistence, impact)


def test_handoffs_are_a_limit_of_their_own() -> None:
    assert (
        classify(errors.HandoffLimitError("Max handoffs (3) exceeded in swarm", max_handoffs=3)).limit is Limit.HANDOFFS
    )


def test_seed_003s_context_is_read() -> None:
    error = errors.RateLimitError("API rate limit", context={"retry_after": 60}, suggestion="Use another key")
    found = classify(error)
    assert (found.cause, found.retry_after_s, found.hint_source) == ("rate_limited", 60, "retry_after")
    assert found.suggestions[0] == "Use another key"
    assert classify(errors.APIError("down", context={"status_code": 503})).cause == "service_unavailable"


def test_somebody_can_help_where_the_author_says_so() -> None:
    assert classify(errors.ExecutionError("x", recoverable=True)).persistence is Persistence.NEEDS_CHANGE
    assert classify(errors.ExecutionError("x")).persistence is Persistence.UNKNOWN


@pytest.mark.parametrize(
    ("exc", "cause", "effect"),
    [
        (TimeoutError(), "timeout", "unknown"),
        (ConnectionResetError(), "network", "unknown"),
        (PermissionError(13, "denied"), "permission_denied", "unknown"),
        (FileNotFoundError(2, "gone"), "not_found", "unknown"),
        (KeyError("x"), "tool_failed", "unknown"),
        (TypeError("f() got an unexpected keyword argument 'x'"), "args_invalid", "unknown"),
        (ValueError("Invalid arguments: x"), "args_invalid", "not_attempted"),
    ],
)
def test_tools(exc: Exception, cause: str, effect: str) -> None:
    found = classify(exc, origin=Origin.TOOL)
    assert (found.cause, found.effect, found.impact) == (cause, effect, "absorbed")


def test_stopping_is_no_failure() -> None:
    assert classify(asyncio.CancelledError()).cause is Cause.CANCELLED
    assert classify(KeyboardInterrupt()).cause is Cause.CANCELLED


def test_the_caller_knows_what_was_attempted() -> None:
    assert classify(TimeoutError(), origin=Origin.TOOL, effect=Effect.NONE).effect is Effect.NONE
    assert classify(TimeoutError(), origin=Origin.TOOL, effect=Effect.NONE).repeatable
    unknown = classify(ValueError("Invalid arguments: x"), origin=Origin.TOOL, effect=Effect.UNKNOWN)
    assert unknown.effect is Effect.NOT_ATTEMPTED


def test_where_it_happened_is_kept() -> None:
    found = classify(ValueError("x"), origin=Origin.AGENT, node_path=("swarm~0", "a~1"))
    assert (found.node_path, found.origin, found.impact) == (("swarm~0", "a~1"), Origin.AGENT, Impact.NODE)


# -- nothing makes it raise ------------------------------------------------------------------------------------------


class Unspeakable(Exception):
    """An exception that cannot be printed, with attributes that raise."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    def __repr__(self) -> str:
        raise RuntimeError("no words")

    @property
    def status_code(self) -> int:
        raise ValueError("no status")

    @property
    def response(self) -> Any:
        raise KeyError("no response")


def test_an_exception_that_cannot_be_printed() -> None:
    found = classify(Unspeakable())
    assert (found.cause, found.exception) == ("unknown", "Unspeakable")


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.binary(max_size=30),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=12), children, max_size=4),
    max_leaves=15,
)
_classes = st.sampled_from(
    [
        Exception, RuntimeError, TimeoutError, OSError, errors.ModelError, errors.AgentError, errors.ToolError,
        errors.CallRunnerError, errors.RateLimitError, Unspeakable, KeyError, BaseException,
    ]
)  # fmt: skip


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(_classes, st.text(max_size=60)), min_size=1, max_size=4),
    st.dictionaries(
        st.sampled_from(
            ["status", "code", "type", "headers", "body", "provider", "where", "context", "retry_after", "node_path"]
        ),
        _anything,
    ),
    st.floats(0, 1e10),
)
def test_it_never_raises(chain: list[tuple[type[BaseException], str]], attributes: dict[str, Any], now: float) -> None:
    made = [cls(text) for cls, text in chain]
    for outer, inner in zip(made, made[1:] + made[:1], strict=True):
        outer.__cause__ = inner
    for name, value in attributes.items():
        setattr(made[0], name, value)
    found = classify(made[0], now=now)
    assert found.rule_id != "classifier-failed", found.technical
    assert Classification.model_validate_json(found.model_dump_json()) == found
    assert found.retry_after_s is None or found.retry_after_s >= 0


@settings(max_examples=100)
@given(
    st.dictionaries(
        st.sampled_from(
            [
                "provider",
                "status",
                "type",
                "code",
                "message",
                "where",
                "headers",
                "body",
                "exception",
                "origin",
                "effect",
            ]
        )
        | st.text(max_size=8),
        _anything,
    )
)
def test_no_record_makes_it_raise(record: dict[str, Any]) -> None:
    found = classify_record(record, now=NOW)
    assert found.rule_id != "classifier-failed", found.technical


def test_a_record_that_is_no_mapping_is_unknown() -> None:
    nonsense: Any = ["not", "a", "record"]
    assert classify_record(nonsense).cause is Cause.UNKNOWN


def test_a_recursion_without_end_is_one_nodes_trouble_and_no_memory_is_the_programs() -> None:
    def tool() -> None:
        tool()

    with pytest.raises(RecursionError) as raised:
        tool()
    assert classify(raised.value, now=NOW).impact is not Impact.PROCESS
    assert classify(MemoryError(), now=NOW).impact is Impact.PROCESS


# -- what tools meet: the operating system, databases, other people's classes ----------------------------------------


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


def _failure(call: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - each client has its own
        call()
    return raised.value


def _connect_with_sqlalchemy(address: str, statement: str = "SELECT 1") -> object:
    with sqlalchemy.create_engine(address).connect() as connection:
        return connection.execute(sqlalchemy.text(statement))


_TOO_MANY = psycopg.errors.TooManyConnections("FATAL: sorry, too many clients already")
_LOGIN = psycopg.errors.InvalidPassword('FATAL: password authentication failed for user "news"')


class _AnyDatabase:
    """A client by PEP 249, of a database that no list here knows."""

    class Error(Exception): ...

    class DatabaseError(Error): ...

    class DataError(DatabaseError):
        code = 1406


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (_failure(lambda: psycopg.connect("host=127.0.0.1 port=1 dbname=news")), "network"),
        (_TOO_MANY, "service_unavailable"),
        (_LOGIN, "auth_failed"),
        (_failure(lambda: sqlite3.connect(":memory:").execute("SELECT * FROM missing")), "unknown"),
        (sqlite3.OperationalError("database is locked"), "service_unavailable"),
        (_failure(lambda: _connect_with_sqlalchemy("sqlite://", "SELECT * FROM missing")), "unknown"),
        (_failure(lambda: _connect_with_sqlalchemy("postgresql+psycopg://news@127.0.0.1:1/news")), "network"),
        (sqlalchemy.exc.OperationalError("SELECT 1", {}, _TOO_MANY), "service_unavailable"),
        (sqlalchemy.exc.OperationalError("SELECT 1", {}, _LOGIN), "auth_failed"),
        (sqlalchemy.exc.TimeoutError("QueuePool limit of size 5 reached, connection timed out"), "timeout"),
        (_AnyDatabase.DataError("the value is too long"), "unknown"),
        (smtplib.SMTPAuthenticationError(535, b"5.7.8 Username and Password not accepted"), "auth_failed"),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, Exception) else given,
)
def test_a_failure_of_another_services_client_is_not_guessed_to_be_the_models(error: Exception, cause: str) -> None:
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
