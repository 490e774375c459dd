"""Suggestions that fit what an incident offers: a sentence of ours never names an option that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from runtime.judgement.faults.cause_text import CAUSE_ADVICE
from runtime.judgement.faults.rules.builtin import builtin_rules
from runtime.record.state.events import Option

_NAMED_OPTIONS: Final[tuple[tuple[str, frozenset[str]], ...]] = (
    (r"\b(?:switch to|to) (?:another|a) model\b", frozenset({"switch_model"})),
    (r"\bretry\b|\bwait until the breaker\b", frozenset({"wait_retry", "retry"})),
    (r"\bgrant\b", frozenset({"grant"})),
    (r"\bextend\b", frozenset({"extend"})),
    (r"^provide\b", frozenset({"input"})),
    (r"^abort\b", frozenset({"abort"})),
    (r"\bskip\b", frozenset({"skip"})),
    (r"\breset it\b", frozenset({"reset"})),
    (r"\btell the agent\b", frozenset({"deny", "input"})),
    (r"^correct the arguments\b", frozenset({"edit", "input", "retry"})),
)
"""Words of our advice, and the options of which one lets an operator follow it."""
_CLAUSE: Final = re.compile(r"(; |, or |, then )")


def fitting_suggestions(suggestions: Iterable[str], offered: Iterable[Option]) -> tuple[str, ...]:
    """Suggestions without those that name an option which is not offered; where only their end does, without that end.
    Only sentences of ours are judged: what an author suggests stays as it is.
    """
    ids = frozenset(each.id for each in offered)
    kept = (_fitting(text, ids) if text in _own_advice() else text for text in suggestions)
    return tuple(dict.fromkeys(text for text in kept if text))


@cache
def _own_advice() -> frozenset[str]:
    ruled = (text for rule in builtin_rules() for text in rule.suggestions)
    return frozenset([*ruled, *(text for texts in CAUSE_ADVICE.values() for text in texts)])


def _fitting(text: str, ids: frozenset[str]) -> str:
    """The clauses of a sentence up to the first that cannot be followed."""
    parts = _CLAUSE.split(text)
    for at in range(0, len(parts), 2):
        named = [options for words, options in _NAMED_OPTIONS if re.search(words, parts[at], re.IGNORECASE)]
        if not all(options & ids for options in named):
            return "".join(parts[: max(0, at - 1)])
    return text
