"""`runs`, `show`, `abort`: looking at runs, and ending one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

import click

from console.output import print_json, print_line, print_note, print_table, supports_unicode
from console.verbs.base import (
    BadInput,
    cli_origin,
    find_run,
    open_for_reading,
    operations_on,
    state_of,
    verb,
)
from console.verbs.run_operation import run_operation
from console.verbs.unserved_runs import note_undriven, note_undriven_here, note_unserved_runs, print_unserved
from console.workspace import workspace
from runtime.daemon import daemon
from runtime.operations.requests.reports import BlockedRun
from runtime.operations.requests.runs import AbortRun, ListRuns, RunMatch, SearchRuns, ShowRun
from runtime.operations.requests.workers import UnservedRuns
from runtime.record.places import read_lists
from runtime.record.state.clock import utc_now
from runtime.record.state.run_title import swarm_name
from runtime.record.state.summary import ALL_RUNS, PublicSummary, RunPhase
from screens.render.formatting import (
    format_age,
    format_cost,
    format_elapsed,
    format_tokens,
)
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS, state_word
from screens.render.sanitize import sanitize_line

if TYPE_CHECKING:
    from runtime.record.state.durable_run import DurableRun


def _runs_at_once(*, as_json: bool, limit: int, states: tuple[RunPhase, ...], text: str) -> int | None:
    # A row does not say in which state its run is shown: for that all are read, as the operation does.
    listed = None if text else read_lists(workspace().state, runs=ALL_RUNS if states else limit)
    if listed is None:
        return None
    print_unserved(UnservedRuns.by_need(listed.unserved.items()))
    shown = [each.public() for each in listed.runs if not states or each.shown_phase in states]
    _print_runs(shown[:limit], text, as_json=as_json)
    note_undriven_here(shown[:limit])
    return 0


@verb(reads=True, at_once=_runs_at_once)
@click.option(
    "--limit", default=50, show_default=True, type=click.IntRange(1, 10_000), help="The most that are listed."
)
@click.option(
    "--in",
    "states",
    multiple=True,
    metavar="STATE",
    type=click.Choice(get_args(RunPhase)),
    help="Only runs in this state; may be repeated.",
)
@click.option(
    "--search",
    "text",
    default="",
    metavar="TEXT",
    help="Only runs that have all of these words in their title, input, output or errors.",
)
async def runs(*, as_json: bool, limit: int, states: tuple[RunPhase, ...], text: str) -> int:
    """List the runs of this workspace, newest first."""
    request = SearchRuns(text=text, limit=limit, states=states) if text else ListRuns(limit=limit, states=states)
    found: Sequence[PublicSummary] = ()
    async with open_for_reading() as journal:
        if journal is not None:
            found = await operations_on(journal).run(request, cli_origin())
            await note_unserved_runs(journal)
    _print_runs(found, text, as_json=as_json)
    await note_undriven(found)
    return 0


def _print_runs(found: Sequence[PublicSummary], text: str, *, as_json: bool) -> None:
    if as_json:
        for summary in found:
            print_json(summary)
    elif found:
        head = ("run", "state", "open", "age", "tokens", "cost", "swarm", "title")
        print_table((*head, "found") if text else head, [_row(each) for each in found])
    else:
        print_note(f"no run contains {sanitize_line(text, limit=60)!r}" if text else "no runs")
    for held in _held_up():
        what = f"run {held.run_id} cannot be carried on now: " if held.run_id else ""
        print_note(f"{what}{sanitize_line(held.reason, limit=300)}")


def _held_up() -> tuple[BlockedRun, ...]:
    """Runs that the runtime, if there is one, cannot carry on, and could not even say so in the journal."""
    try:
        told = daemon.status(workspace().state)
    except OSError:  # what is wrong with the runtime is for doctor to say
        return ()
    return told.held_up if told is not None else ()


def _row(each: PublicSummary) -> tuple[str, ...]:
    matched = (f"{each.found_in}: {each.excerpt}",) if isinstance(each, RunMatch) else ()
    return (
        each.id,
        "freezing" if each.freezing else state_word(each.state),
        str(each.open_incidents or ""),
        format_age(each.created_at, utc_now()),
        format_tokens(each.input_tokens, each.output_tokens),
        format_cost(each.cost_usd),
        swarm_name(each.ref),
        each.shown_title,
        *matched,
    )


@verb(reads=True)
@click.argument("run", default="")
@click.option("--file", "path", default="", metavar="FILE", help="Show a run that was exported to this file.")
async def show(run: str, *, path: str, as_json: bool) -> int:
    """Show one run: its tree, and its incidents."""
    if bool(run) == bool(path):
        raise BadInput("give a RUN (orbiter-console runs lists them), or --file FILE with an exported one")
    if path:
        from console.verbs.runs.export import read_export_file

        state = read_export_file(path).state()
    else:
        async with open_for_reading() as journal:
            listed = await find_run(journal, run)
            assert journal is not None
            if as_json:
                print_json(await operations_on(journal).run(ShowRun(run_id=listed.id), cli_origin()))
            else:
                _print(await state_of(journal, listed.id))
        await note_undriven([listed.public()])
        return 0
    if as_json:
        from runtime.operations.objects import run_object

        print_json(run_object(state))
    else:
        _print(state)
    return 0


def freeze_progress(state: DurableRun) -> str:
    """How far the freeze of a run is: which steps have still to come to their end."""
    steps = state.in_flight
    names = [f"{node.agent}: {'its model' if node.kind == 'llm' else node.name}" for node in steps[:4]]
    listed = sanitize_line("; ".join(names), limit=300) + ("; …" if len(steps) > 4 else "")
    return f"freezing, {len(steps)} {'step' if len(steps) == 1 else 'steps'} under way ({listed})"


def _print(state: DurableRun) -> None:
    from runtime.judgement.reports.waiting_nodes import holding_nodes
    from screens.views.run.node_state import kind_words, shown_state, shown_word

    unicode = supports_unicode()
    glyphs = UNICODE_GLYPHS if unicode else ASCII_GLYPHS
    now = utc_now()
    phase = freeze_progress(state) if state.freezing else state_word(state.shown_phase)
    print_line(f"{state.id}  {phase}  {sanitize_line(state.shown_title, limit=200)}")
    print_line(f"task: {sanitize_line(state.input, limit=400)}")
    if state.phase == "frozen" and state.frozen is not None and state.frozen.reason:
        who = sanitize_line(state.frozen.by.name or state.frozen.by.channel, limit=60)
        print_line(f"frozen by {who}: {sanitize_line(state.frozen.reason, limit=300)}")
    for back in state.rewound:
        who, when = sanitize_line(back.by.name or back.by.channel, limit=60), back.ts.astimezone()
        why = f": {sanitize_line(back.reason, limit=200)}" if back.reason else ""
        print_line(f"started again from {back.node_id} by {who} at {when:%H:%M:%S}, {back.dropped} nodes dropped{why}")
    holding = holding_nodes(state)
    for depth, node in state.walk():
        facts = [shown_word(node, holding), format_elapsed(node.opened_at, node.closed_at, now)]
        facts.append(f"{node.tries_begun} attempts" if node.tries_begun > 1 else "")
        facts.append(format_tokens(node.input_tokens, node.output_tokens))
        told = ", ".join(fact for fact in facts if fact)
        sign = glyphs.state.get(shown_state(node, holding), " ")
        kind = kind_words(node) if node.info.get("framework") else f"({node.kind})"
        print_line(f"{'  ' * (depth + 1)}{sign} {sanitize_line(node.name, limit=80)} {kind}: {told}")
    for incident in state.open_incidents:
        options = ", ".join(option.id for option in incident.opened.options)
        print_line(
            f"waits: {incident.opened.incident_id}: {sanitize_line(incident.opened.what, limit=300)} [{options}]"
        )
    if state.output or state.error:
        print_line(f"\n{state.output or state.error}")


@verb()
@click.argument("run")
@click.option("--reason", default="", help="Why; kept with the run.")
async def abort(run: str, *, reason: str, as_json: bool) -> int:
    """End a run now. What is under way is cancelled; what is recorded stays."""
    aborted = await run_operation(run, lambda run_id: AbortRun(run_id=run_id, reason=reason))
    if as_json:
        print_json(aborted)
    else:
        print_note(f"run {aborted.id}: asked to end")
    return 0
