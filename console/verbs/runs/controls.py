"""`freeze`, `thaw`, `break`, `inject`, `cancel`, `rewind`, `fork`: what an operator does to runs beside answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import click
from msgspec.structs import replace

from console.output import print_json, print_line, print_note
from console.verbs.argument_values import json_object
from console.verbs.base import (
    BadInput,
    cli_origin,
    find_run,
    open_for_writing,
    operations_on,
    state_of,
    verb,
)
from console.verbs.run_operation import is_driven, refuse_without_journal, run_operation
from console.verbs.runs.runs import freeze_progress
from console.verbs.unserved_runs import print_undriven
from console.workspace import workspace
from runtime.operations.requests.runs import (
    BreakpointKind,
    CancelCall,
    ForkRun,
    FreezeRuns,
    InjectMessage,
    RewindRun,
    RunState,
    SetBreakpoint,
    ThawRuns,
)
from runtime.record.journal import Journal
from runtime.swarms import loader
from screens.render.glyphs import state_word
from screens.render.sanitize import sanitize_line

_POLL_S = 1.0
"""How often, in seconds, it is looked whether a process still drives what is waited for."""

_changes = (
    click.option("--model", default="", metavar="PROVIDER:NAME", help="For an agent or its model call: another model."),
    click.option("--input", "text", metavar="TEXT", help="For an agent: another message from the user."),
    click.option("--arguments", metavar="JSON", help="For a tool's call: other arguments, a JSON object."),
)
_many = (
    click.argument("run", default=""),
    click.option("--swarm", default="", metavar="REF", help="All runs of this swarm."),
    click.option("--all", "everything", is_flag=True, help="Every run of this workspace."),
)


def _with_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def given(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return given


@verb()
@_with_options(
    *_many,
    click.option("--reason", default="", help="Why; kept with the run."),
    click.option("--wait", is_flag=True, help="Return when the steps under way have finished."),
)
async def freeze(*, reason: str, wait: bool, as_json: bool, **which: Any) -> int:
    """Stop new steps from starting: in one run, in the runs of a swarm, or in all. Steps under way finish.

    A freeze of a swarm, or of all runs, also applies to runs that start later, until you thaw it.
    """
    chosen = _ChosenRuns(**which)
    found = await _control_each(
        chosen,
        lambda run_id, ref: FreezeRuns(run_id=run_id, ref=ref, reason=reason),
        lambda journal, run_id: _freeze_text(journal, run_id, wait=wait),
        as_json=as_json,
    )
    if not found:
        print_note("nothing was there to freeze")
    if not chosen.run:
        swarm = chosen.swarm
        those, lifted = (f"runs of {swarm}", f"--swarm {swarm}") if swarm else ("runs", "--all")
        print_note(f"{those} that begin later are frozen, too, until: orbiter-console thaw {lifted}")
    return 0


async def _freeze_text(journal: Journal, run_id: str, *, wait: bool) -> str:
    """How far the freeze is; with `wait`, once it is through, or no process is left that could bring its steps to an
    end.
    """
    state = await state_of(journal, run_id)
    tail = journal.tail(run_id, state.last_seq)
    while wait and state.freezing:
        coming = asyncio.ensure_future(anext(tail))
        while not (await asyncio.wait({coming}, timeout=_POLL_S))[0]:
            if not await is_driven():
                coming.cancel()
                return freeze_progress(state)
        for event in coming.result():
            state.apply(event)
    return freeze_progress(state) if state.freezing else state_word(state.shown_phase)


@verb()
@_with_options(*_many)
async def thaw(*, as_json: bool, **which: Any) -> int:
    """Let frozen runs continue."""
    chosen = _ChosenRuns(**which)
    if not await _control_each(
        chosen, lambda run_id, ref: ThawRuns(run_id=run_id, ref=ref), _thaw_text, as_json=as_json
    ):
        print_note("no run was frozen")
    return 0


async def _thaw_text(_journal: Journal, _run_id: str) -> str:
    return "thawed"


class _ChosenRuns(NamedTuple):
    """Runs as they are named on the command line: one, those of a swarm, or all."""

    run: str
    swarm: str
    everything: bool


async def _control_each(
    chosen: _ChosenRuns,
    request: Callable[[str, str], FreezeRuns | ThawRuns],
    done: Callable[[Journal, str], Awaitable[str]],
    *,
    as_json: bool,
) -> int:
    """Carry out a request, and say of each run what came of it; how many there were."""
    if sum(map(bool, chosen)) != 1:
        raise BadInput("say which runs: a RUN, --swarm REF, or --all; for example --all")
    refuse_without_journal(chosen.run)
    async with open_for_writing() as journal:
        run_id = (await find_run(journal, chosen.run)).id if chosen.run else ""
        ref = loader.absolute_ref(chosen.swarm, workspace().root) if chosen.swarm else ""
        operations = operations_on(journal)
        states = await operations.run(request(run_id, ref), cli_origin())
        for each in states:
            told = await done(journal, each.id)
            summary = await journal.summary(each.id)
            now = each if summary is None else replace(each, state=summary.shown_phase)
            await _print_result(now, f"run {each.id}: {told}", as_json=as_json)
    return len(states)


@verb()
@click.argument("run")
@click.argument("what", metavar="tool:PATTERN|agent:PATTERN")
@click.option("--clear", is_flag=True, help="Remove the breakpoint.")
async def breakpoint_(run: str, what: str, *, clear: bool, as_json: bool) -> int:
    """Make a run wait before tools or agents whose names match; * stands for any letters, ? for one.

    For example: break RUN 'tool:write_*'
    """
    kind, colon, pattern = what.partition(":")
    if kind not in ("tool", "agent") or not colon or not pattern:
        raise BadInput(f"{what!r} is not a place to stop at: must be tool:NAME or agent:NAME, for example tool:send_*")
    chosen: BreakpointKind = "tool" if kind == "tool" else "agent"
    found = await run_operation(
        run, lambda run_id: SetBreakpoint(run_id=run_id, what=chosen, pattern=pattern, clear=clear)
    )
    told = f"run {found.id}: {'no longer stops' if clear else 'stops'} before {kind} {pattern}"
    await _print_result(found, told, as_json=as_json)
    if found.warning and not as_json:
        print_note(f"warning: {sanitize_line(found.warning, limit=500)}")
    return 0


@verb()
@click.argument("run")
@click.argument("agent")
@click.argument("text")
async def inject(run: str, agent: str, text: str, *, as_json: bool) -> int:
    """Send a message to an agent (its name, or its node's id). The agent reads it at its next turn."""
    if not text:
        raise BadInput("the message is empty: say what the agent is to read")
    found = await run_operation(run, lambda run_id: InjectMessage(run_id=run_id, agent=agent, text=text))
    await _print_result(found, f"run {found.id}: {agent} reads it at its next turn", as_json=as_json)
    return 0


@verb()
@click.argument("run")
@click.argument("node")
@click.option("--reason", default="", help="Why; kept with the run.")
async def cancel(run: str, node: str, *, reason: str, as_json: bool) -> int:
    """Cancel one tool call that is under way; nothing else stops. NODE is an id or its last characters.

    The server of an MCP tool is told. Then the step waits for a decision. To list the ids: show RUN --json
    """
    found = await run_operation(run, lambda run_id: CancelCall(run_id=run_id, node_id=node, reason=reason))
    await _print_result(found, f"run {found.id}: {found.node} is being cancelled", as_json=as_json)
    return 0


@verb()
@click.argument("run")
@click.argument("node")
@_with_options(
    *_changes,
    click.option("--yes", is_flag=True, help="Rewind even if calls with side effects are made again."),
    click.option("--reason", default="", help="Why; kept with the run."),
)
async def rewind(run: str, node: str, *, yes: bool, reason: str, as_json: bool, **changes: Any) -> int:
    """Rewind a run to a NODE, which then runs again. NODE is an id or its last characters.

    For example: rewind RUN writer~1 --model openai:gpt-5-mini. To list the ids: show RUN --json
    """
    wanted = _requested_changes(**changes)
    found = await run_operation(
        run,
        lambda run_id: RewindRun(run_id=run_id, node_id=node, changes=wanted, confirm=yes, reason=reason),
    )
    told = f"run {found.id}: goes on from {found.node}; {len(found.dropped)} nodes are done again"
    await _print_result(found, told, as_json=as_json)
    return 0


@verb()
@click.argument("run")
@click.argument("node", default="")
@_with_options(*_changes)
async def fork(run: str, node: str, *, as_json: bool, **changes: Any) -> int:
    """Start a new run with the completed steps of this one, up to NODE if it is given. Prints the new run's id."""
    wanted = _requested_changes(**changes)
    forked = await run_operation(run, lambda run_id: ForkRun(run_id=run_id, node_id=node, changes=wanted))
    if as_json:
        print_json(forked)
    else:
        print_line(forked.id)
        await _who_drives()
    return 0


def _requested_changes(*, model: str, text: str | None, arguments: str | None) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if model:
        changes["model"] = model
    if text is not None:
        changes["input"] = text
    if (given := json_object(arguments, "--arguments")) is not None:
        changes["arguments"] = given
    return changes


async def _print_result(state: RunState, told: str, *, as_json: bool) -> None:
    if as_json:
        print_json(state)
    else:
        print_note(told)
        await _who_drives()


async def _who_drives() -> None:
    if not await is_driven():
        print_undriven()
