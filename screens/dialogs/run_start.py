"""Starting a run from the form: the swarm is checked, the run is created, and is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from runtime.operations.requests.runs import CheckSwarm, StartRun
from screens.shell.context import Link


async def start_run(link: Link, start: StartRun, where: str, tell: Callable[[str], None]) -> str:
    """Start a run on a host.

    Args:
        link: the link to the runtimes.
        start: what is to be started.
        where: the host's name.
        tell: told what is being done.

    Returns:
        The id of the run.

    Raises:
        LinkError: the swarm cannot be loaded, or the run cannot be started.
    """
    tell("loading the swarm")
    checked = await link.ask(CheckSwarm(ref=start.ref), where=where)
    tell("starting")
    return (await link.ask(replace(start, ref=checked.ref), where=where)).id


async def wait_for_run(link: Link, run_id: str) -> None:
    """Wait until the run is told of: it was created, and can be looked at. Of one host only it can be looked at before
    the rest of a long list of runs is here.
    """
    changed = asyncio.Event()
    end = link.subscribe(changed.set)
    try:
        while run_id not in link.summaries and "" not in link.loading:
            await changed.wait()
            changed.clear()
    finally:
        end()
