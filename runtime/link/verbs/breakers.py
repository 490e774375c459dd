"""Circuit breakers and budgets over the link: `breakers` and `budgets` tell of them, `reset` closes a breaker."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from runtime.execution.gates.breaker import BreakerRegistry, breaker_rows
from runtime.judgement.recovery.breaker import BreakerPolicy
from runtime.judgement.recovery.budget import Budget
from runtime.link.verbs.registry import (
    CommandError,
    CommandOrigin,
    Verb,
    VerbArgs,
)
from runtime.operations.usage import ACTIVE_STATES, UsageReader
from runtime.record.journal import Journal
from runtime.record.state.events import utc_now


class BreakersArgs(VerbArgs):
    """`every`: those that count nothing now, too."""

    every: bool = False


class ResetArgs(VerbArgs):
    key: str = Field(min_length=1)


class BudgetsArgs(VerbArgs):
    """A run, or else the newest unfinished ones."""

    run_id: str = ""
    limit: int = Field(default=50, ge=1, le=500)


def breaker_verbs(journal: Journal, policy: BreakerPolicy) -> dict[str, Verb]:
    """The verbs. What they know and do stands in the workspace's stream, where the drives read it."""
    breakers = BreakerRegistry(journal)

    async def tell(args: BreakersArgs, _asked: CommandOrigin) -> list[dict[str, Any]]:
        known = await breakers.breakers()
        return breaker_rows(known, policy, utc_now().timestamp(), breakers.lately, every=args.every)

    async def reset(args: ResetArgs, asked: CommandOrigin) -> dict[str, Any]:
        known = [each.key for each in await breakers.breakers()]
        if args.key not in known:
            there = ", ".join(sorted(known)) or "none"
            raise CommandError("unknown_breaker", f"there is no breaker {args.key!r}: there are {there}")
        await breakers.reset(args.key, asked.by)
        return {"key": args.key}

    return {"breakers": Verb(BreakersArgs, tell), "reset": Verb(ResetArgs, reset, acts=True)}


def budget_verbs(journal: Journal, budget: Budget) -> dict[str, Verb]:
    """The verb. `budget` is what is configured for every run."""
    spending = UsageReader(journal, budget)

    async def tell(args: BudgetsArgs, _asked: CommandOrigin) -> list[dict[str, Any]]:
        if args.run_id:
            summary = await journal.summary(args.run_id)
            if summary is None:
                raise CommandError("unknown_run", f"there is no run {args.run_id!r}")
            chosen = [summary]
        else:
            chosen = await journal.runs(args.limit, states=ACTIVE_STATES)
        now = utc_now()
        return [await spending.usage_of(each, now) for each in chosen]

    return {"budgets": Verb(BudgetsArgs, tell)}
