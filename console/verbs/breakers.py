"""`breakers`: which models and tools are held back, and letting them go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from console.output import emit, note, table
from console.verbs.frame import Refusal, operator, reading, verb, writing
from console.workspace import workspace
from runtime.record.events import WORKSPACE, utc_now
from runtime.work.breakers import Breakers, described, fold_breakers
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
    shown = described(known.values(), policy, utc_now().timestamp())
    if as_json:
        for each in shown:
            emit(each)
    elif shown:
        table(("breaker", "state", "failures", "tries again in"), [_row(each) for each in shown])
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


def _row(each: Mapping[str, Any]) -> tuple[str, ...]:
    again = each["again_s"]
    return each["id"], each["state"].replace("_", "-"), str(each["failures"]), f"{again:.0f} s" if again else ""
