"""Seed 003: options by cause, and suggestions that can be followed with them (ids: issue 16, number 3)."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from runtime.judgement.faults.cause_text import CAUSE_ADVICE, PERSISTENCE_TEXT
from runtime.judgement.faults.rules.builtin import builtin_rules
from runtime.judgement.faults.suggestions import fitting_suggestions
from runtime.judgement.recovery.option_spec import FaultSite
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.recovery.options import options_for, retry_can_work
from runtime.record.state.fault_taxonomy import Cause, Classification, Effect, Origin, Persistence

SITES: tuple[FaultSite, ...] = get_args(FaultSite)
FOLLOWED_BY = {
    "wait and retry": {"wait_retry", "retry"},
    "retry": {"retry", "wait_retry"},
    "another model": {"switch_model"},
    "a model with": {"switch_model"},
    "grant": {"grant"},
    "extend": {"extend"},
    "provide": {"input"},
    "abort": {"abort"},
    "tell the agent": {"deny", "input"},
    "reset": {"reset"},
    "skip": {"skip"},
}
"""Words of a suggestion, and the options of which one lets an operator follow it."""


def fault(cause: Cause, *, recoverable: bool | None = None, effect: Effect = Effect.NONE) -> Classification:
    ruled = [text for rule in builtin_rules() if rule.cause is cause for text in rule.suggestions]
    return Classification(
        origin=Origin.TOOL,
        cause=cause,
        persistence=Persistence.PERMANENT if recoverable is False else PERSISTENCE_TEXT[cause],
        effect=effect,
        recoverable=recoverable,
        suggestions=(*ruled, *CAUSE_ADVICE.get(cause, ())),
    )


@pytest.mark.parametrize("cause", Cause)
def test_3_no_suggestion_names_an_option_that_is_not_offered(cause: Cause) -> None:
    wrong = []
    for where in SITES:
        for recoverable in (None, True, False):
            for effect in (Effect.NONE, Effect.UNKNOWN):
                found = fault(cause, recoverable=recoverable, effect=effect)
                offered, _ = options_for(found, where)
                ids = {each.id for each in offered}
                for text in fitting_suggestions(found.suggestions, offered):
                    for words, options in FOLLOWED_BY.items():
                        if re.search(rf"\b{words}\b", text, re.IGNORECASE) and not options & ids:
                            wrong.append((where, recoverable, text, sorted(ids)))
    assert not wrong


@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize("where", SITES)
def test_3_recoverable_false_takes_every_repetition_of_the_same_away(where: FaultSite, cause: Cause) -> None:
    found = fault(cause, recoverable=False)
    ids = {each.id for each in options_for(found, where)[0]}
    assert not retry_can_work(found, where)
    if cause not in (Cause.LOOP_DETECTED, Cause.CIRCUIT_OPEN):  # told what to do otherwise; the breaker waits
        assert not ids & {"retry", "wait_retry"}


@pytest.mark.parametrize(
    ("where", "cause", "option", "label"),
    [
        ("tool", Cause.ARGS_INVALID, "edit", "Provide corrected input"),
        ("agent", Cause.ARGS_INVALID, "input", "Provide corrected input"),
        ("group", Cause.ARGS_INVALID, "input", "Provide corrected input"),
        ("swarm", Cause.ARGS_INVALID, "input", "Provide corrected input"),
        ("llm", Cause.RATE_LIMITED, "wait_retry", "Wait and retry"),
        ("agent", Cause.RATE_LIMITED, "wait_retry", "Wait and retry"),
        ("tool", Cause.RATE_LIMITED, "wait_retry", "Wait and retry"),
        ("tool", Cause.TIMEOUT, "retry", "Retry operation"),
        ("agent", Cause.TIMEOUT, "retry", "Retry operation"),
        *((where, cause, "abort", "Abort execution") for where in SITES for cause in (Cause.UNKNOWN, Cause.TIMEOUT)),
    ],
)
def test_3_the_seeds_labels_by_cause(where: FaultSite, cause: Cause, option: str, label: str) -> None:
    offered = {each.id: each.label for each in options_for(fault(cause), where)[0]}
    assert offered[option] == label


@pytest.mark.parametrize("recoverable", [None, True])
@pytest.mark.parametrize("cause", [Cause.TIMEOUT, Cause.TOOL_FAILED, Cause.NETWORK])
def test_3_what_may_have_happened_keeps_the_seeds_label_with_a_hint_to_look(
    cause: Cause, recoverable: bool | None
) -> None:
    found = fault(cause, recoverable=recoverable, effect=Effect.UNKNOWN)
    offered = {each.id: each for each in options_for(found, "tool")[0]}
    assert offered["retry"].label == "Retry operation"
    assert offered["retry"].hint == "only if you checked that it did NOT happen; it runs again"


@pytest.mark.parametrize("where", SITES)
def test_3_a_permission_that_is_named_offers_grant_first(where: FaultSite) -> None:
    offered, safe = options_for(fault(Cause.PERMISSION_DENIED), where, need="ledger:close 2026")
    assert (offered[0].id, offered[0].label, safe) == ("grant", "Grant permission", "deny")
    assert OPTIONS["grant"].label == "Grant permission"
