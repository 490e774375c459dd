"""`run`: a user's own swarm."""

from __future__ import annotations

import sys

import click

from console.operators import PersonAtTerminal, has_person
from console.verbs.carry import carry, exit_code
from console.verbs.frame import Refusal, verb

MOST_INPUT = 1_000_000


@verb()
@click.argument("ref")
@click.argument("task", metavar="[INPUT]", default="", required=False)
@click.option("--resume", is_flag=True, help="Take up the newest unfinished run of this swarm on this input.")
async def run(ref: str, task: str, *, resume: bool, as_json: bool) -> int:
    """Run a swarm: path/to/file.py:name or package.module:name. INPUT `-` is read from stdin.

    Without a terminal it ends with exit code 3 when everything waits for a person.
    """
    if task == "-":
        task = sys.stdin.read(MOST_INPUT + 1)
        if len(task) > MOST_INPUT:
            raise Refusal(f"the input is longer than {MOST_INPUT} characters: give a path to it instead")
    person = PersonAtTerminal if has_person() and not as_json else None
    return exit_code(await carry(ref, task, resume=resume, as_json=as_json, decider=person))
