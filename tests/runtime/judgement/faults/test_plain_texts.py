"""Texts that only look like a known failure, and what words alone may never prove."""

from __future__ import annotations

import builtins
import json
import random
from pathlib import Path
from typing import Any

import pytest

from runtime.judgement.faults.classify import classify, classify_record
from runtime.judgement.faults.rules.builtin import builtin_rules
from runtime.judgement.faults.rules.rule import parse_rules
from runtime.judgement.recovery.breaker import counts_as_outage
from runtime.judgement.recovery.retry import RetryPolicy, decide_retry
from runtime.record.state.fault_taxonomy import Cause, Classification, Effect, Impact, Origin, Remedy

_DATA = Path(__file__).parents[3] / "data"


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_DATA / name).read_text(encoding="utf-8").splitlines()]


_OF_RULES = {name for rule in builtin_rules() for name in rule.exception if "*" not in name}
_OF_PYTHON = {
    name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
}
QUOTED = sorted(f"{name}: half of it was booked" for name in _OF_RULES | _OF_PYTHON)
CODES = sorted({code for rule in builtin_rules() for code in rule.code if "_" in code and "*" not in code})
_BY_WORDS = {rule.id for rule in builtin_rules() if rule.text and not (rule.exception or rule.code)}
SPOKEN = sorted(
    row["record"]["message"]
    for row in _rows("rule-examples.jsonl")
    if row["rule"] in _BY_WORDS and row["record"].get("message")
)
REFUSALS = (Cause.RATE_LIMITED, Cause.QUOTA_EXHAUSTED)


def _error(name: str, base: type[Exception] = Exception, words: str = "x", **facts: Any) -> Exception:
    error: Exception = type(name, (base,), {"__module__": "shop.errors"})(words)
    vars(error).update(facts)
    return error


def _remedy(found: Classification) -> Remedy:
    return decide_retry(found, attempt=1, policy=RetryPolicy(), rng=random.Random(1)).remedy


@pytest.mark.parametrize("row", _rows("plain-texts.jsonl"), ids=lambda row: row["message"][:60])
def test_a_plain_text_gets_no_cause_that_it_does_not_say(row: dict[str, Any]) -> None:
    record: dict[str, Any] = {key: row[key] for key in ("origin", "message", "status") if key in row}
    said = [classify_record(record)]
    if "status" not in row:
        said.append(classify(RuntimeError(row["message"]), origin=Origin(row["origin"])))
    for found in said:
        assert found.cause not in row.get("not", ()), found
        assert found.cause == row.get("is", found.cause), found


@pytest.mark.parametrize("words", QUOTED)
def test_a_quoted_class_name_proves_no_effect_and_moves_no_fault(words: str) -> None:
    for origin in (Origin.TOOL, Origin.HOOK, Origin.AGENT, Origin.MODEL):
        found = classify(RuntimeError(words), origin=origin, effect=Effect.UNKNOWN)
        assert found.origin is origin, found
        assert found.impact in (Impact.ABSORBED, Impact.NODE), found
        assert _remedy(found) not in (Remedy.RETRY, Remedy.WAIT_RETRY), found
        if found.rule_id not in _BY_WORDS:
            assert found.effect is Effect.UNKNOWN, found


@pytest.mark.parametrize("code", CODES)
def test_no_code_in_words_makes_a_tool_run_again_unasked(code: str) -> None:
    for words in (f"{code}: half of it was booked", f"half of it was booked (error code: {code})"):
        found = classify(RuntimeError(words), origin=Origin.TOOL, effect=Effect.UNKNOWN)
        assert found.origin is Origin.TOOL, found
        assert found.impact in (Impact.ABSORBED, Impact.NODE), found
        assert _remedy(found) not in (Remedy.RETRY, Remedy.WAIT_RETRY), found
        assert found.cause not in REFUSALS or found.effect is Effect.UNKNOWN, found


@pytest.mark.parametrize("words", SPOKEN)
def test_no_words_make_a_tool_run_again_unasked(words: str) -> None:
    found = classify(RuntimeError(words), origin=Origin.TOOL, effect=Effect.UNKNOWN)
    assert _remedy(found) not in (Remedy.RETRY, Remedy.WAIT_RETRY), found
    assert found.cause not in REFUSALS or found.effect is Effect.UNKNOWN, found


@pytest.mark.parametrize("name", ["parser.EndOfStream", "rows.ClosedResourceError", "shop.BrokenResourceError"])
def test_a_name_that_only_one_library_means_as_a_broken_connection(name: str) -> None:
    module, _, own = name.rpartition(".")
    error = type(own, (Exception,), {"__module__": module})("the rows are read")
    assert classify(error, origin=Origin.TOOL).cause == "tool_failed"


@pytest.mark.parametrize(
    ("error", "effect"),
    [
        (_error("ThrottledPartiallyError"), Effect.UNKNOWN),
        (_error("RequestThrottled"), Effect.UNKNOWN),
        (_error("RuntimeError", words="rate limit exceeded"), Effect.UNKNOWN),
        (_error("RuntimeError", words='{"code": "rate_limited", "order": "placed"}'), Effect.UNKNOWN),
        (_error("RuntimeError", words="HTTP 429 Too Many Requests"), Effect.UNKNOWN),
        (_error("ApiError", status_code=429), Effect.NOT_ATTEMPTED),
        (_error("ApiError", code="rate_limit_exceeded"), Effect.NOT_ATTEMPTED),
        (_error("ApiError", body={"error": {"code": "rate_limit_exceeded"}}), Effect.NOT_ATTEMPTED),
    ],
    ids=repr,
)
def test_only_an_answer_proves_that_a_service_refused_a_tools_call(error: Exception, effect: Effect) -> None:
    for origin in (Origin.TOOL, Origin.HOOK):
        assert classify(error, origin=origin, effect=Effect.UNKNOWN).effect is effect


@pytest.mark.parametrize(
    "error",
    [
        _error("OverloadedFunctionError", TypeError),
        _error("UnreachableCodeError", NotImplementedError),
        _error("DisconnectedGraphError", ValueError),
        _error("UnreachableGoalError", RuntimeError),
        _error("OverloadedResult"),
        _error("SlowdownRequested"),
        _error("InvalidTokenError", SyntaxError),
        _error("TooLargeStepError", ArithmeticError),
        _error("IntegerTooLargeError", ValueError),
        _error("KeyNotFound", KeyError),
        _error("InvalidRequestIdError", KeyError),
        _error("ForbiddenWordError", ValueError),
        _error("RequestTimeoutNotSet", AttributeError),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_part_of_a_class_name_says_nothing_of_a_bug_or_of_what_a_program_is_about(error: Exception) -> None:
    for origin in (Origin.TOOL, Origin.AGENT, Origin.MODEL):
        found = classify(error, origin=origin, effect=Effect.UNKNOWN)
        assert found.cause in (Cause.TOOL_FAILED, Cause.INTERNAL, Cause.UNKNOWN), found
        assert not counts_as_outage(found)


@pytest.mark.parametrize("name", ["BasketConnectionError", "ShopServiceUnavailable"])
def test_a_class_name_alone_opens_no_breaker_of_a_tool(name: str) -> None:
    assert not counts_as_outage(classify(_error(name), origin=Origin.TOOL, effect=Effect.UNKNOWN))
    assert counts_as_outage(classify(_error(name), origin=Origin.MODEL))


@pytest.mark.parametrize(
    "words",
    ["user_id: has to be a number", "ORDER_LATE: the van is stuck", "(Third) shelf is empty", "code: Oakland",
     "status: PENDING", "shelf_not_found: third"],
)  # fmt: skip
def test_a_code_that_no_rule_knows_is_not_of_a_provider(words: str) -> None:
    found = classify(ValueError(words))
    assert (found.origin, found.code, found.effect) == (Origin.RUNNER, "", Effect.UNKNOWN)
    assert found.technical == f"ValueError: {words}"


def test_a_code_in_words_that_a_rule_knows_is_the_providers() -> None:
    found = classify(ValueError("insufficient_quota: see the plan"))
    assert (found.origin, found.code, found.cause) == (Origin.MODEL, "insufficient_quota", "quota_exhausted")
    rules = parse_rules([{"id": "late", "code": "ORDER_DENIED", "cause": "service_unavailable"}])
    asked = classify(ValueError("ORDER_DENIED: the van is stuck"), origin=Origin.TOOL, rules=rules)
    assert (asked.rule_id, asked.code) == ("late", "ORDER_DENIED")
