"""The fault policy: from a step's exception to a classification and a decision."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from orbiter.ask import NeedsInput
from orbiter.errors import PoolExhaustedError, ToolError
from orbiter.steps import Step
from runtime.execution.secret_vault import VAULT
from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.faults.classify import classify
from runtime.judgement.faults.recorded_fault import recorded_fault
from runtime.judgement.faults.severity import PROBLEM, ask_author, is_judged
from runtime.judgement.recovery.retry import RetryDecision
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

ORIGINS = {
    "swarm": Origin.SWARM,
    "group": Origin.SWARM,
    "agent": Origin.AGENT,
    "tool": Origin.TOOL,
    "llm": Origin.MODEL,
    "value": Origin.AGENT,
}
"""What has failed, by the kind of its node or step."""


def classify_failure(
    exc: Exception,
    step: Step[Any, Any],
    path: Iterable[str],
    config: FaultHandling,
    context: Mapping[str, Any],
    *,
    warn: Callable[[str], None],
) -> Classification:
    """The facts of a step's failure: found by rules, then as its author and the configuration see it.

    Args:
        exc: What the step's call raised.
        step: The step.
        path: Names of the nodes from the run's root down to the step.
        config: How faults are judged.
        context: What an author's `classify_error` gets to know; its `model`, if there is one, names the provider.
        warn: Takes a sentence about a `classify_error` that cannot be used.
    """
    if isinstance(exc, NeedsInput):
        return Classification(
            origin=Origin.HUMAN,
            cause=Cause.MISSING_INPUT,
            persistence=Persistence.NEEDS_CHANGE,
            effect=Effect.NOT_ATTEMPTED,
            user_message=str(exc),
            rule_id="needs-input",
        )
    facts = recorded_fault(exc) or classify(
        exc,
        origin=ORIGINS[step.kind],
        provider=str(context.get("model", "")).partition(":")[0],
        effect=_effect_stated(exc, step),
        node_path=list(path),
        rules=config.rules,
        secrets=VAULT.known_values(),
    )
    if not config.use_error_classification:
        return facts
    own = _author_error(exc)
    judged = ask_author(own, dict(context), step.traits.classify_error, facts)
    if not is_judged(judged, facts):
        judged = ask_author(own, dict(context), step.traits.classify_around, judged)
        # That a call had no effect is for its tool's own author to say (DESIGN section 5): one whose last request was
        # refused may have done something before.
        said = facts.effect is Effect.NOT_ATTEMPTED and judged.proposal is Remedy.RETRY
        judged = replace(judged, effect=_effect_stated(exc, step) if said else facts.effect)
    if (problem := judged.metadata.get(PROBLEM)) is not None and PROBLEM not in facts.metadata:
        warn(f"classify_error of {step.name} cannot be used: it {problem}")
    return config.reclassify(judged, own)


def _effect_stated(exc: Exception, step: Step[Any, Any]) -> Effect:
    """What the call may have done. Not the class of an error proves that a tool was not called, which its own code may
    raise, nor its name, which a tool inside it may have, but that our pool had no thread to call this one in.
    """
    if step.kind != "tool" or step.traits.idempotent:
        return Effect.NONE
    tool = getattr(step.arguments, "tool", None)
    refused = exc.__cause__.refused if isinstance(exc.__cause__, PoolExhaustedError) else None
    return Effect.UNKNOWN if refused is None or refused is not tool else Effect.NOT_ATTEMPTED


def _author_error(exc: Exception) -> Exception:
    """What the author's code raised, out of what a tool's frame made of it."""
    cause = exc.__cause__
    return cause if isinstance(exc, ToolError) and isinstance(cause, Exception) else exc


_GRAVE_SEVERITIES = frozenset({"author.critical", "author.fatal", "config.critical"})


def demands_operator(fault: Classification, step: Step[Any, Any], decision: RetryDecision) -> bool:
    """Whether the author or the configuration wants a person, or the end: no other model, no word to the model."""
    if fault.rule_id in _GRAVE_SEVERITIES:
        return True
    said = fault.rule_id.startswith(("author.", "config."))
    spent = decision.remedy is Remedy.FEED_BACK and is_kept_from_model(fault, step)
    return said and step.kind == "tool" and (spent or decision.remedy in (Remedy.ASK_HUMAN, Remedy.STOP))


def is_kept_from_model(fault: Classification, step: Step[Any, Any]) -> bool:
    """Whether the author let the call be tried again: in vain, it is told to the model only where a policy says so."""
    return fault.rule_id == "author.retriable" and step.traits.failure not in ("continue", "degrade")


def log_retry(fault: Classification, target: str, decision: RetryDecision) -> None:
    """``Server error 503 from MODEL. Retry 1/3 after 1.0s``, as a warning (seed 003)."""
    _write_log_line(fault_log.retry_line(fault, target, decision))


def log_success(retries: int) -> None:
    """``Request successful after 2 retries``."""
    _write_log_line(fault_log.success_line(retries))


def log_unresolved(fault: Classification) -> None:
    """A fault that was not healed, at the level that seed 003 asks for."""
    _write_log_line(fault_log.fault_line(fault))


def _write_log_line(line: fault_log.LogLine | None) -> None:
    if line is not None:
        log.log(line.level, "%s", line.text)
