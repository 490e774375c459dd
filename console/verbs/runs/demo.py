"""`demo`: the main job, on the current directory."""

from __future__ import annotations

import os
from collections import Counter
from textwrap import fill
from typing import Any, Final

import click

from console.demo.operator import DemoOperator
from console.demo.report_place import report_file
from console.demo.swarm import TASK, reference
from console.demo.tools import calls
from console.exit_codes import BAD_INPUT
from console.linear.operators import Operator, PersonAtTerminal, has_person
from console.output import print_line, print_note
from console.verbs.base import (
    BadInput,
    open_for_reading,
    run_verb,
    state_of,
    verb,
)
from console.verbs.program.open_console import has_screen, open_here
from console.verbs.runs.run_common import WantedRun, begin_run, exit_code, run_and_follow
from console.workspace import workspace
from runtime.record.places import journal_name
from runtime.record.state.durable_run import DurableRun

TITLE = "demo: survey of this directory"


@click.command()
@click.option("--model", default="", metavar="PROVIDER:NAME", help="Run on a real model instead of the script.")
@click.option("--resume", is_flag=True, help="Continue an unfinished demo; if all have ended, show the newest.")
@click.option("--linear", is_flag=True, help="In a terminal: lines and questions instead of the console.")
@click.option("--embedded", is_flag=True, help="In a terminal: keep the runtime inside the console's process.")
@click.option("--no-guide", is_flag=True, help="In a terminal: without the guide of the tour.")
@click.option("--state", metavar="DIR", help="Where the workspace keeps its state.")
@click.option("--json", "as_json", is_flag=True, help="JSON, one object per line.")
@click.pass_context
def demo(
    ctx: click.Context,
    *,
    model: str,
    resume: bool,
    linear: bool,
    embedded: bool,
    no_guide: bool,
    state: str | None,
    as_json: bool,
) -> None:
    """Run a real swarm over this directory. Four faults happen; you decide what to do.

    In a terminal the console opens, and you decide. Elsewhere the demo's own operator decides; the audit names it.
    """
    if state is not None:
        os.environ["ORBITER_STATE"] = os.path.abspath(state)  # noqa: PTH100 - as in console.cli
    if has_screen() and not linear and not as_json:
        ctx.exit(_on_screen(model, resume=resume, embedded=embedded, guide=not no_guide))
    ctx.invoke(_in_lines, model=model, resume=resume, as_json=as_json, state=state)


@verb(resumes=True)
@click.option("--model", default="")
@click.option("--resume", is_flag=True)
async def _in_lines(*, model: str, resume: bool, as_json: bool) -> int:
    decider: type[Operator] = PersonAtTerminal if has_person() and not as_json else DemoOperator
    before = len(calls())
    state = await run_and_follow(_wanted(model, resume=resume), as_json=as_json, decider=decider)
    (print_note if as_json else print_line)(_conclusion(state, calls()[before:]))
    return exit_code(state)


def _on_screen(model: str, *, resume: bool, embedded: bool, guide: bool) -> int:
    """The run is begun here and driven by the runtime; the console shows it, and what it came to is said afterwards."""
    before = len(calls())
    ids: list[str] = []

    async def begin_one() -> int:
        ids.append(await begin_run(_wanted(model, resume=resume)))
        return 0

    async def conclude() -> int:
        async with open_for_reading() as journal:
            assert journal is not None
            state = await state_of(journal, ids[0])
        print_line(f"{_conclusion(state, calls()[before:])}\n{_NEXT if state.terminal else _WAITS}")
        return exit_code(state)

    if code := run_verb(begin_one):
        return code
    return open_here(embedded=embedded, run_id=ids[0], guide=guide) or run_verb(conclude)


def _wanted(model: str, *, resume: bool) -> WantedRun:
    if model and ":" not in model:
        raise BadInput(f"--model {model!r}: a model is named provider:name, as in openai:gpt-5-mini", code=BAD_INPUT)
    return WantedRun(reference(model), TASK, TITLE, resume, drill=True)


_COLUMNS: Final = 79
"""Cells of a line: broken between words before a terminal of 80 columns does it inside one."""
_WAITS = """the run goes on without a console, and waits where it needs you:
  orbiter-console        goes back to it"""
_NEXT = """to try next:
  orbiter-console        the run again: R starts it again from a step, T shows it over time
  orbiter-console audit  who decided what
  orbiter-console init   what a swarm of your own needs"""


def _conclusion(state: DurableRun, carried_out: list[dict[str, Any]]) -> str:
    counted = Counter(str(call["tool"]) for call in carried_out)
    told = ", ".join(f"{name} {number}" for name, number in sorted(counted.items())) or "none"
    answered = sum(each.answer is not None for each in state.incidents.values())
    path = report_file()
    written = any(node.name == "write_report" and node.phase == "succeeded" for node in state.nodes.values())
    report = f"the report to {path}" if written else "no report"
    counts = f"tool calls carried out just now: {told}; incidents answered: {answered}"
    return (
        f"{fill(counts, _COLUMNS, subsequent_indent='  ')}\n"
        f"written: {report}, the journal of run {state.id} to {journal_name(workspace().state)}"
    )
