"""The rules that come with the program, as one table in order of trust."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.judgement.faults.rules.rule import Rule


@lru_cache(maxsize=1)
def builtin_rules() -> tuple[Rule, ...]:
    """The table. It is loaded when the first failure is judged."""
    from runtime.judgement.faults.rules.codes import CODE_RULES, GENERIC_CODE_RULES, STATUS_RULES
    from runtime.judgement.faults.rules.exception_types import EXCEPTION_RULES, OS_ERROR_RULES
    from runtime.judgement.faults.rules.framework import FRAMEWORK_RULES
    from runtime.judgement.faults.rules.message_text import TEXT_RULES

    return (
        *FRAMEWORK_RULES,
        *EXCEPTION_RULES,
        *CODE_RULES,
        *TEXT_RULES,
        *GENERIC_CODE_RULES,
        *STATUS_RULES,
        *OS_ERROR_RULES,
    )
