"""Errors as our own providers raise them: the same facts as from the provider's words themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orbiter import Agent
from orbiter.errors import AgentError, ModelError
from orbiter.models import get_provider
from orbiter.models.model_errors import CallContext
from orbiter.runner import provider_for
from runtime.judgement.faults.classify import classify, classify_record
from runtime.judgement.recovery.options import options_for
from runtime.record.state.fault_taxonomy import (
    Cause,
    Effect,
    Origin,
    Persistence,
)

_LINES = (Path(__file__).parents[3] / "data" / "provider-errors.jsonl").read_text(encoding="utf-8").splitlines()
_ANSWERS = [row for row in map(json.loads, _LINES) if row["kind"] == "error" and row["status"] and row["message"]]


@pytest.mark.parametrize("row", _ANSWERS, ids=lambda row: row["id"])
def test_an_answer_is_judged_as_its_record(row: dict[str, Any]) -> None:
    error = {"message": row["message"], "type": row["type"], "code": row["code"]}
    raised = CallContext(row["provider"], "m").http_error(
        row["status"], {}, json.dumps({"error": error}), where=row["where"]
    )
    found = classify(raised, origin=Origin.MODEL, now=1.8e9)
    record = classify_record({k: row[k] for k in ("provider", "status", "type", "code", "message", "where")}, now=1.8e9)
    assert (found.cause, found.persistence) == (record.cause, record.persistence), (found, record)
    assert (found.provider, found.http_status, found.effect) == (row["provider"], row["status"], Effect.NONE)


def test_a_reply_that_is_nested_too_deeply_is_a_failing_service() -> None:
    deep = {"exception": "RecursionError: maximum recursion depth exceeded", "provider": "openai"}
    found = classify_record({**deep, "where": "response"})
    assert (found.cause, found.persistence) == (Cause.SERVICE_UNAVAILABLE, Persistence.TRANSIENT)
    assert classify_record(deep).cause is Cause.INTERNAL


@pytest.mark.parametrize(
    ("raised", "cause"),
    [
        (CallContext("openai", "m").truncated_error(got=12), Cause.NETWORK),
        (
            CallContext("openai", "m").invalid_reply_error("No event stream", headers={}, body="<html>log in</html>"),
            "service_unavailable",
        ),
        (CallContext("openai", "m").timeout_error("first token", 60, where="first_token"), Cause.TIMEOUT),
        (
            CallContext("openai", "m").connection_error(ConnectionRefusedError("refused"), where="connect"),
            Cause.NETWORK,
        ),
        (CallContext("openai", "m").connection_error(ConnectionResetError("reset"), where="stream"), Cause.NETWORK),
    ],
)
def test_calls_without_an_answer(raised: ModelError, cause: Cause) -> None:
    found = classify(raised, origin=Origin.MODEL)
    assert (found.cause, found.persistence, found.provider) == (cause, Persistence.TRANSIENT, "openai")


def test_a_hint_survives_our_own_error() -> None:
    raised = CallContext("openai", "m").http_error(
        429, {"Retry-After": "7", "X-Other": "x"}, '{"error": {"message": "slow"}}'
    )
    assert classify(raised).retry_after_s == 7


def test_what_is_missing_before_a_call() -> None:
    with pytest.raises(ModelError) as unknown:
        get_provider("nobody:m")
    assert classify(unknown.value).cause is Cause.CONFIG_INVALID
    assert "model string" in classify(unknown.value).suggestions[0]


@pytest.mark.parametrize(
    ("provider", "cause", "code"),
    [
        ("openai", Cause.AUTH_FAILED, "missing_api_key"),
        ("azure", Cause.CONFIG_INVALID, "missing_base_url"),
    ],
)
def test_what_is_missing_in_the_environment_where_an_agent_begins_can_be_set_and_the_agent_retried(
    monkeypatch: pytest.MonkeyPatch, provider: str, cause: Cause, code: str
) -> None:
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    with pytest.raises(AgentError) as missing:
        provider_for(Agent(name="writer", model=f"{provider}:gpt-4o"))
    found = classify(missing.value, origin=Origin.AGENT)
    assert (found.cause, found.code, found.provider) == (cause, code, provider)
    assert [option.id for option in options_for(found, "llm")[0]][:2] == ["retry", "switch_model"]
    options, default = options_for(found, "agent")
    assert ([option.id for option in options], default) == (["retry", "skip", "abort"], "abort")
