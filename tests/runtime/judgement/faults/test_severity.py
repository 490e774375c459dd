"""An author's judgement (seed 002) over the facts that were found."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from orbiter.errors import ConfigurationError
from orbiter.severity import ErrorClassification, ErrorSeverity
from runtime.judgement.faults.classify import classify
from runtime.judgement.faults.severity import apply_severity, ask_author
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Impact,
    Origin,
    Persistence,
    Remedy,
    Severity,
)


def said(severity: ErrorSeverity, **rest: Any) -> Classification:
    facts = classify(TimeoutError("slow"), origin=Origin.TOOL)
    return apply_severity(facts, ErrorClassification(severity=severity, **rest))


@pytest.mark.parametrize(
    ("severity", "facts", "proposal", "shown"),
    [
        (ErrorSeverity.RETRIABLE, ("timeout", "transient", "absorbed"), Remedy.RETRY, Severity.WARNING),
        (ErrorSeverity.REPLANNING, ("missing_input", "needs_change", "node"), Remedy.REPLAN, Severity.ERROR),
        (ErrorSeverity.RECLASSIFICATION, ("wrong_target", "needs_change", "node"), Remedy.REROUTE, Severity.ERROR),
        (ErrorSeverity.CRITICAL, ("timeout", "permanent", "run"), Remedy.STOP, Severity.CRITICAL),
        (ErrorSeverity.FATAL, ("internal", "permanent", "process"), Remedy.STOP, Severity.FATAL),
    ],
)
def test_severities_become_facts(
    severity: ErrorSeverity, facts: tuple[str, str, str], proposal: Remedy, shown: Severity
) -> None:
    found = said(severity)
    assert (found.cause, found.persistence, found.impact) == facts
    assert found.proposal is proposal
    assert found.severity is shown
    assert found.rule_id == f"author.{severity.value}"


def test_critical_is_offered_to_a_person_where_somebody_can_mend_it() -> None:
    facts = classify(PermissionError(13, "denied"), origin=Origin.TOOL)
    found = apply_severity(facts, ErrorClassification(ErrorSeverity.CRITICAL))
    assert (found.persistence, found.proposal) == (Persistence.NEEDS_CHANGE, Remedy.ASK_HUMAN)


def test_what_the_author_says_is_kept() -> None:
    found = said(
        ErrorSeverity.CRITICAL,
        user_message="Configuration error",
        metadata={
            "technical_details": "Missing required parameter 'api_key'",
            "safety_abort_reason": "aborted",
            "suggestions": ["Check configuration", "Verify credentials"],
            "error_code": "E42",
        },
    )
    assert found.user_message == "Configuration error"
    assert found.technical == "Missing required parameter 'api_key'"
    assert found.suggestions == ("Check configuration", "Verify credentials")
    assert (found.code, found.metadata["safety_abort_reason"]) == ("E42", "aborted")


def test_a_suggestion_may_be_a_string() -> None:
    assert said(ErrorSeverity.REPLANNING, metadata={"suggestions": "Ask the user"}).suggestions == ("Ask the user",)


def test_the_authors_hint_is_a_hint() -> None:
    found = said(ErrorSeverity.RETRIABLE, metadata={"retry_after": 12})
    assert (found.retry_after_s, found.hint_source) == (12.0, "author")


def test_metadata_of_any_kind_becomes_json() -> None:
    found = said(ErrorSeverity.CRITICAL, metadata={"where": object(), "when": {1, 2}, "n": float("nan")})
    assert msgspec.json.decode(msgspec.json.encode(found), type=Classification) == found


@pytest.mark.parametrize("key", ["deep", 5])
def test_metadata_that_is_nested_too_deeply_becomes_text(key: Any) -> None:
    deep: dict[str, Any] = {}
    for _ in range(400):
        deep = {"a": deep}
    found = said(ErrorSeverity.CRITICAL, metadata={key: deep, "flat": {"b": [1]}})
    assert isinstance(found.metadata[str(key)], str)
    assert found.metadata["flat"] == {"b": [1]}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"user_message": 3}, "user_message must be a text, such as 'The file is not there'; got 3"),
        ({"user_message": ["x"]}, "user_message must be a text"),
        ({"metadata": [1]}, "metadata must be a mapping, such as "),
    ],
)
def test_a_judgement_of_the_wrong_kind_is_refused_where_it_is_made(given: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        ErrorClassification(ErrorSeverity.CRITICAL, **given)


def test_a_judgement_that_cannot_be_read_is_noted_and_left() -> None:
    changed = ErrorClassification(ErrorSeverity.CRITICAL)
    object.__setattr__(changed, "severity", 3)
    for broken in (object.__new__(ErrorClassification), changed):
        found = _author(broken)
        assert (found.cause, found.impact) == (Cause.TIMEOUT, Impact.NODE)
        assert "returned what cannot be read" in str(found.metadata["classify_error"])


def _author(answer: Any) -> Classification:
    def classify_error(exc: Exception, context: dict[str, Any]) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    exc = TimeoutError("slow")
    return ask_author(exc, {}, classify_error, classify(exc, origin=Origin.MODEL))


def test_an_author_who_says_nothing_changes_nothing() -> None:
    assert _author(None) == classify(TimeoutError("slow"), origin=Origin.MODEL)
    facts = classify(TimeoutError("slow"), origin=Origin.MODEL)
    assert ask_author(TimeoutError("slow"), {}, None, facts) is facts


def test_an_author_who_fails_does_not_hide_the_failure() -> None:
    found = _author(KeyError("oops"))
    assert (found.cause, found.impact) == (Cause.TIMEOUT, Impact.NODE)
    assert "KeyError" in str(found.metadata["classify_error"])
    assert "must return an ErrorClassification" in str(_author("critical").metadata["classify_error"])


def test_a_severity_may_be_given_by_its_value() -> None:
    given: Any = "retriable"
    assert ErrorClassification(severity=given).severity is ErrorSeverity.RETRIABLE


def test_an_unknown_severity_is_refused_with_the_nearest() -> None:
    given: Any = "retryable"
    with pytest.raises(ConfigurationError) as caught:
        ErrorClassification(severity=given)
    assert "retriable" in str(caught.value.suggestion)
