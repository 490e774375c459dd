"""The cases that the seeds and the projects behind them are known by: what comes in, what it is, what is done.

Numbers are those of the collected table. Where an original is known to be wrong (a number inside words taken for a
status, a permanent error repeated) the line holds our answer. Cases about states, joins, budgets, dialogs and reports
stand with the parts that carry them out.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from orbiter import errors
from orbiter.severity import ErrorClassification, ErrorSeverity
from runtime.judgement.faults.classify import classify, classify_record
from runtime.judgement.faults.severity import apply_severity
from runtime.judgement.recovery.retry import RetryPolicy, decide_retry
from runtime.record.state.fault_taxonomy import Classification, Effect, Origin

NOW = 1_767_225_600.0
STEADY = RetryPolicy(jitter=0.0)


def _llm(message: str = "", **rest: Any) -> Classification:
    return classify_record({"where": "response", "message": message, **rest}, now=NOW)


def _tool(exc: Exception) -> Classification:
    return classify(exc, origin=Origin.TOOL)


def _model(exc: Exception) -> Classification:
    return classify(exc, origin=Origin.MODEL)


def _said(severity: ErrorSeverity, exc: Exception, origin: Origin = Origin.TOOL) -> Classification:
    return apply_severity(classify(exc, origin=origin), ErrorClassification(severity))


def _openai(status: int | None, message: str = "x", **rest: Any) -> Classification:
    return _llm(message, provider="openai", status=status, **rest)


def _stream(kind: str) -> Classification:
    return _llm("x", provider="anthropic", status=200, type=kind, where="stream")


class ReclassificationRequiredError(Exception):
    """Osprey's, by name."""


class InvalidContextKeyError(Exception):
    """Osprey's, by name."""


class ClassifierTimeoutProblem(Exception):
    """A class whose name says timeout."""


class CustomRateLimitProblem(Exception):
    """A class whose name says rate limit."""


S = ErrorSeverity
PERMIT = Effect.NOT_ATTEMPTED

CASES: list[tuple[str, Classification, str, str, str]] = [
    ("1", _llm("Rate limit exceeded, retry after 2s", status=429), "rate_limited", "transient", "wait_retry"),
    *(
        (f"2/{s}", _llm("Internal server error", status=s), "service_unavailable", "transient", "retry")
        for s in (500, 502, 503)
    ),
    ("3", _llm("Request timed out after 60s"), "timeout", "transient", "retry"),
    ("4/401", _llm("Invalid API key", status=401), "auth_failed", "needs_change", "ask_human"),
    ("4/403", _llm("Invalid API key", status=403), "auth_failed", "needs_change", "ask_human"),
    ("5", _llm("Model does not exist", status=400), "model_unknown", "needs_change", "ask_human"),
    ("6", _llm("Circuit breaker open for provider"), "circuit_open", "transient", "retry"),
    ("7", _tool(ValueError("Invalid arguments: x is required")), "args_invalid", "needs_change", "feed_back"),
    ("8", _tool(RuntimeError("Tool raised an error")), "tool_failed", "unknown", "feed_back"),
    ("9", _tool(RuntimeError("Tool exceeded 10s timeout")), "timeout", "transient", "feed_back"),
    ("10", _tool(RuntimeError("Action denied by policy")), "policy_denied", "needs_change", "feed_back"),
    (
        "11",
        classify(RuntimeError("Subagent 'researcher' completed with state=failed")),
        "dependency_failed",
        "needs_change",
        "ask_human",
    ),
    ("11/wall", classify(RuntimeError("Subagent exceeded wall time")), "timeout", "needs_change", "ask_human"),
    (
        "12",
        classify(RuntimeError("Required subagent failed (all_required policy)")),
        "dependency_failed",
        "needs_change",
        "ask_human",
    ),
    ("13", classify(RuntimeError("Could not persist checkpoint")), "service_unavailable", "transient", "retry"),
    ("14", classify(RuntimeError("OTEL exporter timed out")), "timeout", "transient", "retry"),
    ("15", classify(RuntimeError("Redis connection refused")), "network", "transient", "retry"),
    ("16/steps", classify(RuntimeError("max_steps exceeded")), "limit_reached", "needs_change", "ask_human"),
    ("16/calls", classify(RuntimeError("max_tool_calls exceeded")), "limit_reached", "needs_change", "ask_human"),
    ("17", classify(RuntimeError("max_total_cost_usd exceeded")), "limit_reached", "needs_change", "ask_human"),
    ("18", classify(RuntimeError("max_wall_time_s exceeded")), "limit_reached", "needs_change", "ask_human"),
    ("19", _model(TimeoutError()), "timeout", "transient", "retry"),
    ("20/connection", _model(ConnectionError()), "network", "transient", "retry"),
    ("20/os", _model(OSError("I/O")), "network", "transient", "retry"),
    ("21/limit", _model(RuntimeError("rate limit exceeded")), "rate_limited", "transient", "retry"),
    ("21/429", _model(RuntimeError("HTTP 429 too many requests")), "rate_limited", "transient", "retry"),
    ("21/503", _model(RuntimeError("503 service unavailable")), "service_unavailable", "transient", "retry"),
    ("21/load", _model(RuntimeError("server overloaded")), "service_unavailable", "transient", "retry"),
    ("22", _model(ValueError("something weird")), "unknown", "unknown", "ask_human"),
    ("23", _model(RuntimeError("HTTP 500 internal server error")), "service_unavailable", "transient", "retry"),
    ("24", _model(RuntimeError("took 4290 ms")), "unknown", "unknown", "ask_human"),
    ("25/gone", _model(FileNotFoundError(2, "gone")), "not_found", "permanent", "ask_human"),
    ("25/denied", _model(PermissionError(13, "no")), "permission_denied", "needs_change", "ask_human"),
    ("37/connection", _said(S.RETRIABLE, ConnectionError(), Origin.MODEL), "network", "transient", "retry"),
    ("37/timeout", _said(S.RETRIABLE, TimeoutError(), Origin.MODEL), "timeout", "transient", "retry"),
    ("38", _said(S.CRITICAL, TypeError("x"), Origin.AGENT), "internal", "permanent", "stop"),
    ("39", _model(ClassifierTimeoutProblem("x")), "timeout", "transient", "retry"),
    ("40", classify(ReclassificationRequiredError("x")), "wrong_target", "needs_change", "reroute"),
    ("41", _said(S.CRITICAL, NameError("x"), Origin.AGENT), "internal", "permanent", "stop"),
    ("42/plan", classify(ValueError("1 validation error for ExecutionPlan")), "output_invalid", "transient", "retry"),
    ("42/json", classify(ValueError("JSON parsing failed")), "output_invalid", "transient", "retry"),
    ("43", classify(ValueError("Invalid plan format"), origin=Origin.AGENT), "unknown", "unknown", "ask_human"),
    ("44", classify(InvalidContextKeyError("SENSOR_DATA")), "missing_input", "needs_change", "replan"),
    ("46", _model(CustomRateLimitProblem("x")), "rate_limited", "transient", "retry"),
    ("48", _said(S.REPLANNING, LookupError("no such channel")), "missing_input", "needs_change", "replan"),
    ("50", _said(S.CRITICAL, PermissionError(13, "no")), "permission_denied", "needs_change", "ask_human"),
    # A write that timed out may have happened; its author, who says retriable, has judged that it did not.
    ("51", _said(S.RETRIABLE, TimeoutError()), "timeout", "transient", "retry"),
    ("61", _said(S.FATAL, RuntimeError("the error node failed")), "internal", "permanent", "stop"),
    ("65", _openai(429, headers={"retry-after": "7"}), "rate_limited", "transient", "wait_retry"),
    ("66", _openai(429), "rate_limited", "transient", "retry"),
    ("67", _openai(429, type="insufficient_quota"), "quota_exhausted", "needs_change", "ask_human"),
    ("68/401", _openai(401), "auth_failed", "needs_change", "ask_human"),
    ("68/404", _openai(404, "The model `x` does not exist"), "model_unknown", "needs_change", "ask_human"),
    ("69/400", _openai(400), "bad_request", "needs_change", "ask_human"),
    ("69/403", _openai(403), "permission_denied", "needs_change", "ask_human"),
    ("69/408", _openai(408), "timeout", "transient", "retry"),
    ("69/422", _openai(422), "bad_request", "needs_change", "ask_human"),
    *((f"70/{s}", _openai(s), "service_unavailable", "transient", "retry") for s in (500, 502, 503, 504, 529)),
    (
        "71",
        _openai(400, "This model's maximum context length is 9"),
        "context_overflow",
        "needs_change",
        "compact_retry",
    ),
    ("72/413", _openai(413), "payload_too_large", "needs_change", "compact_retry"),
    ("72/400", _openai(400, "Request exceeds the maximum size"), "payload_too_large", "needs_change", "compact_retry"),
    (
        "73",
        _llm("max_tokens: Field required", provider="anthropic", status=400, type="invalid_request_error"),
        "bad_request",
        "needs_change",
        "ask_human",
    ),
    (
        "74",
        _llm("Your credit balance is too low", provider="anthropic", status=400, type="invalid_request_error"),
        "quota_exhausted",
        "needs_change",
        "ask_human",
    ),
    ("75/403", _llm("no", provider="anthropic", status=403), "permission_denied", "needs_change", "ask_human"),
    ("75/404", _llm("model: x", provider="anthropic", status=404), "model_unknown", "needs_change", "ask_human"),
    ("76", _stream("overloaded_error"), "service_unavailable", "transient", "retry"),
    ("77/rate", _stream("rate_limit_error"), "rate_limited", "transient", "retry"),
    ("77/api", _stream("api_error"), "service_unavailable", "transient", "retry"),
    ("78/auth", _stream("authentication_error"), "auth_failed", "needs_change", "ask_human"),
    ("78/permission", _stream("permission_error"), "permission_denied", "needs_change", "ask_human"),
    ("78/invalid", _stream("invalid_request_error"), "bad_request", "needs_change", "ask_human"),
    ("79", _llm("stop_reason refusal", code="refusal"), "refused", "needs_change", "ask_human"),
    ("80", _llm("stop_reason end_turn", code="empty_completion"), "empty_completion", "needs_change", "ask_human"),
    ("81", _llm("stop_reason stop_sequence", code="empty_completion"), "empty_completion", "transient", "retry"),
    (
        "82",
        _llm("Quota exceeded for requests per day", provider="google", status=429),
        "quota_exhausted",
        "needs_change",
        "ask_human",
    ),
    ("83", _llm("slow", provider="google", status=429), "rate_limited", "transient", "retry"),
    ("84/408", _llm("x", provider="openrouter", status=408), "timeout", "transient", "retry"),
    ("84/502", _llm("x", provider="openrouter", status=502), "service_unavailable", "transient", "retry"),
    ("85/402", _llm("x", provider="openrouter", status=402), "quota_exhausted", "needs_change", "ask_human"),
    ("85/403", _llm("x", provider="openrouter", status=403), "permission_denied", "needs_change", "ask_human"),
    ("85/401", _llm("x", provider="openrouter", status=401), "auth_failed", "needs_change", "ask_human"),
    (
        "86",
        _llm("x", provider="openrouter", status=429, headers={"X-RateLimit-Reset": str(int(NOW + 42))}),
        "rate_limited",
        "transient",
        "wait_retry",
    ),
    (
        "87",
        _llm("Invalid model parameters", provider="openrouter", status=400),
        "bad_request",
        "needs_change",
        "ask_human",
    ),
    ("88/429", _llm("x", provider="xai", status=429), "rate_limited", "transient", "retry"),
    ("88/503", _llm("x", provider="xai", status=503), "service_unavailable", "transient", "retry"),
    ("89", _openai(429, headers={"retry-after": "0.5"}), "rate_limited", "transient", "wait_retry"),
    ("90/refused", _model(ConnectionRefusedError()), "network", "transient", "retry"),
    ("90/timeout", _model(TimeoutError()), "timeout", "transient", "retry"),
    ("99/hard", classify(errors.ValidationError("x")), "args_invalid", "needs_change", "ask_human"),
    ("100", classify(errors.PermissionError("x")), "permission_denied", "needs_change", "ask_human"),
    ("101", classify(errors.RateLimitError("x")), "rate_limited", "transient", "retry"),
    ("102", classify(errors.ExecutionError("x")), "unknown", "unknown", "ask_human"),
    ("103", classify(errors.ExecutionError("Circuit breaker is open")), "circuit_open", "transient", "retry"),
    ("104", classify(errors.ToolCallError("'researcher' is an agent")), "args_invalid", "transient", "retry"),
    ("105", classify(errors.PoolExhaustedError("x")), "pool_exhausted", "transient", "retry"),
    ("107/config", classify(errors.AgentConfigurationError("x")), "config_invalid", "needs_change", "ask_human"),
    ("107/topology", classify(errors.TopologyError("x")), "config_invalid", "permanent", "stop"),
    ("107/permission", classify(errors.AgentPermissionError("x")), "permission_denied", "needs_change", "ask_human"),
]


@pytest.mark.parametrize(("number", "facts", "cause", "persistence", "remedy"), CASES, ids=[c[0] for c in CASES])
def test_case(number: str, facts: Classification, cause: str, persistence: str, remedy: str) -> None:
    decision = decide_retry(facts, attempt=1, policy=STEADY, rng=random.Random(1))
    assert (facts.cause, facts.persistence, decision.remedy) == (cause, persistence, remedy), facts


DELAYS: list[tuple[str, Classification, RetryPolicy, list[float | None]]] = [
    ("1", _llm("Rate limit exceeded, retry after 2s", status=429), STEADY, [2.0]),
    ("2", _llm("x", status=500), STEADY, [1.0, 2.0, 4.0, None]),
    (
        "37",
        _said(S.RETRIABLE, ConnectionError(), Origin.MODEL),
        RetryPolicy(max_attempts=3, base=1.0, factor=1.5, jitter=0.0),
        [1.0, 1.5, None],
    ),
    (
        "39",
        _model(TimeoutError()),
        RetryPolicy(max_attempts=4, base=1.0, factor=1.8, jitter=0.0),
        [1.0, 1.8, 3.24, None],
    ),
    ("42", _model(TimeoutError()), RetryPolicy(base=2.0, jitter=0.0), [2.0, 4.0, 8.0, None]),
    ("62", _model(TimeoutError()), RetryPolicy(max_attempts=3, factor=1.5, jitter=0.0), [1.0, 1.5, None]),
    ("65", _openai(429, headers={"retry-after": "7"}), STEADY, [7.0]),
    ("86", _openai(429, headers={"X-RateLimit-Reset": str(int(NOW + 42) * 1000)}), STEADY, [42.0]),
    ("89", _openai(429, headers={"retry-after": "0.5"}), STEADY, [0.5]),
    ("89/date", _openai(429, headers={"retry-after": "Thu, 01 Jan 2026 00:00:09 GMT"}), STEADY, [9.0]),
    ("92", _openai(500), RetryPolicy(max_attempts=5, jitter=0.0), [1.0, 2.0, 4.0, 8.0]),
    ("105", classify(errors.PoolExhaustedError("x")), RetryPolicy(max_attempts=3, fixed=5.0), [5.0, 5.0, None]),
]


@pytest.mark.parametrize(("number", "facts", "policy", "delays"), DELAYS, ids=[d[0] for d in DELAYS])
def test_delay(number: str, facts: Classification, policy: RetryPolicy, delays: list[float | None]) -> None:
    for attempt, delay in enumerate(delays, 1):
        found = decide_retry(facts, attempt=attempt, policy=policy, rng=random.Random(1)).delay_s
        assert found == (pytest.approx(delay) if delay is not None else None)


def test_case_92_the_cap_holds_at_any_attempt() -> None:
    assert RetryPolicy(max_retry_delay=5.0, jitter=0.0).delay(10, random.Random(1)) == 5.0


def test_cases_13_and_14_absorb_what_the_run_does_not_need() -> None:
    spent = [
        decide_retry(classify(RuntimeError(text)), attempt=4, policy=STEADY, rng=random.Random(1)).remedy
        for text in ("Could not persist checkpoint", "OTEL exporter timed out")
    ]
    assert spent == ["ignore", "ignore"]
    assert classify(RuntimeError("OTEL exporter timed out")).severity == "info"
    assert classify(RuntimeError("Could not persist checkpoint")).severity == "warning"
