"""Exceptions as the framework and Python raise them, wrappers, and that nothing makes the classifier raise."""

from __future__ import annotations

import asyncio
import random
import socket
import ssl
import urllib.error
from typing import Any

import httpx
import msgspec
import pytest
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
    assert "it DID happen" in options_for(found, "tool")[0][0].hint


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
    assert msgspec.json.decode(msgspec.json.encode(found), type=Classification) == found
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


@pytest.mark.parametrize("raised", [SystemExit(2), MemoryError(), RecursionError("maximum recursion depth exceeded")])
def test_what_a_tool_raises_ends_neither_the_process_nor_the_run(raised: BaseException) -> None:
    found = classify(raised, origin=Origin.TOOL, now=NOW)
    assert (found.cause, found.impact, found.persistence) == (
        Cause.TOOL_FAILED,
        Impact.ABSORBED,
        Persistence.UNKNOWN,
    )


@pytest.mark.parametrize("origin", [Origin.MODEL, Origin.AGENT, Origin.HOOK])
def test_no_memory_in_a_provider_or_a_hook_is_trouble_of_its_node(origin: Origin) -> None:
    found = classify(MemoryError(), origin=origin, now=NOW)
    assert (found.cause, found.impact, found.persistence) == (Cause.INTERNAL, Impact.NODE, Persistence.UNKNOWN)


def test_an_exit_outside_of_a_tool_is_a_stop() -> None:
    found = classify(SystemExit(2), now=NOW)
    assert (found.cause, found.impact) == (Cause.CANCELLED, Impact.PROCESS)


@pytest.mark.parametrize("hint", [10**400, float("nan"), float("inf"), -5, "soon", [1], True])
def test_an_odd_hint_when_to_come_back_hides_nothing_else(hint: Any) -> None:
    error = Exception("slow down")
    error.__dict__.update(status_code=429, retry_after=hint, context={"deep": _nested(400)})
    found = classify(error, origin=Origin.TOOL)
    assert (found.cause, found.retry_after_s) == (Cause.RATE_LIMITED, None)
    assert isinstance(found.context["deep"], str)


def _nested(levels: int) -> list[Any]:
    return [_nested(levels - 1)] if levels else []
