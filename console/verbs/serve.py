"""`serve` and `stop`: the workspace's runtime without a console."""

from __future__ import annotations

import asyncio

import click

from console.output import emit, note, say
from console.verbs.frame import Refusal, verb
from console.workspace import workspace
from runtime.link.serve import BadSetting, conditions
from runtime.link.serve import serve as carry_on
from runtime.work import daemon
from runtime.work.environment import UnusableEnvironment


@verb()
@click.option("--foreground", is_flag=True, help="Stay here, and say on stderr what happens.")
@click.option("--grace", type=click.FloatRange(0), metavar="SECONDS", help="In place of the configured grace_s (60).")
@click.option("--python", default="", metavar="PATH", help="The interpreter that runs the swarms, in the background.")
@click.option("--env-file", metavar="FILE", help="Variables for the runtime in the background: keys above all.")
async def serve(*, foreground: bool, grace: float | None, python: str, env_file: str | None, as_json: bool) -> int:
    """Drive this workspace's runs and serve its consoles until stopped: in the background, as tmux does it.

    A run in which everything waits leaves memory after --grace seconds, and comes back when it is answered.
    """
    place = workspace()
    given = {} if grace is None else {"grace_s": grace}
    try:
        if foreground:
            what = f"driving the runs of {place.state}; ctrl+c stops, and every run stays as it is"
            await carry_on(place.state, conditions(place.root, given), lambda: note(what), outlive=False)
            note("stopped")
            return 0
        found = await asyncio.to_thread(
            daemon.ensure_runtime,
            place.state,
            workspace=place.root,
            python=python,
            env_file=env_file,
            settings=given,
        )
    except (BadSetting, UnusableEnvironment) as exc:
        raise Refusal(str(exc)) from exc
    if as_json:
        emit({"pid": found.pid, "program": found.program, "state": "started" if found.started else "running"})
    else:
        say(f"{'started' if found.started else 'running already'}: {found.program}, pid {found.pid}")
    return 0


@verb()
async def stop(*, as_json: bool) -> int:
    """Stop this workspace's runtime; every run stays as it is and goes on with the next one."""
    place = workspace()
    stopped = await asyncio.to_thread(daemon.stop, place.state)
    if as_json:
        emit({"state": "stopped" if stopped else "absent"})
    else:
        say("stopped" if stopped else f"no runtime works on {place.state}")
    return 0
