"""Errors of real providers, as records: recorded ones, and messages as their pages and users quote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.judgement.faults.classify import classify_record
from runtime.record.state.fault_taxonomy import Persistence

DATA = Path(__file__).parents[3] / "data"
NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z

CAUSES = {
    "rate_limit": {"rate_limited"},
    "quota": {"quota_exhausted"},
    "billing": {"quota_exhausted"},
    "auth": {"auth_failed"},
    "permission": {"permission_denied"},
    "invalid_request": {"bad_request"},
    "context_length": {"context_overflow"},
    "payload_too_large": {"payload_too_large"},
    "overloaded": {"service_unavailable"},
    "server": {"service_unavailable"},
    "connection": {"network"},
    "timeout": {"timeout"},
    "content_policy": {"refused"},
    "not_found": {"model_unknown", "not_found"},
}
PERSISTENCE = {
    "yes": {"transient"},
    "after_wait": {"transient"},
    "after_shrink": {"needs_change"},
    "no": {"needs_change", "permanent"},
}
FIELDS = ("provider", "status", "type", "code", "message", "where", "headers", "body_text")


def _rows(name: str, kind: str = "") -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if not kind or row["kind"] == kind]


def _record(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in FIELDS if name in row}


@pytest.mark.parametrize("row", _rows("provider-errors.jsonl", "error"), ids=lambda row: row["id"])
def test_a_recorded_error_is_placed(row: dict[str, Any]) -> None:
    found = classify_record(_record(row), now=NOW)
    assert found.cause in CAUSES[row["category"]], found
    assert found.persistence in PERSISTENCE[row["retry"]], found


@pytest.mark.parametrize("row", _rows("provider-errors.jsonl", "retry_hint"), ids=lambda row: row["id"])
def test_a_recorded_hint_is_read(row: dict[str, Any]) -> None:
    found = classify_record(_record(row), now=NOW)
    match row["seconds"]:
        case "never":
            assert found.persistence is not Persistence.TRANSIENT
        case "epoch-ms":
            assert found.retry_after_s == pytest.approx(1_999_999_999 - NOW, abs=1)
        case "date-now":
            when = 1_795_212_602 if row["headers"] else 1_775_001_600
            assert found.retry_after_s == when - NOW
        case None:
            assert found.retry_after_s is None
        case seconds:
            assert found.retry_after_s == pytest.approx(seconds, abs=0.001)


@pytest.mark.parametrize("row", _rows("provider-messages.jsonl"), ids=lambda row: row["id"])
def test_a_quoted_message_is_placed(row: dict[str, Any]) -> None:
    found = classify_record(_record(row), now=NOW)
    assert found.cause == row["cause"], found
    assert (found.persistence is Persistence.TRANSIENT) == row["transient"], found
    if "seconds" in row:
        assert found.retry_after_s == pytest.approx(row["seconds"], abs=0.001), found


@pytest.mark.parametrize("row", _rows("logged-exceptions.jsonl"), ids=lambda row: str(row["record"])[:60])
def test_a_logged_exception_is_placed(row: dict[str, Any]) -> None:
    found = classify_record(row["record"], now=NOW)
    assert found.cause == row["cause"], found


def test_every_category_of_the_records_has_a_cause() -> None:
    assert {row["category"] for row in _rows("provider-errors.jsonl", "error")} == set(CAUSES)


def test_the_true_cause_is_found_inside_openrouters_wrapping() -> None:
    raw = json.dumps({"error": {"message": "This model's maximum context length is 8192 tokens.", "code": 400}})
    body = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}
    found = classify_record(
        {"provider": "openrouter", "status": 400, "message": "Provider returned error", "body": body}
    )
    assert found.cause == "context_overflow"


def test_gemini_heals_per_minute_but_not_per_day() -> None:
    def quota(quota_id: str) -> dict[str, Any]:
        details = [
            {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota_id}]},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "26s"},
        ]
        message = "You exceeded your current quota, please check your plan and billing details."
        return {
            "provider": "gemini",
            "status": 429,
            "type": "RESOURCE_EXHAUSTED",
            "message": message,
            "body": {"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED", "details": details}},
        }

    minute = classify_record(quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"))
    assert (minute.cause, minute.persistence, minute.retry_after_s) == ("rate_limited", "transient", 26)
    day = classify_record(quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"))
    assert (day.cause, day.persistence, day.retry_after_s) == ("quota_exhausted", "needs_change", None)


def test_numbers_inside_words_mean_nothing() -> None:
    for text in ("took 4290 ms", "processed 500 items in 429 seconds", "order 4031 shipped", "port 5030"):
        assert classify_record({"exception": f"RuntimeError: {text}"}).cause == "unknown", text


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("HTTP 500 internal server error", 500),
        ("HTTP/1.1 503 Service Unavailable", 503),
        ("Error code: 429 - {'error': {}}", 429),
        ("503 Service Unavailable", 503),
        ("failed with status code 502", 502),
    ],
)
def test_a_status_in_words_is_read_where_words_announce_it(text: str, status: int) -> None:
    assert classify_record({"exception": f"RuntimeError: {text}"}).http_status == status


def test_nothing_of_a_key_is_kept() -> None:
    found = classify_record(
        {
            "provider": "openai",
            "status": 401,
            "code": "invalid_api_key",
            "message": "Incorrect API key provided: kod-460f****2829. You can find your API key at https://x.invalid.",
        }
    )
    assert found.cause == "auth_failed"
    assert "460f" not in msgspec.json.encode(found).decode()
    assert "2829" not in msgspec.json.encode(found).decode()
