"""`demo`: the main job, on the current directory."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from console.cli import BAD_INPUT
from console.demo.operator import DemoOperator
from console.demo.swarm import TASK, reference
from console.demo.tools import calls, report_file
from console.operators import Operator, PersonAtTerminal, has_person
from console.output import note, say
from console.verbs.carry import carry, exit_code
from console.verbs.frame import Refusal, verb
from console.workspace import workspace
from runtime.record.state import RunState


@verb()
@click.option("--model", default="", metavar="PROVIDER:NAME", help="Run on a real model instead of the script.")
@click.option("--resume", is_flag=True, help="Take up an unfinished demo.")
async def demo(*, model: str, resume: bool, as_json: bool) -> int:
    """A real swarm over this directory; four faults arise and are decided.

    At a terminal you are asked; elsewhere the demo's own operator answers, and is recorded as such.
    """
    if model and ":" not in model:
        raise Refusal(f"--model {model!r}: a model is named provider:name, as in openai:gpt-5-mini", code=BAD_INPUT)
    decider: type[Operator] = PersonAtTerminal if has_person() and not as_json else DemoOperator
    before = len(calls())
    state = await carry(
        reference(model), TASK, title="demo: survey of this directory", resume=resume, as_json=as_json, decider=decider
    )
    (note if as_json else say)(_conclusion(state, calls()[before:]))
    return exit_code(state)


def _conclusion(state: RunState, carried_out: list[dict[str, Any]]) -> str:
    counted = Counter(str(call["tool"]) for call in carried_out)
    told = ", ".join(f"{name} {number}" for name, number in sorted(counted.items())) or "none"
    answered = sum(each.answer is not None for each in state.incidents.values())
    path = report_file()
    written = any(node.name == "write_report" and node.phase == "succeeded" for node in state.nodes.values())
    report = f"the report to {path}" if written else "no report"
    return (
        f"tool calls carried out just now: {told}; incidents answered: {answered}\n"
        f"written: {report}, the journal of run {state.id} to {workspace().journal}"
    )
