"""`serve`: the workspace's runtime without a console."""

from __future__ import annotations

import asyncio
import signal

import click

from console.output import note
from console.verbs.frame import Refusal, verb, writing
from console.workspace import workspace
from runtime.judgement.retry import RetryPolicy
from runtime.record import lock
from runtime.work.life import Conditions
from runtime.work.supervisor import Supervisor


@verb(json=False)
@click.option("--foreground", is_flag=True, help="Stay here, and say on stderr what happens.")
@click.option("--grace", default=60.0, show_default=True, type=click.FloatRange(0), metavar="SECONDS")
async def serve(*, foreground: bool, grace: float) -> int:
    """Drive this workspace's runs until stopped (SIGINT, SIGTERM).

    A run in which everything waits leaves memory after --grace seconds, and comes back when it is answered.
    """
    if not foreground:
        raise Refusal(
            "say --foreground: this version has no background service yet; nohup or a service manager keeps it"
        )
    place = workspace()
    with lock.acquire(place.state):
        async with writing() as journal:
            supervisor = Supervisor(journal, Conditions(workspace=str(place.root), policy=RetryPolicy(), grace_s=grace))
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, supervisor.stop)
            note(f"driving the runs of {place.state}; ctrl+c stops, and every run stays as it is")
            await supervisor.serve()
    note("stopped")
    return 0
