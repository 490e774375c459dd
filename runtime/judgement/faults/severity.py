"""Severity: an author's judgement of a failure (seed 002) put over the classification."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from orbiter._internal.user_code import text_with_timeout
from orbiter.severity import ErrorClassification, ErrorSeverity
from runtime.judgement.faults.fault_words import plain_json, redact_words
from runtime.judgement.faults.wait_time import parse_moment
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
    Remedy,
)

_INPUT_CAUSES = frozenset({Cause.MISSING_INPUT, Cause.ARGS_INVALID, Cause.NOT_FOUND})


PROBLEM: Final = "classify_error"
"""The entry of a fault's metadata that says why its author's function could not be used."""


def is_judged(judged: Classification, facts: Classification) -> bool:
    """Whether an author's function said something of these facts: neither None, nor what cannot be used."""
    return judged is not facts and (PROBLEM not in judged.metadata or PROBLEM in facts.metadata)


def ask_author(
    exc: Exception,
    context: dict[str, Any],
    classify_error: Callable[[Exception, dict[str, Any]], Any] | None,
    facts: Classification,
) -> Classification:
    """`facts`, with what the author's `classify_error(exc, context)` says put over them. Never raises.

    An author's function that raises, or returns something else than an `ErrorClassification` or None, changes
    nothing; what was wrong with it stands in `metadata[PROBLEM]`, so that its author can see it.
    """
    if classify_error is None:
        return facts
    try:
        said = classify_error(exc, context)
    except BaseException as problem:  # user code: whatever it raises, the failure is judged without it
        return _with_problem_noted(facts, f"raised {type(problem).__name__}: {text_with_timeout(problem)}")
    if said is None:
        return facts
    if not isinstance(said, ErrorClassification):
        return _with_problem_noted(
            facts, f"returned {type(said).__name__}; it must return an ErrorClassification or None"
        )
    try:
        return apply_severity(facts, said)
    except Exception as problem:  # one that was made, or changed, past its constructor
        return _with_problem_noted(facts, f"returned what cannot be read: {type(problem).__name__}: {problem}")


def apply_severity(facts: Classification, said: ErrorClassification) -> Classification:
    """What the author says, in our terms (DESIGN section 5; severities are mostly remedies)."""
    metadata = plain_json(said.metadata or {})
    changes: dict[str, Any] = dict(_BY_SEVERITY[said.severity](facts))
    changes["metadata"] = {**facts.metadata, **metadata}
    changes["rule_id"] = f"author.{said.severity.value}"
    if said.user_message:
        changes |= {"user_message": redact_words(said.user_message), "rule_message": facts.user_message}
    if isinstance(metadata.get("technical_details"), str) and metadata["technical_details"]:
        changes["technical"] = redact_words(metadata["technical_details"])
    if (suggestions := _suggestions(metadata.get("suggestions"))) or said.severity is ErrorSeverity.FATAL:
        changes["suggestions"] = suggestions
    if isinstance(metadata.get("error_code"), str):
        changes["code"] = metadata["error_code"]
    if (hint := metadata.get("retry_after")) is not None and not isinstance(hint, bool | dict | list):
        seconds = parse_moment(str(hint), 0.0)
        if seconds:
            changes |= {"retry_after_s": seconds, "hint_source": "author"}
    return replace(facts, **changes)


def _retriable(facts: Classification) -> dict[str, Any]:
    # Its author says that the call may be made again: this failure had no effect (DESIGN section 5).
    effect = Effect.NONE if facts.effect is Effect.UNKNOWN else facts.effect
    return {"persistence": Persistence.TRANSIENT, "effect": effect, "proposal": Remedy.RETRY}


def _replanning(facts: Classification) -> dict[str, Any]:
    return {
        "origin": Origin.AGENT,
        "cause": facts.cause if facts.cause in _INPUT_CAUSES else Cause.MISSING_INPUT,
        "persistence": Persistence.NEEDS_CHANGE,
        "impact": Impact.NODE,
        "proposal": Remedy.REPLAN,
    }


def _reclassification(facts: Classification) -> dict[str, Any]:
    return {
        "origin": Origin.AGENT,
        "cause": Cause.WRONG_TARGET,
        "persistence": Persistence.NEEDS_CHANGE,
        "impact": Impact.NODE,
        "proposal": Remedy.REROUTE,
    }


def _critical(facts: Classification) -> dict[str, Any]:
    mendable = facts.persistence is Persistence.NEEDS_CHANGE
    return {
        "persistence": Persistence.NEEDS_CHANGE if mendable else Persistence.PERMANENT,
        "impact": Impact.RUN,
        "proposal": Remedy.ASK_HUMAN if mendable else Remedy.STOP,
    }


def _fatal(facts: Classification) -> dict[str, Any]:
    return {
        "origin": facts.origin if facts.origin is Origin.CONSOLE else Origin.RUNNER,
        "cause": Cause.INTERNAL,
        "persistence": Persistence.PERMANENT,
        "impact": Impact.PROCESS,
        "proposal": Remedy.STOP,
    }


_BY_SEVERITY: dict[ErrorSeverity, Callable[[Classification], dict[str, Any]]] = {
    ErrorSeverity.RETRIABLE: _retriable,
    ErrorSeverity.REPLANNING: _replanning,
    ErrorSeverity.RECLASSIFICATION: _reclassification,
    ErrorSeverity.CRITICAL: _critical,
    ErrorSeverity.FATAL: _fatal,
}


def _suggestions(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (redact_words(value),) if value else ()
    return tuple(redact_words(str(v)) for v in value) if isinstance(value, list) else ()


def _with_problem_noted(facts: Classification, problem: str) -> Classification:
    return replace(facts, metadata={**facts.metadata, PROBLEM: redact_words(problem)[:500]})
