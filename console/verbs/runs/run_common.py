"""What `demo` and `run` share: begin or resume a run, drive it here, follow it to its end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping
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
from console.workspace import Workspace, workspace
from runtime.config.configuration import Configuration
from runtime.config.loader import load_configuration, load_env_file
from runtime.operations.operations import Operations
from runtime.operations.requests.runs import StartRun
from runtime.record.journal import Journal
from runtime.record.state.durable_run import RUN_TERMINAL, DurableRun, Summary
from runtime.record.workspace_lock import holder
from runtime.swarms import imports
from runtime.swarms.discovery import check_swarm

SLOW_CHECK_S = 60.0
"""How long a run in which everything waits stays in memory while an operator may answer at once."""


def _drive_here(place: Workspace, grace_s: float) -> Driver:
    return EmbeddedDriver(place, grace_s=grace_s)


async def run_and_follow(
    ref: str,
    task: str,
    *,
    title: str = "",
    resume: bool,
    as_json: bool,
    decider: Callable[[], Operator] | None,
    budget: Mapping[str, float] | None = None,
    queue: str = "",
    drill: bool = False,
    driver: Callable[[Workspace, float], Driver] | None = None,
) -> DurableRun:
    """Run `ref` on `task`, or take up its newest unfinished run, and follow it as far as it gets. `drill`: see `begin`.
    `driver`: what drives it, given how long a run in which everything waits stays in memory; None: this process.

    Raises:
        SwarmLoadError: the reference does not lead to a swarm; nothing was begun.
        AgentError: an agent's model cannot be used, for a reason that is known already; nothing was begun.
    """
    with capture_output():  # from the first import of user code on
        place = workspace()
        configured = load_configuration(place.root)  # a mistake in the configuration is said before anything begins
        load_env_file(configured)
        ref = await _check_ref(ref, place, configured)
        async with open_for_writing() as journal:
            operations = operations_on(journal)
            run_id = await _create_or_resume(
                journal, operations, ref, task, title=title, resume=resume, budget=budget, queue=queue, drill=drill
            )
            driving = (driver or _drive_here)(place, SLOW_CHECK_S if decider is not None else 0.0)
            return await _follow_to_end(driving, journal, operations, run_id, as_json=as_json, decider=decider)


async def begin_run(ref: str, task: str, *, title: str = "", resume: bool, drill: bool = False) -> str:
    """Ask for a run of `ref` on `task`, or find its newest unfinished one, for a runtime to drive; its id.
    A `drill`'s failures are invented: they open no breaker.

    Raises:
        SwarmLoadError, AgentError: as `carry`.
    """
    place = workspace()
    with capture_output():
        ref = await _check_ref(ref, place, load_configuration(place.root))
    async with open_for_writing() as journal:
        return await _create_or_resume(
            journal, operations_on(journal), ref, task, title=title, resume=resume, drill=drill
        )


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


async def _create_or_resume(
    journal: Journal,
    operations: Operations,
    ref: str,
    task: str,
    *,
    title: str,
    resume: bool,
    budget: Mapping[str, float] | None = None,
    queue: str = "",
    drill: bool = False,
) -> str:
    found = await _unfinished(journal, ref, task) if resume else None
    if resume and found is None:
        print_note("there was nothing to resume: a new run begins")
    if found is not None and found.state == "running":
        print_note(f"run {found.id} {await _driver_text()}")
    if found is not None:
        return found.id
    options: dict[str, Any] = {"budget": dict(budget)} if budget else {}
    if drill:
        options["breakers"] = False
    start = StartRun(ref=ref, input=task, title=title, options=options, queue=queue)
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
        try:
            await asyncio.wait({following, failed}, return_when=asyncio.FIRST_COMPLETED)
            if not following.done():
                await failed  # raises why nothing is driven any more
            if signals:
                text = f"stopped by {signals[0].name}; what is recorded stays, and the same with --resume goes on"
                raise BadInput(text, code=128 + signals[0])
            return await following
        except BrokenPipeError:
            print_note("the reader of the output has gone; what is recorded stays, and the same with --resume goes on")
            raise
        finally:
            following.cancel()
            failed.cancel()
            await asyncio.gather(following, failed, return_exceptions=True)


async def _unfinished(journal: Journal, ref: str, task: str) -> Summary | None:
    def fits(found: Summary) -> bool:
        return found.ref == ref and found.state not in RUN_TERMINAL and (not task or found.input == task[:200])

    return next((found for found in await journal.runs(limit=1_000) if fits(found)), None)


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
