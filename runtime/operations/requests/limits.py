"""Requests about circuit breakers and budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from msgspec import Meta, Struct

from runtime.operations.requests.struct import Request, Text

MAX_RUNS: Final = 500
"""Runs whose budgets are told at once."""


class Breaker(Struct, frozen=True, kw_only=True):
    """A circuit breaker. All times are seconds.

    `again_s`: until an open one tries again. `failed_s`: since its last failure, which was `error`. `changed_s`: since
    anything changed. `prober`: who probes.
    """

    id: str
    state: str
    failures: int
    threshold: int
    again_s: float | None
    error: str
    failed_s: float | None
    changed_s: float | None
    prober: str


class ListBreakers(Request[tuple[Breaker, ...]], frozen=True):
    """The breakers that count failures; with `every`, those that ever did."""

    verb: ClassVar[str] = "breakers"

    every: bool = False


class BreakerState(Struct, frozen=True, kw_only=True):
    id: str
    state: str


class ResetBreaker(Request[BreakerState], frozen=True):
    """Close a breaker: calls go out again at once."""

    verb: ClassVar[str] = "reset"
    acts: ClassVar[bool] = True

    key: Text


class LimitUse(Struct, frozen=True, kw_only=True):
    """What is used of one limit. `scope`: the id of the node that has the budget, empty for the run; `of`: its name.

    `level`: `warning`, `hit` or empty. `incident_id`: the decision that waits for more.
    """

    scope: str
    of: str
    limit: str
    used: float
    allowed: float
    level: str
    incident_id: str


class RunBudget(Struct, frozen=True, kw_only=True):
    """What a run has spent, and its limits. `spent`: see `runtime.judgement.recovery.budget.BudgetUsage`."""

    id: str
    state: str
    title: str
    spent: Mapping[str, float]
    limits: tuple[LimitUse, ...]


class ListBudgets(Request[tuple[RunBudget, ...]], frozen=True):
    """What one run, or the newest unfinished runs, have spent of what they may."""

    verb: ClassVar[str] = "budgets"

    run_id: str = ""
    limit: Annotated[int, Meta(ge=1, le=MAX_RUNS)] = 50
