"""The inbox as lines: what waits for a person, run by run.

For terminals that can only write lines, and for those who have their screen read to them (`--linear`).
"""

from __future__ import annotations

import asyncio

from console.exit_codes import WAITING
from console.linear.operators import PersonAtTerminal
from console.linear.run_follower import follow_run, present_lines
from console.output import print_note
from console.verbs.base import open_for_writing, operations_on
from console.workspace import workspace
from runtime.daemon import daemon
from runtime.record.places import journal_exists
from screens.render.formatting import pluralize


async def inbox() -> int:
    """Show each run that waits, put its incidents to the person here, follow it on; 3 if something still waits.

    The runtime works in the background, and is started if none is there, as for a console.
    """
    place = workspace()
    if not journal_exists(place.state):
        print_note("No runs yet; to start one: orbiter-console run FILE:NAME")
        return 0
    await asyncio.to_thread(daemon.ensure_runtime, place.state, workspace=place.root)
    person, left = PersonAtTerminal(), set[str]()
    async with open_for_writing() as journal:
        operations = operations_on(journal)
        while waiting := [each for each in await journal.incidents() if each.run_id not in left]:
            print_note(f"{pluralize(len(waiting), 'decision')} waiting; now {waiting[0].title or waiting[0].run_id}")
            left.add(waiting[0].run_id)
            await follow_run(journal, operations, waiting[0].run_id, present_lines(), person)
        still = len(await journal.incidents())
    print_note(f"{pluralize(still, 'decision')} left waiting" if still else "Nothing waits for a person.")
    return WAITING if still else 0
