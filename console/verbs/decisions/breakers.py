"""`breakers`, `budgets`: what is held back, letting it go, and what runs have spent of what they may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from console.output import emit, note, table
from console.verbs.base import (
    Refusal,
    operator,
    reading,
    run_named,
    verb,
    writing,
)
from console.workspace import workspace
from runtime.config.loader import load
from runtime.execution.gates.breaker import (
    Breakers,
    described,
    fold_breakers,
    fold_lately,
)
from runtime.operations.usage import ACTIVE, Spending
from runtime.record.state.events import WORKSPACE, utc_now


@verb()
@click.option("--reset", metavar="KEY", help="Close this breaker: calls go out again at once.")
@click.option("--all", "every", is_flag=True, help="Those that count nothing now, too.")
async def breakers(*, reset: str | None, every: bool, as_json: bool) -> int:
    """List circuit breakers that have counted failures: open ones hold calls back until they try again."""
    policy = load(workspace().root).errors.breaker_policy()
    if reset is not None:
        await _reset(reset)
    async with reading() as journal:
        events = await journal.read(WORKSPACE) if journal is not None else []
    known, lately = fold_breakers(events), fold_lately(events)
    shown = described(known.values(), policy, utc_now().timestamp(), lately, every=every)
    if as_json:
        for each in shown:
            emit(each)
    elif shown:
        table(("breaker", "state", "failures", "tries again in", "last error"), [_row(each) for each in shown])
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
    failures = f"{each['failures']} of {each['threshold']}"
    return each["id"], each["state"].replace("_", "-"), failures, f"{again:.0f} s" if again else "", each["error"]


@verb()
@click.argument("run", default="")
async def budgets(run: str, *, as_json: bool) -> int:
    """Say what unfinished runs, or one run, have spent of what they may; limits that are used up or near first."""
    async with reading() as journal:
        if journal is None:
            note("nothing has been run here yet")
            return 0
        chosen = [await run_named(journal, run)] if run else await journal.runs(500, states=ACTIVE)
        spending, now = Spending(journal, load(workspace().root).settings.budgets), utc_now()
        found = [await spending.of(each, now) for each in chosen]
    if as_json:
        for each in found:
            emit(each)
    elif found:
        rows = [(each, limit) for each in found for limit in each["limits"] or [None]]
        rows.sort(key=lambda row: -_share(row[1]))
        table(("run", "state", "limit", "used", "allowed", "level", "what"), [_limit(*row) for row in rows])
    else:
        note("no run is under way")
    return 0


def _share(limit: Mapping[str, Any] | None) -> float:
    if limit is None:
        return -1.0
    return float(limit["used"]) / limit["allowed"] if limit["allowed"] else 1.0


def _limit(run: Mapping[str, Any], limit: Mapping[str, Any] | None) -> tuple[str, ...]:
    what = run["title"] or run["id"]
    if limit is None:
        spent = run["spent"]
        return run["id"], run["state"], "none", f"{spent['steps']} steps, {spent['tokens']} tokens", "", "", what
    level = {"hit": "used up", "warning": "near"}.get(limit["level"], "")
    inside = f"{what}: {limit['of']}" if limit["scope"] else what
    return run["id"], run["state"], limit["limit"], f"{limit['used']:g}", f"{limit['allowed']:g}", level, inside
