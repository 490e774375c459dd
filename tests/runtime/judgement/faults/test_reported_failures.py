"""Failures as users of many providers and libraries reported them, each in every form in which it can reach us.

An answer of a provider comes as a log line, as our adapter's error and as that of an HTTP library. An exception comes
as a log line, as an object, and as the words of another exception, as frameworks pass it on. All are the same failure.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from orbiter.models.model_errors import CallContext
from runtime.judgement.faults.classify import classify, classify_record
from runtime.record.state.fault_taxonomy import Classification, Effect, Origin

NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z
_LINES = (Path(__file__).parents[3] / "data" / "reported-failures.jsonl").read_text(encoding="utf-8").splitlines()
ROWS: list[dict[str, Any]] = [json.loads(line) for line in _LINES]
ANSWERS = [row for row in ROWS if "body" in row]
EXCEPTIONS = [row for row in ROWS if "exception" in row]


def _check(row: dict[str, Any], found: Classification) -> None:
    assert (found.cause, found.persistence == "transient") == (row["cause"], row["transient"]), found


def _body(row: dict[str, Any]) -> str:
    return row["body"] if isinstance(row["body"], str) else json.dumps(row["body"])


def _named(name: str, words: str) -> Exception:
    """An exception of a library that is not installed."""
    module, _, own = name.rpartition(".")
    kind: type[Exception] = type(own, (Exception,), {"__module__": module or "builtins"})
    return kind(words)


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: row["id"])
def test_an_answer(row: dict[str, Any]) -> None:
    headers = row.get("headers", {})
    record = {"provider": row["provider"], "status": row["status"], "body_text": _body(row), "headers": headers}
    _check(row, classify_record({**record, "where": "response"}, now=NOW))
    ours = CallContext(row["provider"], "m").http_error(row["status"], headers, _body(row))
    _check(row, classify(ours, origin=Origin.MODEL, now=NOW))
    if row["status"] >= 400:
        request = httpx.Request("POST", "https://provider.invalid/v1")
        response = httpx.Response(row["status"], headers=headers, text=_body(row), request=request)
        with pytest.raises(httpx.HTTPStatusError) as raised:
            response.raise_for_status()
        _check(row, classify(raised.value, origin=Origin.MODEL, now=NOW))


@pytest.mark.parametrize("row", EXCEPTIONS, ids=lambda row: row["id"])
def test_an_exception(row: dict[str, Any]) -> None:
    origin = Origin(row.get("origin", "model"))
    name, _, words = row["exception"].partition(": ")
    _check(row, classify_record({k: row[k] for k in ("exception", "origin") if k in row}, now=NOW))
    if " " not in name:
        _check(row, classify(_named(name, words), origin=origin, now=NOW))
    _check(row, classify(RuntimeError(row["exception"]), origin=origin, now=NOW))
    if row.get("alone"):
        _check(row, classify(RuntimeError(words), origin=origin, now=NOW))


@pytest.mark.parametrize(
    "words",
    [
        "CancelledError: the answer was taken back",
        "KeyboardInterrupt: ",
        "SystemExit: 3",
        "MemoryError: cannot allocate",
        "Note: the Report is ready",
    ],
)
def test_words_alone_stop_nothing(words: str) -> None:
    for origin in (Origin.MODEL, Origin.TOOL):
        found = classify(RuntimeError(words), origin=origin)
        assert found.cause != "cancelled", found
        assert found.impact != "process", found


def test_words_do_not_prove_that_nothing_was_sent() -> None:
    refused = classify(_named("httpx.ConnectError", "all is well"), origin=Origin.TOOL)
    told = classify(RuntimeError("httpx.ConnectError: all is well"), origin=Origin.TOOL)
    assert (refused.cause, refused.effect) == ("network", Effect.NOT_ATTEMPTED)
    assert (told.cause, told.effect) == ("network", Effect.UNKNOWN)


def test_what_litellm_does_not_map_is_judged_by_its_words() -> None:
    denied = 'litellm.APIConnectionError: BedrockException - {"message":"Model access is denied"}'
    assert classify(_named("litellm.exceptions.APIConnectionError", denied)).cause == "permission_denied"
    assert classify(_named("litellm.exceptions.APIConnectionError", "hm")).cause == "service_unavailable"


def test_a_key_of_json_does_not_count_as_a_word() -> None:
    said = "Error code: 400 - {'error': {'message': 'The model `m` is blocked at the project level.', 'code': 'x'}}"
    assert classify(RuntimeError(said), origin=Origin.MODEL).cause != "refused"


@pytest.mark.parametrize("words", ["httpx.ReadError: x", "ConnectionResetError: x", "anthropic.APIStatusError: x"])
def test_words_in_a_log_line_count_as_in_the_exception_itself(words: str) -> None:
    logged, raised = classify_record({"exception": f"RuntimeError: {words}"}), classify(RuntimeError(words))
    assert logged.cause == raised.cause
    assert logged.persistence == raised.persistence
