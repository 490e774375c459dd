"""Which answers an incident offers: exactly those that can work, with the seeds' labels where they have one.

Pure: from a classification and the kind of place it happened at, to options and the safe one among them. Screens and
the command line show what stands here and nothing else.
"""

from __future__ import annotations

from typing import Literal

from runtime.record.events import Option
from runtime.record.taxonomy import Cause, Classification, Origin, Persistence

Where = Literal["llm", "tool", "value", "agent", "group", "swarm", "run"]

LABELS: dict[str, str] = {
    "retry": "Retry operation",
    "wait_retry": "Wait and retry",
    "switch_model": "Retry with another model",
    "edit": "Edit the arguments and retry",
    "input": "Provide corrected input",
    "grant": "Grant permission",
    "deny": "Deny, with a word to the agent",
    "result": "Provide the result by hand",
    "skip": "Skip",
    "accept": "Accept what is there",
    "extend": "Extend the budget",
    "reset": "Reset the breaker",
    "acknowledge": "Acknowledge",
    "abort": "Abort execution",
}
"""Option ids (DESIGN section 6) and their labels (seeds 002 and 003 where they have one)."""

_NEEDS: dict[str, Literal["", "text", "arguments", "model", "seconds", "amount"]] = {
    "switch_model": "model",
    "edit": "arguments",
    "input": "text",
    "result": "text",
    "extend": "amount",
}

OPTIONAL_TEXT = frozenset({"deny", "skip", "abort"})
"""Options that take a text but do not need one: a word to the agent, a stand-in value, a reason."""

_CANNOT_HEAL = frozenset({Cause.MODEL_UNKNOWN, Cause.CONTEXT_OVERFLOW, Cause.PAYLOAD_TOO_LARGE, Cause.CONFIG_INVALID})
"""Causes that the same call meets again however often it is made."""

_AT_MODEL: dict[Cause, tuple[str, ...]] = {
    Cause.RATE_LIMITED: ("wait_retry", "retry", "switch_model"),
    Cause.QUOTA_EXHAUSTED: ("retry", "switch_model"),
    Cause.AUTH_FAILED: ("retry", "switch_model"),
    Cause.PERMISSION_DENIED: ("retry", "switch_model"),
    Cause.MODEL_UNKNOWN: ("switch_model",),
    Cause.CONTEXT_OVERFLOW: ("switch_model",),
    Cause.PAYLOAD_TOO_LARGE: ("switch_model",),
    Cause.CIRCUIT_OPEN: ("wait_retry", "reset", "switch_model"),
    Cause.REFUSED: ("retry", "switch_model"),
}


def option(option_id: str, *, hint: str = "", label: str = "") -> Option:
    """The option as it is shown. Raises `KeyError` for an id that is none of ours."""
    return Option(
        id=option_id,
        label=label or LABELS[option_id],
        needs=_NEEDS.get(option_id, ""),
        hint=hint,
        standing=option_id == "grant",
    )


def retry_can_work(fault: Classification) -> bool:
    """Whether doing the same again may succeed, perhaps after somebody mended something outside."""
    return fault.cause not in _CANNOT_HEAL and fault.persistence is not Persistence.PERMANENT


def options_for(
    fault: Classification, where: Where = "llm", *, in_doubt: bool = False, need: str = "", question: bool = False
) -> tuple[tuple[Option, ...], str]:
    """The options of an incident, most useful first, and the id of its safe default.

    `in_doubt`: the effect of an earlier attempt is unknown. `need`: a permission that nobody granted.
    `question`: a person's input is what is missing.
    """
    if need:
        return (option("grant", hint=need), option("deny"), _skip(where), option("abort")), "deny"
    if fault.rule_id == "breakpoint":
        more = [option("edit"), option("result")] if where == "tool" else []
        return (option("retry", label="Go on"), *more, _skip(where), option("abort")), "abort"
    if question or fault.cause is Cause.MISSING_INPUT:
        return (option("input"), _skip(where), option("abort")), "abort"
    if in_doubt:
        verified = option("retry", label="Verified: retry operation", hint="only after checking that it did not happen")
        return (option("result"), verified, _skip(where), option("abort")), "abort"
    return tuple(_by_cause(fault, where)), "abort"


def _by_cause(fault: Classification, where: Where) -> list[Option]:
    ids: list[str] = []
    if fault.cause is Cause.LOOP_DETECTED:
        ids = ["input", "retry"]
    elif fault.cause is Cause.LIMIT_REACHED:
        ids = ["extend", "accept"]
    elif fault.cause is Cause.DEPENDENCY_FAILED:
        ids = ["retry", "accept"] if where == "group" else ["retry"]
    elif where == "llm" or fault.origin is Origin.MODEL:
        ids = list(_AT_MODEL.get(fault.cause, ("retry", "switch_model")))
        if fault.retry_after_s and "wait_retry" not in ids:
            ids.insert(0, "wait_retry")
    elif where == "tool":
        ids = ["retry", "edit", "result"]
    elif fault.cause in (Cause.OUTPUT_INVALID, Cause.ARGS_INVALID):
        ids = ["input", "retry"]
    else:
        ids = ["retry"]
    if not retry_can_work(fault) and fault.cause is not Cause.LOOP_DETECTED:
        ids = [found for found in ids if found not in ("retry", "wait_retry")]
    if where == "llm" and "result" not in ids:
        ids.append("result")
    found = [option(found) for found in ids]
    if where not in ("swarm", "run"):
        found.append(_skip(where))
    return [*found, option("abort")]


def _skip(where: Where) -> Option:
    what = {"llm": "Skip this agent", "agent": "Skip this agent", "group": "Skip this group"}
    return option(
        "skip", label=what.get(where, "Skip this call"), hint="those after it get an empty value, or the one you give"
    )


def why_no_retry(fault: Classification) -> str:
    """A sentence for the report where `retry` is not offered; empty where it is."""
    if fault.cause is Cause.MODEL_UNKNOWN:
        return "Retrying cannot help: the provider does not know this model."
    if fault.cause in (Cause.CONTEXT_OVERFLOW, Cause.PAYLOAD_TOO_LARGE):
        return "Retrying cannot help: the same request is as long the next time."
    if fault.cause is Cause.CONFIG_INVALID:
        return "Retrying cannot help before the configuration is changed."
    if fault.persistence is Persistence.PERMANENT:
        return "Retrying cannot help: the same call fails the same way."
    return ""
