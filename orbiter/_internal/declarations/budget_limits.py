"""The limits that a budget may have (seed 004): their names, and which values each takes."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, NamedTuple

from orbiter.errors import ConfigurationError
from orbiter.parsing.near_names import did_you_mean


class BudgetLimit(NamedTuple):
    """Which values a limit takes: from `least` on, or above it; whole numbers only, or any.

    Attributes:
        least: The least value.
        whole: Whether it must be a whole number.
        above: Whether it must be above `least`.
    """

    least: int = 0
    whole: bool = True
    above: bool = False

    @property
    def words(self) -> str:
        """The values in words, as an error says them."""
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} above {self.least}" if self.above else f"{kind} of {self.least} or more"

    def takes(self, value: object) -> bool:
        """Whether the limit may have this value."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            return False
        if self.whole and value != int(value):
            return False
        return value > self.least if self.above else value >= self.least


BUDGET_LIMITS: Final[Mapping[str, BudgetLimit]] = {
    "max_steps": BudgetLimit(least=1),
    "max_tool_calls": BudgetLimit(),
    "max_llm_calls": BudgetLimit(),
    "max_total_cost_usd": BudgetLimit(whole=False),
    "max_total_tokens": BudgetLimit(),
    "max_wall_time_s": BudgetLimit(whole=False, above=True),
}
"""By name. `runtime.judgement.recovery.budget` takes the same values."""


def checked_budget(given: Mapping[str, Any]) -> dict[str, float]:
    """A budget as a swarm declares it.

    Raises:
        ConfigurationError: A limit is unknown, or its value is not one that it takes.
    """
    for name, value in given.items():
        if name not in BUDGET_LIMITS:
            hint = did_you_mean(name, BUDGET_LIMITS, sentence=True)
            raise ConfigurationError(
                f"Unknown budget {name!r}",
                hint=f"{hint}Valid are: {', '.join(BUDGET_LIMITS)}",
                config_field="budget",
                config_value=str(name),
            )
        if not BUDGET_LIMITS[name].takes(value):
            raise ConfigurationError(
                f"The budget {name} must be {BUDGET_LIMITS[name].words}, got {value!r}", config_field="budget"
            )
    return dict(given)
