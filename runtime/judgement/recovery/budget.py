"""Budgets: limits of a run, what it has used, and what happens at the limit. Pure: the folds are the caller's.

Names and end states are seed 004's. A hit budget is a question first (the run waits, `extend` and `abort` on offer),
and an end state only where no operator can be asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orbiter.parsing.near_names import did_you_mean
from orbiter.policy import BUDGET_LIMITS
from runtime.judgement.amounts import format_cost_limit
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Limit,
    Origin,
    Persistence,
)

EndState = Literal["failed", "degraded", "interrupted"]
LimitLevel = Literal["warning", "hit"]

_FIELDS: dict[Limit, str] = {
    Limit.STEPS: "max_steps",
    Limit.TOOL_CALLS: "max_tool_calls",
    Limit.LLM_CALLS: "max_llm_calls",
    Limit.COST: "max_total_cost_usd",
    Limit.TOKENS: "max_total_tokens",
    Limit.WALL_TIME: "max_wall_time_s",
}
COUNT_LIMITS = frozenset({Limit.STEPS, Limit.TOOL_CALLS, Limit.LLM_CALLS})
"""Limits that count steps: they are hit before a step begins, and the policy says in which state the run ends."""


_VALUES: Final = {
    **{name: limit.words for name, limit in BUDGET_LIMITS.items()},
    "warn_at": "a number above 0 and up to 1",
}
"""The limits by name, each with the values that it may have."""


class Budget(BaseModel):
    """Limits of one run; None: no limit. `max_wall_time_s` counts no time in which the run waits for a person.

    `warn_at` is the share at which a warning is due.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_steps: int | None = Field(default=None, ge=1, description="calls of models and tools together")
    max_tool_calls: int | None = Field(default=None, ge=0, description="calls of tools")
    max_llm_calls: int | None = Field(default=None, ge=0, description="calls of models")
    max_total_cost_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False, description="US dollars")
    max_total_tokens: int | None = Field(default=None, ge=0, description="tokens, in and out")
    max_wall_time_s: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="seconds, without waits for a person, pauses and freezes"
    )
    warn_at: float = Field(default=0.8, gt=0, le=1, description="the share of a limit at which a warning is shown")

    @cached_property
    def limited(self) -> bool:
        """Whether there is any limit at all."""
        return any(getattr(self, name) is not None for name in BUDGET_LIMITS)

    def limit_value(self, limit: Limit) -> float | None:
        """The limit's value; None where there is none."""
        name = _FIELDS.get(limit)
        return None if name is None else getattr(self, name)

    def extended(self, limit: Limit, amount: float) -> Self:
        """The budget with `amount` more of one limit, as an operator granted it.

        Raises:
            ValueError: The limit is not set, does not belong to a budget, or `amount` is not above 0.
        """
        allowed = self.limit_value(limit)
        if allowed is None:
            raise ValueError(f"the budget has no limit for {limit.value}; nothing to extend")
        if not 0 < amount < float("inf"):
            raise ValueError(f"cannot extend by {amount}; give a number above 0")
        more = allowed + amount
        whole = limit not in (Limit.COST, Limit.WALL_TIME)
        return self.model_copy(update={_FIELDS[limit]: int(more) if whole else more})


class BudgetUsage(BaseModel):
    """What a run has used up. `unpriced_calls` went to models whose price is unknown; `cost_usd` is without them."""

    model_config = ConfigDict(frozen=True)

    steps: int = 0
    tool_calls: int = 0
    llm_calls: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0
    tokens: int = 0
    wall_time_s: float = 0.0

    def used(self, limit: Limit) -> float:
        """How much of one limit is used."""
        return {
            Limit.STEPS: self.steps,
            Limit.TOOL_CALLS: self.tool_calls,
            Limit.LLM_CALLS: self.llm_calls,
            Limit.COST: self.cost_usd,
            Limit.TOKENS: self.tokens,
            Limit.WALL_TIME: self.wall_time_s,
        }.get(limit, 0)


class LimitFinding(NamedTuple):
    """A limit that is hit, or nearly so."""

    limit: Limit
    level: LimitLevel
    used: float
    allowed: float

    @property
    def name(self) -> str:
        """The limit's name in the configuration and in seed 004."""
        return _FIELDS[self.limit]


def check_limits(budget: Budget, spent: BudgetUsage) -> tuple[LimitFinding, ...]:
    """Limits that are hit (no new step may begin) or past the share that warns; hit ones first."""
    found: list[LimitFinding] = []
    for limit in _FIELDS:
        allowed = budget.limit_value(limit)
        if allowed is None:
            continue
        used = spent.used(limit)
        if used >= allowed:
            found.append(LimitFinding(limit, "hit", used, allowed))
        elif used >= allowed * budget.warn_at:
            found.append(LimitFinding(limit, "warning", used, allowed))
    return tuple(sorted(found, key=lambda finding: finding.level != "hit"))


def blocking_limit(budget: Budget, spent: BudgetUsage, kind: Literal["llm", "tool"]) -> LimitFinding | None:
    """The hit limit that keeps a step of this kind from beginning. A limit of tool calls stops no model call."""
    elsewhere = Limit.LLM_CALLS if kind == "tool" else Limit.TOOL_CALLS
    return next((f for f in check_limits(budget, spent) if f.level == "hit" and f.limit is not elsewhere), None)


def checked_limits(given: Mapping[str, Any]) -> Budget:
    """Limits as a person gives them.

    Raises:
        ValueError: the first that is wrong, and what would be right.
    """
    for name, value in given.items():
        if name not in _VALUES:
            hint = did_you_mean(name, _VALUES)
            raise ValueError(f"no limit is called {name!r}: {hint}the limits are: {', '.join(_VALUES)}")
        try:
            Budget.model_validate({name: value})
        except ValidationError as exc:
            raise ValueError(f"{name} must be {_VALUES[name]}, not {value!r}") from exc
    return Budget.model_validate(given)


def end_state(limit: Limit, policy: Literal["fail", "degrade", "continue"] = "fail") -> EndState:
    """How a run ends at a hit limit when no operator can be asked (seed 004).

    Steps and calls end as the failure policy says, cost and tokens failed, time interrupted.
    """
    if limit is Limit.WALL_TIME:
        return "interrupted"
    return "failed" if policy == "fail" or limit not in COUNT_LIMITS else "degraded"


def limit_fault(finding: LimitFinding, unpriced_calls: int = 0) -> Classification:
    """The fault of a step that a hit limit kept back. `unpriced_calls` have no known price, and are not in the cost."""
    used, allowed = _amount_text(finding.limit, finding.used), _amount_text(finding.limit, finding.allowed)
    said = f"{finding.name} is reached: {used} of {allowed}"
    if unpriced_calls:
        said += f", without {unpriced_calls} {'call' if unpriced_calls == 1 else 'calls'} of unknown price"
    return Classification(
        origin=Origin.RUNNER,
        cause=Cause.LIMIT_REACHED,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        impact=Impact.RUN,
        limit=finding.limit,
        user_message=said,
        technical=said,
        suggestions=("Extend the limit and go on", "Abort"),
        rule_id=f"budget.{finding.limit.value}",
    )


def _amount_text(limit: Limit, value: float) -> str:
    if limit is Limit.COST:
        return format_cost_limit(value)
    if limit is Limit.WALL_TIME:
        # Fractions count where a limit is short: 0.52 s of 0.5 s.
        return f"{value:.0f} s" if value >= 100 else f"{value:.{2 if value < 1 else 3}g} s"
    return f"{value:.0f}"
