"""`breakers`: which models and tools are held back, and letting them go."""

from __future__ import annotations

import click

from console.output import emit, note, table
from console.verbs.frame import Refusal, operator, reading, verb, writing
from console.workspace import workspace
from runtime.judgement.breaker import Breaker, BreakerPolicy, BreakerState
from runtime.record.events import WORKSPACE, utc_now
from runtime.work.breakers import Breakers, fold_breakers
from runtime.work.configuration import load


@verb()
@click.option("--reset", metavar="KEY", help="Close this breaker: calls go out again at once.")
async def breakers(*, reset: str | None, as_json: bool) -> int:
    """List circuit breakers that have counted failures: open ones hold calls back until they try again."""
    policy = load(workspace().root).errors.breaker_policy()
    if reset is not None:
        await _reset(reset)
    async with reading() as journal:
        known = fold_breakers(await journal.read(WORKSPACE)) if journal is not None else {}
    now = utc_now().timestamp()
    shown = [each for each in known.values() if each.failures or each.opened_at is not None]
    if as_json:
        for each in shown:
            again = _again_s(each, policy, now)
            emit({"id": each.key, "state": each.state(policy, now).value, "failures": each.failures, "again_s": again})
    elif shown:
        table(("breaker", "state", "failures", "tries again in"), [_row(each, policy, now) for each in shown])
    else:
        note("no breaker has counted a failure")
    return 0


async def _reset(key: str) -> None:
    async with writing() as journal:
        known = fold_breakers(await journal.read(WORKSPACE))
        if key not in known:
            raise Refusal(f"there is no breaker {key!r}: there are {', '.join(sorted(known)) or 'none'}")
        await Breakers(journal).reset(key, operator())
    note(f"breaker {key}: closed")


def _again_s(breaker: Breaker, policy: BreakerPolicy, now: float) -> float | None:
    if breaker.opened_at is None or breaker.state(policy, now) is not BreakerState.OPEN:
        return None
    return round(breaker.opened_at + policy.cooldown_s - now, 1)


def _row(breaker: Breaker, policy: BreakerPolicy, now: float) -> tuple[str, ...]:
    again = _again_s(breaker, policy, now)
    state = breaker.state(policy, now).value.replace("_", "-")
    return breaker.key, state, str(breaker.failures), f"{again:.0f} s" if again is not None else ""
