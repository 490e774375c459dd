"""Circuit breakers over the link: `breakers` lists them, `reset` closes one."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from runtime.judgement.breaker import BreakerPolicy
from runtime.link.verbs import Args, Asked, CommandError, NoArgs, Verb
from runtime.record.events import utc_now
from runtime.record.journal import Journal
from runtime.work.breakers import Breakers, described


class ResetArgs(Args):
    key: str = Field(min_length=1)


def breaker_verbs(journal: Journal, policy: BreakerPolicy) -> dict[str, Verb]:
    """The verbs. What they know and do stands in the workspace's stream, where the drives read it."""
    breakers = Breakers(journal)

    async def tell(_args: NoArgs, _asked: Asked) -> list[dict[str, Any]]:
        return described(await breakers.known(), policy, utc_now().timestamp())

    async def reset(args: ResetArgs, asked: Asked) -> dict[str, Any]:
        known = [each.key for each in await breakers.known()]
        if args.key not in known:
            there = ", ".join(sorted(known)) or "none"
            raise CommandError("unknown_breaker", f"there is no breaker {args.key!r}: there are {there}")
        await breakers.reset(args.key, asked.by)
        return {"key": args.key}

    return {"breakers": Verb(NoArgs, tell), "reset": Verb(ResetArgs, reset, acts=True)}
