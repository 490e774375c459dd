"""The fault policy: from a step's exception to a classification and a decision."""

from __future__ import annotations

import logging
import random
from typing import Any

from orbiter._internal.user_code import text_with_timeout
from orbiter.ask import NeedsInput
from orbiter.errors import ToolError
from runtime.execution.step_context import StepContext
from runtime.judgement.faults.classify import classify
from runtime.judgement.faults.severity import ask_author
from runtime.judgement.recovery.retry import RetryDecision, RetryPolicy, decide_retry
from runtime.judgement.reports import fault_log
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Origin,
    Persistence,
    Remedy,
)

log = logging.getLogger("runtime.faults")

ORIGINS = {"llm": Origin.MODEL, "tool": Origin.TOOL, "value": Origin.AGENT}


def classify_failure(c: StepContext, exc: Exception, changes: dict[str, Any]) -> Classification:
    """The facts of a step's failure: found by rules, then as its author and the configuration see it."""
    if isinstance(exc, NeedsInput):
        return Classification(
            origin=Origin.HUMAN,
            cause=Cause.MISSING_INPUT,
            persistence=Persistence.NEEDS_CHANGE,
            effect=Effect.NOT_ATTEMPTED,
            user_message=str(exc),
            rule_id="needs-input",
        )
    config = c.session.config.errors
    facts = classify(
        exc,
        origin=ORIGINS[c.step.kind],
        provider=c.model_name(changes).partition(":")[0],
        effect=Effect.NONE if c.repeatable else Effect.UNKNOWN,
        node_path=[node.name for node in c.session.state.lineage(c.node_id)],
        rules=config.rules,
    )
    if not config.use_error_classification:
        return facts
    own = _author_error(exc)
    return config.reclassify(ask_author(own, _author_context(c, changes), c.step.traits.classify_error, facts), own)


def _author_error(exc: Exception) -> Exception:
    """What the author's code raised, out of what a tool's frame made of it."""
    cause = exc.__cause__
    return cause if isinstance(exc, ToolError) and isinstance(cause, Exception) else exc


def _author_context(c: StepContext, changes: dict[str, Any]) -> dict[str, Any]:
    """What an author's `classify_error` gets to know of the failure."""
    lineage = c.session.state.lineage(c.node_id)
    tasks = [str(node.info["task"]) for node in lineage if node.info.get("task")]
    return {
        "run_id": c.session.state.id,
        "node_id": c.node_id,
        "agent": c.step.agent,
        "task": tasks[-1] if tasks else c.session.state.input,
        "attempt": c.node.attempts if c.node is not None else 1,
        **c.action_text(changes),
    }


def retry_decision(c: StepContext, fault: Classification) -> RetryDecision:
    """What is done about a fault after this attempt."""
    rounds = c.node.round if c.node is not None else 1
    return decide_retry(fault, attempt=max(1, rounds), policy=retry_policy_of(c, fault), rng=random.Random())


def retry_policy_of(c: StepContext, fault: Classification) -> RetryPolicy:
    """The author's `get_retry_policy()` over the configured policy. One that cannot be used is said, once, and left."""
    usual = c.session.config.policy_for(fault)
    if c.step.traits.retry_policy is None:
        return usual
    try:
        return RetryPolicy.from_mapping(c.step.traits.retry_policy(), usual)
    except BaseException as exc:  # user code: whatever it raises, the usual policy holds
        c.scope.warn(
            f"get_retry_policy() of {c.step.name} cannot be used: {type(exc).__name__}: {text_with_timeout(exc)}"
        )
        return usual


_GRAVE_SEVERITIES = frozenset({"author.critical", "author.fatal", "config.critical"})


def demands_operator(c: StepContext, fault: Classification, decision: RetryDecision) -> bool:
    """Whether the author or the configuration wants a person, or the end: no other model, no word to the model."""
    if fault.rule_id in _GRAVE_SEVERITIES:
        return True
    said = fault.rule_id.startswith(("author.", "config."))
    return said and c.step.kind == "tool" and decision.remedy in (Remedy.ASK_HUMAN, Remedy.STOP)


def target_name(c: StepContext, changes: dict[str, Any]) -> str:
    """The model without its provider, or the tool."""
    model = c.model_name(changes)
    return model.partition(":")[2] or model or c.step.name


def log_retry(c: StepContext, fault: Classification, decision: RetryDecision, changes: dict[str, Any]) -> None:
    """``Server error 503 from MODEL. Retry 1/3 after 1.0s``, as a warning (seed 003)."""
    _write_log_line(fault_log.retry_line(fault, target_name(c, changes), decision))


def log_success(c: StepContext) -> None:
    """``Request successful after 2 retries``."""
    _write_log_line(fault_log.success_line(c.node.round - 1 if c.node is not None else 0))


def log_unresolved(fault: Classification) -> None:
    """A fault that was not healed, at the level that seed 003 asks for."""
    _write_log_line(fault_log.fault_line(fault))


def _write_log_line(line: fault_log.LogLine | None) -> None:
    if line is not None:
        log.log(line.level, "%s", line.text)
