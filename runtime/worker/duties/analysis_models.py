"""Whether a model is asked about an incident, and which: by setting, keys and budget."""

from __future__ import annotations

import os
import re
from http.client import UNAUTHORIZED

from orbiter.models.endpoints import ENDPOINTS
from runtime.judgement.recovery.budget import Budget
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import Cause, Classification, Impact, Origin

PREFERRED_MODELS = (("anthropic", "anthropic:claude-haiku-4-5"), ("openai", "openai:gpt-4.1-mini"))
"""Who is asked if the configuration names no model: the first whose key is there and that is not the one that failed.
Models that answer at once: one that reasons first spends the few tokens of an analysis on that.
"""

MAX_BUDGET_SHARE = 0.95
"""From which share of a run's limit of cost or tokens on no model is asked about it."""

_NO_FAILURES = frozenset({"needs-input", "permission-needed", "breakpoint"})
"""Rules of incidents where nothing failed."""

_ACCOUNT_RULES = frozenset({"code.quota", "words.payment-required", "words.spend", "google.credits"})
"""Rules of quotas that are an account's; others are a day's, or one plan's."""
_NARROWER = re.compile(r"(?i)model|free|daily|monthly|per[ _-]?(?:day|month)|afford")
"""Words of a quota of one model, of calls without a price, of a period, or of a call that was too large."""


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
    """Why a model cannot answer: its provider has just refused the key, or the account, that it would be asked with,
    or no key is set. Empty where it can. What a tool was refused says nothing: its key may be its own.
    """
    provider, fault = model.partition(":")[0], opened.fault
    has_account = provider in ENDPOINTS and bool(ENDPOINTS[provider].key_variables)
    if not (has_account and provider == fault.provider and fault.origin is Origin.MODEL):
        return ""
    if fault.code == "missing_api_key":
        return f"{model} is not asked: no key is set for {provider}"
    if fault.cause is Cause.AUTH_FAILED and fault.http_status == UNAUTHORIZED:
        return f"{model} is not asked: {provider} refused the key"
    if fault.cause is Cause.QUOTA_EXHAUSTED and _is_of_account(fault):
        return f"{model} is not asked: {provider} refused a call for the account's quota"
    return ""


def _is_of_account(fault: Classification) -> bool:
    """Whether a quota that is used up is the account's, whatever model is asked."""
    return fault.rule_id in _ACCOUNT_RULES and _NARROWER.search(f"{fault.code} {fault.technical}") is None


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
