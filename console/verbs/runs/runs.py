"""`runs`, `show`, `abort`: looking at runs, and ending one."""

from __future__ import annotations

from typing import Any, get_args

import click

from console.output import print_json, print_line, print_note, print_table, supports_unicode
from console.verbs.base import (
    BadInput,
    cli_actor,
    find_run,
    open_for_reading,
    open_for_writing,
    state_of,
    verb,
)
from console.verbs.runs.export import read_export_file
from console.workspace import workspace
from runtime.daemon import daemon
from runtime.judgement.reports.audit import shown_params
from runtime.record.journal import Journal
from runtime.record.state.durable_run import (
    RUN_TERMINAL,
    DurableRun,
    Incident,
    Node,
    RunPhase,
    Summary,
)
from runtime.record.state.events import AbortRequested, utc_now
from screens.render.formatting import (
    format_age,
    format_cost,
    format_elapsed,
    format_tokens,
)
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS, state_word
from screens.render.sanitize import clean_line

_NO_LIMIT = 1_000_000


@verb()
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000), help="At most so many.")
@click.option(
    "--in",
    "states",
    multiple=True,
    metavar="STATE",
    type=click.Choice(get_args(RunPhase)),
    help="Only runs in this state; may be repeated.",
)
async def runs(*, as_json: bool, limit: int, states: tuple[str, ...]) -> int:
    """List the runs of this workspace, newest first."""
    async with open_for_reading() as journal:
        found = await _runs_in_states(journal, states, limit) if journal is not None else []
    if as_json:
        for summary in found:
            print_json(summary.public_fields())
    elif found:
        print_table(("run", "state", "open", "age", "tokens", "cost", "what"), [_row(each) for each in found])
    else:
        print_note("no runs")
    for held in _held_up():
        what = f"run {held['run_id']} cannot be carried on now: " if held["run_id"] else ""
        print_note(f"{what}{clean_line(str(held['reason']), limit=300)}")
    return 0


async def _runs_in_states(journal: Journal, states: tuple[str, ...], limit: int) -> list[Summary]:
    """Those in the states that are named, as they are shown: a run that waits for a person may still be held."""
    if not {"running", "waiting"} & set(states):
        return await journal.runs(limit, states=states)
    found = await journal.runs(_NO_LIMIT, states=(*states, "running", "waiting"))
    return [each for each in found if each.shown_phase in states][:limit]


def _held_up() -> list[dict[str, Any]]:
    """Runs that the runtime, if there is one, cannot carry on, and could not even say so in the journal."""
    try:
        told = daemon.status(workspace().state)
    except OSError:  # what is wrong with the runtime is for doctor to say
        return []
    return list((told or {}).get("held_up") or ())


def _row(each: Summary) -> tuple[str, ...]:
    return (
        each.id,
        "freezing" if each.freezing else state_word(each.shown_phase),
        str(each.open_incidents or ""),
        format_age(each.created_at, utc_now()),
        format_tokens(each.input_tokens, each.output_tokens),
        format_cost(each.cost_usd),
        each.title or each.ref,
    )


@verb()
@click.argument("run", default="")
@click.option("--file", "path", default="", metavar="FILE", help="A run that was exported to a file, instead.")
async def show(run: str, *, path: str, as_json: bool) -> int:
    """Show one run: its tree, and its incidents."""
    if bool(run) == bool(path):
        raise BadInput("say which run, or --file FILE for one that was exported")
    if path:
        state = read_export_file(path).state()
    else:
        async with open_for_reading() as journal:
            summary = await find_run(journal, run)
            assert journal is not None
            state = await state_of(journal, summary.id)
    if as_json:
        print_json(run_object(state))
    else:
        _print(state)
    return 0


def run_object(state: DurableRun) -> dict[str, Any]:
    """A run with its nodes and incidents, as JSON: ids are `id`, states are `state`."""
    return {
        **state.summary().public_fields(),
        "input": state.input,
        "output": state.output,
        "error": state.error,
        "lives": state.lives,
        "nodes": [_node(node) for _, node in state.walk()],
        "incidents": [incident_object(state.id, each) for each in state.incidents.values()],
    }


def _node(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "parent_id": node.parent_id,
        "kind": node.kind,
        "name": node.name,
        "agent": node.agent,
        "state": node.phase,
        "requested": node.requested,
        "attempts": node.attempts,
        "opened_at": node.opened_at,
        "closed_at": node.closed_at,
        "input_tokens": node.input_tokens,
        "output_tokens": node.output_tokens,
        "cost_usd": node.cost_usd,
        "output": node.output,
        "result": node.result,
        "error": node.error,
        "warnings": node.warnings,
        "incidents": node.incidents,
    }


def incident_object(run_id: str, incident: Incident) -> dict[str, Any]:
    """An incident as JSON: what it waits for and, if it has one, its answer."""
    opened = incident.opened
    body = opened.model_dump(mode="json", by_alias=True, exclude={"v", "seq", "type", "run_id", "incident_id", "ts"})
    answer = incident.answer
    return {
        "id": opened.incident_id,
        "state": incident.state,
        "run_id": run_id or opened.run_id,
        "opened_at": opened.ts.isoformat(),
        **body,
        "answer": {
            **answer.model_dump(mode="json", include={"option", "reach", "reason", "by", "ts"}),
            "params": shown_params(answer.params),
        }
        if answer is not None
        else None,
    }


def freeze_progress(state: DurableRun) -> str:
    """How far the freeze of a run is: which steps have still to come to their end."""
    steps = state.in_flight
    names = [f"{node.agent}: {'its model' if node.kind == 'llm' else node.name}" for node in steps[:4]]
    listed = clean_line("; ".join(names), limit=300) + ("; …" if len(steps) > 4 else "")
    return f"freezing, {len(steps)} {'step' if len(steps) == 1 else 'steps'} under way ({listed})"


def _print(state: DurableRun) -> None:
    unicode = supports_unicode()
    glyphs = UNICODE_GLYPHS if unicode else ASCII_GLYPHS
    now = utc_now()
    phase = freeze_progress(state) if state.freezing else state_word(state.shown_phase)
    print_line(f"{state.id}  {phase}  {clean_line(state.title or state.ref, limit=200)}")
    print_line(f"task: {clean_line(state.input, limit=400)}")
    if state.phase == "frozen" and state.frozen is not None and state.frozen.reason:
        who = clean_line(state.frozen.by.name or state.frozen.by.channel, limit=60)
        print_line(f"frozen by {who}: {clean_line(state.frozen.reason, limit=300)}")
    for back in state.rewound:
        who, when = clean_line(back.by.name or back.by.channel, limit=60), back.ts.astimezone()
        why = f": {clean_line(back.reason, limit=200)}" if back.reason else ""
        print_line(f"turned back to {back.node_id} by {who} at {when:%H:%M:%S}, {back.dropped} nodes dropped{why}")
    for depth, node in state.walk():
        facts = [state_word(node.phase), format_elapsed(node.opened_at, node.closed_at, now)]
        facts.append(f"{node.attempts} attempts" if node.attempts > 1 else "")
        facts.append(format_tokens(node.input_tokens, node.output_tokens))
        told = ", ".join(fact for fact in facts if fact)
        sign = glyphs.state.get(node.phase, " ")
        print_line(f"{'  ' * (depth + 1)}{sign} {clean_line(node.name, limit=80)} ({node.kind}): {told}")
    for incident in state.open_incidents:
        options = ", ".join(option.id for option in incident.opened.options)
        print_line(
            f"waits: {incident.opened.incident_id}: {clean_line(incident.opened.message, limit=300)} [{options}]"
        )
    if state.output or state.error:
        print_line(f"\n{state.output or state.error}")


@verb()
@click.argument("run")
@click.option("--reason", default="", help="Why; kept with the run.")
async def abort(run: str, *, reason: str, as_json: bool) -> int:
    """End a run now. What is under way is cancelled; what is recorded stays."""
    async with open_for_writing() as journal:
        summary = await find_run(journal, run)
        if summary.state in RUN_TERMINAL:
            raise BadInput(f"run {summary.id} is over already: {state_word(summary.state)}")
        await journal.post(summary.id, AbortRequested(reason=reason, by=cli_actor()))
        summary = await journal.summary(summary.id) or summary
    if as_json:
        print_json({"id": summary.id, "state": summary.shown_phase})
    else:
        print_note(f"run {summary.id}: asked to end")
    return 0
