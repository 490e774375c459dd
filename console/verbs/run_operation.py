"""An operation on the run that an operator names: the frame of the verbs that act on one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from console.verbs.base import BadInput, cli_origin, find_run, open_for_writing, operations_on
from console.workspace import workspace
from runtime.operations.requests.struct import Request
from runtime.record.places import journal_address, journal_exists, open_journal
from runtime.record.workspace_lock import holder

R = TypeVar("R")


async def run_operation(run: str, request: Callable[[str], Request[R]]) -> R:
    """Carry out what is asked of one run.

    Args:
        run: Its id, or a part of it that no other has.
        request: The request for the run's id.

    Returns:
        The result of the operation.

    Raises:
        BadInput: There is no such run, or there are several.
    """
    refuse_without_journal(run)
    async with open_for_writing() as journal:
        return await operations_on(journal).run(request((await find_run(journal, run)).id), cli_origin())


async def is_driven() -> bool:
    """Whether a process drives the workspace's runs: one of this machine or, on Postgres, a worker of any machine."""
    place = workspace().state
    if holder(place) is not None:
        return True
    if journal_address(place) is None:
        return False
    async with await open_journal(place, readonly=True) as journal:
        return any(not each.is_lost for each in await journal.workers())


def refuse_without_journal(run: str) -> None:
    """Nothing is made where nothing was run yet.

    Raises:
        BadInput: There is no journal; `run` is what was asked about, if that was one run.
    """
    place = workspace()
    if not journal_exists(place.state):
        raise BadInput(
            f"unknown run {run!r} in {place.state}; see: orbiter-console runs" if run else "nothing was run here yet"
        )
