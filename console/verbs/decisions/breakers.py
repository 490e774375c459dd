"""`breakers`, `budgets`: what is held back, letting it go, and what runs have spent of what they may."""

from __future__ import annotations

import click

from console.output import print_json, print_note, print_table
from console.verbs.base import cli_origin, find_run, open_for_reading, open_for_writing, operations_on, verb
from console.verbs.run_operation import refuse_without_journal
from runtime.operations.requests.limits import (
    MAX_RUNS,
    Breaker,
    BreakerState,
    LimitUse,
    ListBreakers,
    ListBudgets,
    ResetBreaker,
    RunBudget,
)


@verb(reads=True)
@click.option("--reset", metavar="KEY", help="Close this breaker: calls go out again at once.")
@click.option("--all", "every", is_flag=True, help="Also breakers that have counted no failure.")
async def breakers(*, reset: str | None, every: bool, as_json: bool) -> int:
    """List circuit breakers that have counted failures: open ones hold calls back until they try again.

    With --reset and --json only the breaker that was closed is printed.
    """
    if reset is not None:
        closed = await _reset(reset)
        if as_json:
            print_json(closed)
            return 0
    async with open_for_reading() as journal:
        shown = await operations_on(journal).run(ListBreakers(every=every), cli_origin()) if journal is not None else ()
    if as_json:
        for each in shown:
            print_json(each)
    elif shown:
        print_table(("breaker", "state", "failures", "next test call in", "last error"), [_row(each) for each in shown])
    else:
        print_note("no breaker has counted a failure")
    return 0


async def _reset(key: str) -> BreakerState:
    refuse_without_journal("")
    async with open_for_writing() as journal:
        closed = await operations_on(journal).run(ResetBreaker(key=key), cli_origin())
    print_note(f"breaker {closed.id}: {closed.state}")
    return closed


def _row(each: Breaker) -> tuple[str, ...]:
    failures = f"{each.failures} of {each.threshold}"
    again = f"{each.again_s:.0f} s" if each.again_s else ""
    return each.id, each.state.replace("_", "-"), failures, again, each.error


@verb(reads=True)
@click.argument("run", default="")
async def budgets(run: str, *, as_json: bool) -> int:
    """Show how much of its budget each unfinished run, or one run, has used; budgets that are nearly used up first."""
    async with open_for_reading() as journal:
        run_id = (await find_run(journal, run)).id if run else ""
        if journal is None:
            print_note("nothing has been run here yet")
            return 0
        found = await operations_on(journal).run(ListBudgets(run_id=run_id, limit=MAX_RUNS), cli_origin())
    if as_json:
        for each in found:
            print_json(each)
    elif found:
        rows = [(each, limit) for each in found for limit in each.limits or (None,)]
        rows.sort(key=lambda row: -_share(row[1]))
        print_table(("run", "state", "limit", "used", "allowed", "level", "what"), [_limit(*row) for row in rows])
    else:
        print_note("no run is under way")
    return 0


def _share(limit: LimitUse | None) -> float:
    if limit is None:
        return -1.0
    return limit.used / limit.allowed if limit.allowed else 1.0


def _limit(run: RunBudget, limit: LimitUse | None) -> tuple[str, ...]:
    what = run.title or run.id
    if limit is None:
        spent = f"{run.spent['steps']} steps, {run.spent['tokens']} tokens"
        return run.id, run.state, "none", spent, "", "", what
    level = {"hit": "used up", "warning": "near"}.get(limit.level, "")
    inside = f"{what}: {limit.of}" if limit.scope else what
    return run.id, run.state, limit.limit, f"{limit.used:g}", f"{limit.allowed:g}", level, inside
