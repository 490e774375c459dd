"""What the vendors' SDKs raise against a failing server, classified."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anthropic
import openai
import pytest

from runtime.judgement.faults.classify import classify
from runtime.record.state.fault_taxonomy import (
    Effect,
    Origin,
)

NOW = 1_767_225_600.0


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
    thread = threading.Thread(target=found.serve_forever, args=(0.01,), daemon=True)
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
