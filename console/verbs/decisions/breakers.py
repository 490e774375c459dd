"""`breakers`, `budgets`: what is held back, letting it go, and what runs have spent of what they may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from console.output import print_json, print_note, print_table
from console.verbs.base import (
    BadInput,
    cli_actor,
    find_run,
    open_for_reading,
    open_for_writing,
    verb,
)
from console.workspace import workspace
from runtime.config.loader import load_configuration
from runtime.execution.gates.breaker import (
    BreakerRegistry,
    breaker_rows,
    fold_breakers,
    fold_last_failures,
)
from runtime.operations.usage import ACTIVE_STATES, UsageReader
from runtime.record.state.events import WORKSPACE_RUN_ID, utc_now


@verb()
@click.option("--reset", metavar="KEY", help="Close this breaker: calls go out again at once.")
@click.option("--all", "every", is_flag=True, help="Those that count nothing now, too.")
async def breakers(*, reset: str | None, every: bool, as_json: bool) -> int:
    """List circuit breakers that have counted failures: open ones hold calls back until they try again."""
    policy = load_configuration(workspace().root).errors.breaker_policy()
    if reset is not None:
        await _reset(reset)
    async with open_for_reading() as journal:
        events = await journal.read(WORKSPACE_RUN_ID) if journal is not None else []
    known, lately = fold_breakers(events), fold_last_failures(events)
    shown = breaker_rows(known.values(), policy, utc_now().timestamp(), lately, every=every)
    if as_json:
        for each in shown:
            print_json(each)
    elif shown:
        print_table(("breaker", "state", "failures", "tries again in", "last error"), [_row(each) for each in shown])
    else:
        print_note("no breaker has counted a failure")
    return 0


async def _reset(key: str) -> None:
    async with open_for_writing() as journal:
        known = fold_breakers(await journal.read(WORKSPACE_RUN_ID))
        if key not in known:
            raise BadInput(f"there is no breaker {key!r}: there are {', '.join(sorted(known)) or 'none'}")
        await BreakerRegistry(journal).reset(key, cli_actor())
    print_note(f"breaker {key}: closed")


def _row(each: Mapping[str, Any]) -> tuple[str, ...]:
    again = each["again_s"]
    failures = f"{each['failures']} of {each['threshold']}"
    return each["id"], each["state"].replace("_", "-"), failures, f"{again:.0f} s" if again else "", each["error"]


@verb()
@click.argument("run", default="")
async def budgets(run: str, *, as_json: bool) -> int:
    """Say what unfinished runs, or one run, have spent of what they may; limits that are used up or near first."""
    async with open_for_reading() as journal:
        if journal is None:
            print_note("nothing has been run here yet")
            return 0
        chosen = [await find_run(journal, run)] if run else await journal.runs(500, states=ACTIVE_STATES)
        spending, now = UsageReader(journal, load_configuration(workspace().root).settings.budgets), utc_now()
        found = [await spending.usage_of(each, now) for each in chosen]
    if as_json:
        for each in found:
            print_json(each)
    elif found:
        rows = [(each, limit) for each in found for limit in each["limits"] or [None]]
        rows.sort(key=lambda row: -_share(row[1]))
        print_table(("run", "state", "limit", "used", "allowed", "level", "what"), [_limit(*row) for row in rows])
    else:
        print_note("no run is under way")
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
