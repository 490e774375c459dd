"""Whether a model is asked about an incident, and which: by setting, keys and budget."""

from __future__ import annotations

import os

from orbiter.models.endpoints import ENDPOINTS
from runtime.judgement.recovery.budget import Budget
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import Cause, Impact

PREFERRED_MODELS = (("anthropic", "anthropic:claude-haiku-4-5"), ("openai", "openai:gpt-4.1-mini"))
"""Who is asked if the configuration names no model: the first whose key is there and that is not the one that failed.
Models that answer at once: one that reasons first spends the few tokens of an analysis on that.
"""

MAX_BUDGET_SHARE = 0.95
"""From which share of a run's limit of cost or tokens on no model is asked about it."""

_NO_FAILURES = frozenset({"needs-input", "permission-needed", "breakpoint"})
"""Rules of incidents where nothing failed."""

_REFUSED = frozenset({Cause.AUTH_FAILED, Cause.QUOTA_EXHAUSTED})
"""Causes that all models of a provider have in common, as they share its key."""


def analysis_models(configured: str, failing_provider: str) -> tuple[str, ...]:
    """Who could be asked, best first, the provider that failed last. `configured` is `auto` (all whose key is there),
    model strings with commas between them (these and no other), or `off`.
    """
    if configured == "off":
        return ()
    if configured in ("", "auto"):
        able = [
            model for name, model in PREFERRED_MODELS if any(os.environ.get(v) for v in ENDPOINTS[name].key_variables)
        ]
    else:
        able = [model.strip() for model in configured.split(",") if model.strip()]
    return tuple(sorted(able, key=lambda model: model.partition(":")[0] == failing_provider))


def refused_reason(model: str, opened: ev.IncidentOpened) -> str:
    """Why a model cannot answer: its provider has just refused the key, or the account, that it would be asked with.
    Empty where it can.
    """
    provider = model.partition(":")[0]
    has_account = provider in ENDPOINTS and bool(ENDPOINTS[provider].key_variables)
    if not (has_account and provider == opened.fault.provider and opened.fault.cause in _REFUSED):
        return ""
    refused = "the key" if opened.fault.cause is Cause.AUTH_FAILED else "a call for the account's quota"
    return f"{model} is not asked: {provider} refused {refused}"


def no_model_reason(configured: str) -> str:
    """Why no model is asked at all, and how to have one."""
    if configured == "off":
        return "off: [analysis] in orbiter.toml"
    keys = [variable for name, _ in PREFERRED_MODELS for variable in ENDPOINTS[name].key_variables[:1]]
    return f"no provider key: set {' or '.join(keys)} to have one asked"


def should_analyse(opened: ev.IncidentOpened) -> bool:
    """Whether a failure is behind it, also one that no operator may be asked about: not a question, a breakpoint or a
    request for a permission, where nothing failed, nor a fault of the process itself (seed 002's FATAL). What a fork
    copied was the origin's to be analysed.
    """
    return not opened.copied and opened.fault.impact is not Impact.PROCESS and opened.fault.rule_id not in _NO_FAILURES


def budget_reason(state: DurableRun, budget: Budget) -> str:
    """What says that a run has no money or tokens left for an analysis; empty where it has."""
    used = {
        "cost limit": ((state.cost_usd or 0.0), budget.max_total_cost_usd),
        "limit of tokens": (state.input_tokens + state.output_tokens, budget.max_total_tokens),
    }
    for name, (spent, allowed) in used.items():
        if allowed is not None and spent >= allowed * MAX_BUDGET_SHARE:
            share = f"{spent / allowed:.0%} of" if allowed else "all of"
            return f"this run has used {share} its {name}"
    return ""
