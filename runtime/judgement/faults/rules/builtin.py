"""The rules that come with the program, as one table in order of trust."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from runtime.judgement.faults.rules.patterns import read_packaged
from runtime.judgement.faults.rules.rule import Rule, parse_rules

FILES: Final = (
    "framework.toml",
    "guests.toml",
    "exception_types.toml",
    "databases.toml",
    "codes.toml",
    "numeric_codes.toml",
    "message_text.toml",
    "generic_codes.toml",
    "status.toml",
    "builtin_exceptions.toml",
)
"""In the order in which their rules are tried."""


@lru_cache(maxsize=1)
def builtin_rules() -> tuple[Rule, ...]:
    """The table. It is read when the first failure is judged."""
    return tuple(
        rule for name in FILES for rule in parse_rules(read_packaged(name)["rules"], name, compile_patterns=False)
    )
