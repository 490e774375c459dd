"""How both adapters fail, with the real SDKs on loopback: answers that refuse, streams that break."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Literal

import pytest

from orbiter.models import StreamChunk
from orbiter.models.provider import ModelProvider
from orbiter.models.types import ModelError
from tests.orbiter.models.contract import BOTH_MODES, HELLO, KEY, Mode, ask, failure, provider
from tests.orbiter.models.loopback import Answer, Loopback, OpenAISays, Says, sse

# --- answers that refuse ------------------------------------------------------------------------------------------

REFUSALS = [
    (400, "invalid_request_error", "messages: field required", None),
    (401, "authentication_error", "invalid x-api-key", "invalid_api_key"),
    (402, "billing_error", "Your credit balance is too low", None),
    (403, "permission_error", "Not allowed", None),
    (404, "not_found_error", "model: nope", "model_not_found"),
    (408, "timeout_error", "Request timeout.", None),
    (413, "request_too_large", "Request exceeds the maximum size", None),
    (429, "rate_limit_error", "Slow down", "rate_limit_exceeded"),
    (500, "api_error", "Internal server error", None),
    (503, "api_error", "Service unavailable", None),
    (529, "overloaded_error", "Overloaded", None),
]


@BOTH_MODES
@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: str(refusal[0]))
async def test_an_error_answer(
    says: Says, server: Loopback, mode: Mode, refusal: tuple[int, str, str, str | None]
) -> None:
    status, kind, message, code = refusal
    body = json.dumps(says.error(kind, message, code))
    server.answers = [Answer(status, {"request-id": "req_7", "x-ratelimit-remaining-tokens": "0"}, body)]
    error = await failure(provider(says, server), mode)
    assert (error.status, error.type, error.where) == (status, kind, "response")
    assert error.code == ((code or "") if says.name == "openai" else "")
    assert (error.provider, error.model, error.request_id) == (says.name, says.model, "req_7")
    assert str(error) == f"[{says.model}] {message}"
    assert error.body == body
    assert error.headers["x-ratelimit-remaining-tokens"] == "0"
    assert error.__cause__ is not None
    assert len(server.asked) == 1, "the SDK's own retries must be off"


@BOTH_MODES
async def test_a_proxy_s_page_for_an_error(says: Says, server: Loopback, mode: Mode) -> None:
    page = "<html><head><title>502 Bad\nGateway</title></head><body>nginx</body></html>"
    server.answers = [Answer(502, {"content-type": "text/html"}, page)]
    error = await failure(provider(says, server), mode)
    assert (error.status, error.type, error.code) == (502, "", "")
    assert str(error) == f"[{says.model}] 502 Bad Gateway"
    assert error.body == page


@BOTH_MODES
async def test_an_error_without_a_body(says: Says, server: Loopback, mode: Mode) -> None:
    server.answers = [Answer(413)]
    error = await failure(provider(says, server), mode)
    assert (error.status, error.body) == (413, "")
    assert "413 Request Entity Too Large" in str(error)


@BOTH_MODES
async def test_a_page_with_status_200(says: Says, server: Loopback, mode: Mode) -> None:
    page = "<!DOCTYPE html><html><title>Hotel Wi-Fi: log in</title></html>"
    server.answers = [Answer(200, {"content-type": "text/html; charset=utf-8"}, page)]
    error = await failure(provider(says, server), mode)
    assert error.code == "bad_response"
    assert "Hotel Wi-Fi: log in" in str(error)
    assert error.body == page


async def test_json_where_a_stream_was_asked_for(says: Says, server: Loopback) -> None:
    server.answers = [Answer(200, body='{"hello": "world"}')]
    assert (await failure(provider(says, server))).code == "bad_response"


@BOTH_MODES
async def test_an_error_body_with_status_200(says: Says, server: Loopback, mode: Mode) -> None:
    server.answers = [Answer(200, body=json.dumps(says.error("overloaded_error", "Too busy", "overloaded")))]
    error = await failure(provider(says, server), mode)
    assert (error.status, error.type) == (200, "overloaded_error")
    assert "Too busy" in str(error)


SERVER_TIME = datetime(2030, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "130"}, 130.0),
        ({"retry-after-ms": "700"}, 0.7),
        ({"retry-after-ms": "700", "retry-after": "2"}, 0.7),
        ({"retry-after-ms": "x", "retry-after": "2"}, 2.0),
        (
            {
                "date": format_datetime(SERVER_TIME, usegmt=True),
                "retry-after": format_datetime(SERVER_TIME + timedelta(seconds=90), usegmt=True),
            },
            90.0,
        ),
        (
            {
                "date": format_datetime(SERVER_TIME, usegmt=True),
                "retry-after": format_datetime(SERVER_TIME - timedelta(seconds=90), usegmt=True),
            },
            0.0,
        ),
        ({}, None),
    ],
)
async def test_every_form_of_retry_after(
    says: Says, server: Loopback, headers: dict[str, str], seconds: float | None
) -> None:
    server.answers = [Answer(429, headers, json.dumps(says.error("rate_limit_error", "Slow down")))]
    error = await failure(provider(says, server), "complete")
    assert error.retry_after == seconds
    assert {name: error.headers.get(name) for name in headers} == headers


async def test_a_date_without_the_server_s_own_is_taken_from_now(says: Says, server: Loopback) -> None:
    later = datetime.now(UTC) + timedelta(seconds=600)
    server.answers = [Answer(429, {"retry-after": format_datetime(later, usegmt=True)})]
    error = await failure(provider(says, server), "complete")
    assert error.retry_after is not None
    assert 500 < error.retry_after <= 600


async def test_keys_never_reach_an_error(says: Says, server: Loopback) -> None:
    said = f"Incorrect API key provided: {KEY}. Header was Bearer abcdefghijkl; also AIzaSyA1234567890abcdefghijklmnopq"
    server.answers = [Answer(401, body=json.dumps(says.error("authentication_error", said)))]
    error = await failure(provider(says, server), "complete")
    for text in (str(error), error.body, repr(error), str(error.to_dict())):
        assert KEY not in text
        assert "abcdefghijkl" not in text
        assert "AIza" not in text
    assert "Incorrect API key provided" in str(error)


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    ],
)
async def test_context_length_has_a_code_whoever_says_it(says: Says, server: Loopback, message: str) -> None:
    server.answers = [Answer(400, body=json.dumps(says.error("invalid_request_error", message)))]
    assert (await failure(provider(says, server), "complete")).code == "context_length"


async def test_the_provider_s_own_code_is_kept(server: Loopback) -> None:
    says = OpenAISays()
    text = "This model's maximum context length is 128000 tokens."
    server.answers = [
        Answer(400, body=json.dumps(says.error("invalid_request_error", text, "context_length_exceeded")))
    ]
    assert (await failure(provider(says, server), "complete")).code == "context_length_exceeded"


@pytest.mark.parametrize(
    "message", ["max_tokens: 10000 > 4096, which is the maximum", "Invalid 'user': string too long"]
)
async def test_what_only_looks_like_context_length(says: Says, server: Loopback, message: str) -> None:
    server.answers = [Answer(400, body=json.dumps(says.error("invalid_request_error", message)))]
    assert (await failure(provider(says, server), "complete")).code == ""


# --- failures inside a stream -------------------------------------------------------------------------------------


async def heard(model: ModelProvider) -> tuple[str, ModelError]:
    """What came before the failure, and the failure."""
    chunks: list[StreamChunk] = []

    async def listen() -> None:
        async for chunk in model.stream(HELLO):
            chunks.append(chunk)  # noqa: PERF401 - what came before the failure must stay

    with pytest.raises(ModelError) as caught:
        await listen()
    return "".join(chunk.delta for chunk in chunks), caught.value


async def test_an_error_event(says: Says, server: Loopback) -> None:
    broken = [*says.opening(), *says.text("One two"), says.failing("overloaded_error", "Overloaded", "busy")]
    server.answers = [Answer(200, {"request-id": "req_9"}, pieces=broken)]
    text, error = await heard(provider(says, server))
    assert text == "One two"
    assert (error.status, error.type, error.where) == (200, "overloaded_error", "stream")
    assert error.code == ("busy" if says.name == "openai" else "")
    assert error.request_id == "req_9"
    assert "Overloaded" in str(error)
    assert "overloaded_error" in error.body
    assert error.__cause__ is not None


async def test_a_stream_that_ends_without_a_stop_reason(says: Says, server: Loopback) -> None:
    server.answers = [Answer(200, {"request-id": "req_9"}, pieces=[*says.opening(), *says.text("One two")])]
    text, error = await heard(provider(says, server))
    assert text == "One two"
    assert (error.code, error.where, error.request_id) == ("truncated", "stream", "req_9")
    assert "7 characters" in str(error)


async def test_a_stream_without_anything(says: Says, server: Loopback) -> None:
    server.answers = [Answer(200, pieces=[says.ping])]
    text, error = await heard(provider(says, server))
    assert (text, error.code) == ("", "truncated")


async def test_a_whole_reply_without_a_stop_reason(says: Says, server: Loopback) -> None:
    server.answers = [Answer(body=says.whole("One two", reason=None))]
    assert (await failure(provider(says, server), "complete")).code == "truncated"


@pytest.mark.parametrize("then", ["cut", "reset"])
async def test_a_broken_connection(says: Says, server: Loopback, then: Literal["cut", "reset"]) -> None:
    server.answers = [Answer(pieces=[*says.opening(), *says.text("One two")], then=then)]
    _, error = await heard(provider(says, server))
    assert (error.code, error.status, error.where) == ("connection_error", None, "stream")
    assert error.type in {"httpx2.RemoteProtocolError", "httpx2.ReadError"}
    assert str(error) != f"[{says.model}] "
    assert error.__cause__ is not None


@pytest.mark.parametrize("then", ["hang", "ping"])
async def test_silence_between_pieces_is_noticed_through_pings(
    says: Says, server: Loopback, then: Literal["hang", "ping"]
) -> None:
    server.answers = [Answer(pieces=[*says.opening(), *says.text("One two")], then=then, ping=says.ping)]
    text, error = await heard(provider(says, server, silence_timeout=0.3))
    assert text == "One two"
    assert (error.code, error.where) == ("timeout", "stream")
    assert isinstance(error, TimeoutError)
    assert "No content within 0.3 s" in str(error)
    if then == "ping":
        assert server.pings > 1
    await server.gone.wait()  # the connection is given up, too


@pytest.mark.parametrize("then", ["hang", "ping"])
async def test_silence_before_the_first_piece(says: Says, server: Loopback, then: Literal["hang", "ping"]) -> None:
    server.answers = [Answer(pieces=says.opening(), then=then, ping=says.ping)]
    _, error = await heard(provider(says, server, first_token_timeout=0.3))
    assert (error.code, error.where) == ("timeout", "first_token")


async def test_silence_where_a_whole_reply_was_asked_for(says: Says, server: Loopback) -> None:
    server.answers = [Answer(headers={"content-type": "application/json"}, then="hang")]
    error = await failure(provider(says, server, total_timeout=0.3), "complete")
    assert (error.code, error.where) == ("timeout", "response")


async def test_a_stream_that_stays_open_after_its_end_is_no_failure(
    says: Says, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orbiter.models.sdk_call._AFTER_THE_END", 0.05)
    server.answers = [Answer(pieces=says.stream("Fine"), then="hang")]
    assert (await ask(provider(says, server), "stream")).content == "Fine"


@pytest.mark.parametrize("bad", ['{"type": "content_block_delta", "ind', '{"choices": 42, "type": "message_start"}'])
async def test_a_piece_that_cannot_be_read(says: Says, server: Loopback, bad: str) -> None:
    event = "content_block_delta" if says.name == "anthropic" else ""
    server.answers = [Answer(pieces=[*says.opening(), *says.text("One"), sse(bad, event)])]
    text, error = await heard(provider(says, server))
    assert text == "One"
    assert (error.code, error.where) == ("bad_response", "stream")
    assert error.__cause__ is not None


@BOTH_MODES
async def test_a_reply_that_is_nested_too_deeply(says: Says, server: Loopback, mode: Mode) -> None:
    deep = "[" * 100_000
    event = "content_block_delta" if says.name == "anthropic" else ""
    server.answers = [Answer(body=deep) if mode == "complete" else Answer(pieces=[*says.opening(), sse(deep, event)])]
    error = await failure(provider(says, server), mode)
    assert error.code == "bad_response"


@pytest.mark.parametrize("said", ["{}", "null"])
async def test_an_error_in_a_stream_that_says_nothing(says: Says, server: Loopback, said: str) -> None:
    body = f'{{"type": "error", "error": {said}}}'
    server.answers = [Answer(pieces=[*says.opening(), sse(body, "error" if says.name == "anthropic" else "")])]
    error = await failure(provider(says, server))
    assert error.code in ("bad_response", "truncated")
    assert "200 OK" not in str(error)


async def test_bytes_that_are_no_text(says: Says, server: Loopback) -> None:
    broken = b'event: content_block_delta\ndata: {"x": "\xff\xfe"}\n\n'
    server.answers = [Answer(pieces=[*says.opening(), *says.text("One"), broken])]
    _, error = await heard(provider(says, server))
    assert error.code == "bad_response"
