"""Which of the codes that were read in words count as the provider's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec.structs import replace

from runtime.judgement.faults.evidence import Evidence, plain_code
from runtime.judgement.faults.rules.builtin import builtin_rules
from runtime.judgement.faults.rules.rule import Rule


def with_known_codes(found: Evidence, rules: Sequence[Rule]) -> Evidence:
    """`found` with a code from its words as its own, where a rule knows one: any other may be no code at all.

    Args:
        found: What the failure says.
        rules: An operator's rules, which count beside the built-in ones.
    """
    if not found.said_codes:
        return found
    asked = _codes_of(rules) | _builtin_codes()
    known = [code for code in found.said_codes if plain_code(code) in asked]
    return replace(found, code=found.code or known[0][:200], from_api=True) if known else found


@lru_cache(maxsize=1)
def _builtin_codes() -> frozenset[str]:
    return _codes_of(builtin_rules())


def _codes_of(rules: Iterable[Rule]) -> frozenset[str]:
    return frozenset(plain_code(code) for rule in rules for code in rule.code if not code.startswith("*"))
