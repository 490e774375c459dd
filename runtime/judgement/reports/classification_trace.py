"""The trace of a classification, for `orbiter-console classify`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from runtime.judgement.faults.classify import classify_record
from runtime.judgement.faults.rules.rule import Rule
from runtime.judgement.recovery.option_spec import FaultSite
from runtime.judgement.recovery.options import options_for
from runtime.judgement.recovery.retry import RetryPolicy, decide_retry
from runtime.record.state.fault_taxonomy import Classification, Origin

_SITE_BY_ORIGIN: dict[Origin, FaultSite] = {
    Origin.MODEL: "llm",
    Origin.PARSER: "agent",
    Origin.TOOL: "tool",
    Origin.SWARM: "swarm",
    Origin.GRAPH: "swarm",
    Origin.REGISTRY: "run",
    Origin.CONSOLE: "run",
}


def trace_classification(
    record: Mapping[str, Any],
    *,
    now: float | None = None,
    rules: Sequence[Rule] = (),
    policy: RetryPolicy | Callable[[Classification], RetryPolicy] | None = None,
    idempotent: bool = False,
) -> dict[str, Any]:
    """What the facts of an error are and what would be done after its first attempt, as JSON.

    Args:
        record: An error as for `classify_record`.
        now: Epoch seconds at the failure; None: this moment.
        rules: An operator's rules.
        policy: The retry policy, or what gives one for a fault (`FaultHandling.policy_for`); the default one if
            not given.
        idempotent: Whether the failed call may be repeated whatever it did.

    Returns:
        `cause, origin, persistence, impact, retry_after_s, remedy, options` (ids, most useful first), `rule_id`, then
        what else is known: `effect, severity, delay_s, reason, provider, http_status, code, hint_source,
        user_message, technical, suggestions, default_option`.
    """
    facts = classify_record(record, now=now, rules=rules)
    # Jitter would make the same question get different answers.
    steady = replace(policy(facts) if callable(policy) else policy or RetryPolicy(), jitter=0.0)
    decision = decide_retry(facts, attempt=1, policy=steady, rng=random.Random(0), idempotent=idempotent)
    options, default = options_for(facts, place_of_fault(facts))
    return {
        "cause": facts.cause.value,
        "origin": facts.origin.value,
        "persistence": facts.persistence.value,
        "impact": facts.impact.value,
        "retry_after_s": facts.retry_after_s,
        "remedy": decision.remedy.value,
        "options": [option.id for option in options],
        "rule_id": facts.rule_id,
        "effect": facts.effect.value,
        "severity": facts.severity.value,
        "limit": facts.limit.value if facts.limit else None,
        "exhausted": facts.exhausted,
        "delay_s": decision.delay_s,
        "reason": decision.reason,
        "provider": facts.provider,
        "http_status": facts.http_status,
        "code": facts.code,
        "hint_source": facts.hint_source,
        "user_message": facts.user_message,
        "technical": facts.technical,
        "suggestions": list(facts.suggestions),
        "default_option": default,
    }


def place_of_fault(facts: Classification) -> FaultSite:
    """The kind of place whose options fit a fault of which only the classification is known."""
    return _SITE_BY_ORIGIN.get(facts.origin, "agent")
