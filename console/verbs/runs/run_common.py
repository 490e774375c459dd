"""What `demo` and `run` share: begin or resume a run, drive it here, follow it to its end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from console.driver import Driver
from console.embedded import EmbeddedDriver
from console.exit_codes import FAILED, WAITING
from console.linear.operators import Operator
from console.linear.run_follower import follow_run, present_json, present_lines
from console.logs import SHOWN_ELSEWHERE, sanitize_logs
from console.output import print_note
from console.output_capture import capture_output
from console.verbs.base import BadInput, cli_origin, open_for_writing, operations_on
from console.verbs.run_operation import is_driven
from console.verbs.unserved_runs import tell_unserved
from console.workspace import Workspace, workspace
from orbiter.text_encoding import drop_surrogates
from runtime.config.configuration import Configuration
from runtime.config.loader import load_configuration, load_env_file
from runtime.operations.operations import Operations
from runtime.operations.requests.runs import StartRun
from runtime.record.journal import Journal
from runtime.record.state.durable_run import RUN_TERMINAL, DurableRun, Summary
from runtime.record.state.run_events import RunCreated
from runtime.record.state.summary import ALL_RUNS, INPUT_CHARS
from runtime.record.workspace_lock import holder
from runtime.swarms import imports
from runtime.swarms.discovery import check_swarm

SLOW_CHECK_S = 60.0
"""How long a run in which everything waits stays in memory while an operator may answer at once."""


def _drive_here(place: Workspace, grace_s: float) -> Driver:
    return EmbeddedDriver(place, grace_s=grace_s)


@dataclass(frozen=True, slots=True)
class WantedRun:
    """A run that is to be begun.

    Attributes:
        ref: the swarm.
        task: its input.
        title: what lists call it; empty: the first line of its input.
        resume: take up the newest unfinished run of this swarm with this very input (without one: with any); where all
            with this very input have ended, show the newest.
        budget: its limits, by name.
        queue: the queue whose workers drive it; empty: as the swarm's setting says.
        drill: its failures are invented: they open no breaker.
    """

    ref: str
    task: str
    title: str = ""
    resume: bool = False
    budget: Mapping[str, float] = field(default_factory=dict)
    queue: str = ""
    drill: bool = False


async def run_and_follow(
    wanted: WantedRun,
    *,
    as_json: bool,
    decider: Callable[[], Operator] | None,
    driver: Callable[[Workspace, float], Driver] = _drive_here,
) -> DurableRun:
    """Begin or take up a run, and follow it as far as it gets. `driver`: what drives it, given how long a run in which
    everything waits stays in memory.

    Raises:
        SwarmLoadError: the reference does not lead to a swarm; nothing was begun.
        AgentError: an agent's model cannot be used, for a reason that is known already; nothing was begun.
    """
    with capture_output():  # from the first import of user code on
        place = workspace()
        configured = load_configuration(place.root)  # a mistake in the configuration is said before anything begins
        load_env_file(configured)
        ref = await _check_ref(wanted.ref, place, configured)
        async with open_for_writing() as journal:
            operations = operations_on(journal)
            run_id = await _create_or_resume(journal, operations, replace(wanted, ref=ref))
            driving = driver(place, SLOW_CHECK_S if decider is not None else 0.0)
            return await _follow_to_end(driving, journal, operations, run_id, as_json=as_json, decider=decider)


async def begin_run(wanted: WantedRun) -> str:
    """Ask for a run, or find the one to take up, for a runtime to drive; its id.

    Raises:
        SwarmLoadError, AgentError: as `run_and_follow`.
    """
    place = workspace()
    with capture_output():
        ref = await _check_ref(wanted.ref, place, load_configuration(place.root))
    async with open_for_writing() as journal:
        return await _create_or_resume(journal, operations_on(journal), replace(wanted, ref=ref))


async def _check_ref(ref: str, place: Workspace, configured: Configuration) -> str:
    """`check`, which imports the file; an import that hangs is said while it hangs."""
    telling = asyncio.create_task(_report_hanging_import())
    try:
        return await check_swarm(ref, place.root, limit_s=configured.settings.runtime.import_limit_s)
    finally:
        telling.cancel()


async def _report_hanging_import() -> None:
    told: set[str] = set()
    while True:
        await asyncio.sleep(imports.SLOW_IMPORT_S)
        for each in imports.hanging_imports():
            if each.ref not in told:
                told.add(each.ref)
                print_note(str(each))


async def _create_or_resume(journal: Journal, operations: Operations, wanted: WantedRun) -> str:
    found = await _to_resume(journal, wanted.ref, wanted.task) if wanted.resume else None
    if wanted.resume and found is None:
        print_note("there was nothing to resume: a new run begins")
    if found is not None and found.state in RUN_TERMINAL:
        print_note(f"run {found.id} has ended already: it is {found.state}; without --resume a new run begins")
    if found is not None and found.state == "running":
        print_note(f"run {found.id} {await _driver_text()}")
    if found is not None:
        return found.id
    options: dict[str, Any] = {"budget": dict(wanted.budget)} if wanted.budget else {}
    if wanted.drill:
        options["breakers"] = False
    start = StartRun(ref=wanted.ref, input=wanted.task, title=wanted.title, options=options, queue=wanted.queue)
    return (await operations.run(start, cli_origin())).id


async def _driver_text() -> str:
    driver = holder(workspace().state)
    if driver is not None:
        return f"is driven by {driver.program or 'another process'}, pid {driver.pid}"
    if await is_driven():
        return "is driven by a worker; if that one is gone, another goes on when its lease ends"
    return "had a driver that is gone: it goes on here, at once"


async def _follow_to_end(
    driver: Driver,
    journal: Journal,
    operations: Operations,
    run_id: str,
    *,
    as_json: bool,
    decider: Callable[[], Operator] | None,
) -> DurableRun:
    sanitize_logs().muted = SHOWN_ELSEWHERE
    async with driver as driving:
        following = asyncio.create_task(
            follow_run(
                journal,
                operations,
                run_id,
                present_json() if as_json else present_lines(),
                decider() if decider else None,
            )
        )
        signals: list[signal.Signals] = []

        def stop(number: signal.Signals) -> None:
            signals.append(number)
            following.cancel()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
        failed = asyncio.create_task(driving.wait_for_failure())
        telling = asyncio.create_task(tell_unserved(journal, run_id))
        try:
            await asyncio.wait({following, failed}, return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                await failed  # raises why nothing is driven any more
            if signals:
                raise BadInput(f"stopped by {signals[0].name}; {_what_goes_on(run_id)}", code=128 + signals[0])
            return await following
        except BrokenPipeError:
            print_note(f"the reader of the output has gone; {_what_goes_on(run_id)}")
            raise
        finally:
            for task in (following, failed, telling):
                task.cancel()
            await asyncio.gather(following, failed, telling, return_exceptions=True)


def _what_goes_on(run_id: str) -> str:
    """What becomes of the run when this process leaves it."""
    driver = holder(workspace().state)
    if driver is not None and driver.pid != os.getpid():
        return f"{driver.program or 'another process'} drives the run on: orbiter-console abort {run_id} ends it"
    return "what is recorded stays, and the same with --resume goes on"


async def _to_resume(journal: Journal, ref: str, task: str) -> Summary | None:
    """The newest unfinished run, else the newest one that has ended: what was done to its end is not done again.

    Without a task any unfinished run is meant, but of those that have ended only one that had none either.
    """
    wanted = drop_surrogates(task)  # as it was recorded
    of_swarm = [found for found in await journal.runs(limit=ALL_RUNS) if found.ref == ref]
    for found in sorted(of_swarm, key=lambda each: each.state in RUN_TERMINAL):  # each half from its newest on
        unfinished = found.state not in RUN_TERMINAL
        if (not task and unfinished) or await _has_input(journal, found, wanted):
            return found
    return None


async def _has_input(journal: Journal, found: Summary, wanted: str) -> bool:
    """Whether its whole input is this one: a summary has its beginning only."""
    if found.input != wanted[:INPUT_CHARS]:
        return False
    first = await journal.read(found.id, limit=1)
    return any(isinstance(event, RunCreated) and event.input == wanted for event in first)


def exit_code(state: DurableRun) -> int:
    """0 done, 1 failed, 3 waiting for a person."""
    if state.phase in ("completed", "degraded"):
        return 0
    if state.phase == "frozen":
        print_note(f"run {state.id} is frozen: orbiter-console thaw {state.id}")
        return WAITING
    if not state.terminal:
        print_note(f"run {state.id} waits: orbiter-console incidents, orbiter-console answer INCIDENT OPTION")
        return WAITING
    return FAILED
