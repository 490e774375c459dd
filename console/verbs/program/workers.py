"""`worker`, `workers`, `move`: processes that drive the runs of a workspace, and for which code a run is."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import click

from console.output import print_json, print_note, print_table
from console.output_capture import capture_output
from console.verbs.base import (
    BadInput,
    cli_origin,
    find_run,
    open_for_reading,
    open_for_writing,
    operations_on,
    verb,
)
from console.verbs.run_operation import refuse_without_journal
from console.verbs.unserved_runs import print_unserved
from console.workspace import workspace
from runtime.config.environment import InvalidEnvironment, read_env_file
from runtime.operations.answer_params import InvalidCommand
from runtime.operations.requests.workers import ListWorkers, MoveRun, Worker, WorkerList
from runtime.operations.run_creation import checked_queue
from runtime.record.address import EXAMPLE, PostgresAddress
from runtime.record.places import journal_address, make_state_directory
from runtime.record.workspace_lock import Locked
from runtime.service.gc_policy import relaxed_gc
from runtime.service.serve import build_execution_config
from runtime.swarms.load_errors import SwarmLoadError
from runtime.swarms.loader import absolute_ref
from runtime.worker.driving_thread import DrivingThread
from screens.render.sanitize import sanitize_line

MAX_WORKERS_HERE = 64
"""Workers of one workspace on one machine."""


@verb(json=False)
@click.option("--slots", type=click.IntRange(1, 10_000), metavar="N", help="Drive at most N runs at once.")
@click.option("--code", metavar="LABEL", help="The label of the code that is here, for example a commit.")
@click.option(
    "--queue",
    "queues",
    multiple=True,
    metavar="NAME",
    help="Take the runs of this queue; may be repeated. Else: default.",
)
@click.option("--env-file", metavar="FILE", help="A file with variables for the worker, one NAME=value per line.")
async def worker(*, slots: int | None, code: str | None, queues: tuple[str, ...], env_file: str | None) -> int:
    """Drive runs of a workspace on Postgres until stopped. Any number of workers, on any number of machines.

    The first SIGTERM drains: the worker takes no new run, waits for the steps under way (a minute at most), and
    leaves its runs to other workers. The second one ends these steps at once.
    """
    place = workspace()
    address = journal_address(place.state)
    if address is None:
        raise BadInput(
            f"worker needs a workspace on Postgres (for a directory use serve): orbiter-console --workspace"
            f" '{EXAMPLE}' worker"
        )
    if env_file is not None:
        try:
            for name, value in read_env_file(place.root / Path(env_file).expanduser()).items():  # noqa: ASYNC240 - once
                os.environ.setdefault(name, value)
        except (InvalidEnvironment, RuntimeError) as exc:
            raise BadInput(f"--env-file: {exc}") from exc
    try:
        given: dict[str, Any] = {"slots": slots, "code": code, "queues": tuple(map(checked_queue, queues)) or None}
    except InvalidCommand as exc:
        raise BadInput(f"--queue: {exc}") from exc
    config = build_execution_config(place.root, {name: value for name, value in given.items() if value is not None})
    with capture_output(), relaxed_gc():
        driving = await asyncio.to_thread(_start, address, place.state, partial(DrivingThread, config=config))
        label = f", code {config.code}" if config.code else ""
        label += f", queue {', '.join(config.queues)}" if config.queues else ""
        print_note(f"driving runs of {address.url} ({config.slots} slots{label}); SIGTERM drains")
        await _until_stopped(driving)
    print_note("stopped")
    return 0


def _start(address: PostgresAddress, state: Path, made: partial[DrivingThread]) -> DrivingThread:
    """A driving thread with a state directory of its own, below that of the workspace on this machine.

    Raises:
        BadInput: there are too many.
        JournalError: the journal cannot be opened.
    """
    for number in range(1, MAX_WORKERS_HERE + 1):
        directory = make_state_directory(address.url, state / f"worker-{number}")
        driving = made(directory)
        try:
            driving.start()
        except Locked:
            continue
        return driving
    raise BadInput(f"{MAX_WORKERS_HERE} workers of this workspace work on this machine already")


async def _until_stopped(driving: DrivingThread) -> None:
    """Until a signal, then until each step under way has ended; or until the driving thread ends by itself.

    Raises:
        DrivingThreadError: it ended with an error.
    """
    loop, stopping, ended = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

    def stop() -> None:
        if stopping.is_set():
            driving.stop_now()
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    driving.on_end(lambda: loop.call_soon_threadsafe(ended.set))
    either = [asyncio.create_task(event.wait()) for event in (stopping, ended)]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    for task in either:
        task.cancel()
    if stopping.is_set():
        print_note("draining: each step under way comes to its end; a second signal cuts them off")
    await asyncio.to_thread(driving.stop, whole=stopping.is_set())


@verb(reads=True)
async def workers(*, as_json: bool) -> int:
    """List the workers of this workspace: what each drives, its code, its problems; then runs that no worker drives."""
    async with open_for_reading() as journal:
        found = await operations_on(journal).run(ListWorkers(), cli_origin()) if journal is not None else WorkerList()
    if as_json:
        print_json(found)
        return 0
    if found.workers:
        head = ("worker", "state", "runs", "code", "queues", "heard", "keys", "program", "held up by")
        print_table(head, [_row(each) for each in found.workers])
    else:
        print_note("no worker runs: orbiter-console serve starts one (on Postgres: orbiter-console worker)")
    print_unserved(found.unserved)
    return 0


def _row(each: Worker) -> tuple[str, ...]:
    return (
        each.place,
        each.state,
        f"{len(each.driving)} of {each.slots}",
        each.code,
        ", ".join(each.queues) or "all",
        f"{each.heard_s:.0f} s ago",
        ", ".join(each.keys),
        each.program,
        each.held_up,
    )


@verb()
@click.argument("run")
@click.option("--code", metavar="LABEL", help="The label; empty: any label.")
@click.option("--queue", default="", metavar="NAME", help="The queue; workers that take it drive the run.")
async def move(run: str, *, code: str | None, queue: str, as_json: bool) -> int:
    """Let a run continue with code of another label, or in another queue. The worker that drives the run now keeps it
    until it releases it.
    """
    if code is None and not queue:
        raise BadInput("move needs --code LABEL or --queue NAME, for example: move RUN --code v2")
    refuse_without_journal(run)
    async with open_for_writing() as journal:
        found = await find_run(journal, run)
        moved = await operations_on(journal).run(MoveRun(run_id=found.id, code=code, queue=queue), cli_origin())
    if as_json:
        print_json(moved)
    else:
        parts = [f"code {sanitize_line(code, limit=80)}" if code else "code of any label"] if code is not None else []
        parts += [f"workers of the queue {queue}"] if queue else []
        print_note(f"run {moved.id}: for {', '.join(parts)}")
    if code is not None:
        _note_missing_file(found.ref)
    return 0


def _note_missing_file(ref: str) -> None:
    """Say so where the file of the run's swarm is not here: the code that is here cannot go on with it."""
    try:
        absolute_ref(ref, workspace().root)
    except SwarmLoadError:
        file = sanitize_line(ref.rpartition(":")[0], limit=400)
        print_note(f"warning: {file} is not on this machine; the worker that takes the run must have it")
