"""`run`: a user's own swarm."""

from __future__ import annotations

import click

from console.linear.operators import PersonAtTerminal, has_person
from console.verbs.argument_values import text_of_stdin
from console.verbs.base import BadInput, verb
from console.verbs.runs.run_common import WantedRun, exit_code, run_and_follow

MAX_INPUT_BYTES = 1_000_000


@verb(resumes=True)
@click.argument("ref")
@click.argument("task", metavar="[INPUT]", default="", required=False)
@click.option(
    "--resume",
    is_flag=True,
    help="Continue the newest unfinished run of this swarm with exactly this INPUT (without INPUT: with any). If all"
    " with exactly this INPUT have ended, show the newest, and begin nothing.",
)
@click.option(
    "--budget",
    "budgets",
    multiple=True,
    metavar="NAME=NUMBER",
    help="A limit of this run, such as max_steps=20 or max_total_cost_usd=0.5; may be repeated.",
)
@click.option(
    "--drill", "drills", default="", metavar="FILE", help="Cause the faults in this file; `drill init` writes one."
)
@click.option(
    "--title", default="", metavar="TEXT", help="The title of the run (default: the first line of its input)."
)
@click.option(
    "--queue",
    default="",
    metavar="NAME",
    help="The queue whose workers drive it (default: as the swarm's setting says).",
)
async def run(
    ref: str, task: str, *, resume: bool, budgets: tuple[str, ...], drills: str, title: str, queue: str, as_json: bool
) -> int:
    """Run a swarm: path/to/file.py:name or package.module:name. INPUT `-` is read from stdin.

    Without a terminal it exits with code 3 when the run can only wait for a person.

    With --drill it reports at the end which faults were recovered automatically, which needed a person, and what was
    lost or done twice.
    """
    if task == "-":
        task = text_of_stdin(most=4 * MAX_INPUT_BYTES)
        if len(task) > MAX_INPUT_BYTES:
            raise BadInput(
                f"the input is longer than {MAX_INPUT_BYTES:,} characters: write it to a file, and give that path"
            )
    person = PersonAtTerminal if has_person() and not as_json else None
    if drills:
        if resume:
            raise BadInput("a drill begins a run of its own: leave --resume out")
        if title:
            raise BadInput("a drill has the title of its swarm: leave --title out")
        if queue:
            raise BadInput("a drill is driven by this process: leave --queue out")
        from console.verbs.runs.drill import run_drill  # most runs are not drills

        wanted = WantedRun(ref, task, f"drill of {ref}", budget=_limits(budgets))
        return await run_drill(wanted, drills, as_json=as_json, decider=person)
    wanted = WantedRun(ref, task, title, resume, _limits(budgets), queue)
    return exit_code(await run_and_follow(wanted, as_json=as_json, decider=person))


def _limits(budgets: tuple[str, ...]) -> dict[str, float]:
    """The limits by name.

    Raises:
        BadInput: one is not written as a name and a number.
    """
    found: dict[str, float] = {}
    for each in budgets:
        name, _, number = each.partition("=")
        try:
            found[name.strip()] = float(number) if "." in number else int(number)
        except ValueError as exc:
            raise BadInput(f"--budget {each:.60}: write NAME=NUMBER, such as max_steps=20") from exc
    return found
