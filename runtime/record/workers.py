"""Workers of one workspace: what each says of itself, and claims, which keep two of them from doing the same thing.

A claim is a lease on a name, for work that belongs to no run: an analysis, a notice. It runs out by itself, so that
another worker goes on where the first one died.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

import msgspec

from runtime.record.state.operator_terms import DEFAULT_QUEUE

BEAT_S = 3.0
"""How often, in seconds, a worker says that it is there."""
LOST_AFTER_S = 15.0
"""After how many seconds without a word a worker counts as lost. Its runs went to others by then, by their leases."""
FORGOTTEN_AFTER_S = 3600.0
"""After how many seconds a lost worker is no longer listed."""


CodePolicy = Literal["pinned", "latest"]
"""`pinned`: a run stays with its label until it is moved. `latest`: workers of the newest label move it to theirs."""


class WorkerReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says of itself.

    Args:
        id: Its own, new at each start (`runtime.record.lease_owner`): its leases begin with it.
        place: Machine and process, for people; two containers may give the same.
        slots: How many runs it drives at once.
        code: The label of its code; empty where none was given.
        queues: The queues whose runs it drives; empty: of every queue.
        keys: Names of the variables with providers' keys that are set there. Never a value.
        program: Name and version of the program.
        alive_since: Since when it, or another before it, has been there without a break.
        draining: Whether it takes no more runs, and ends when those that it drives are at rest.
        held_up: What holds it up, in words; else empty.
        queue_error: Why the engine's queue gives it no runs, in words; else empty.
        refused: Ids of runs that it found the engine's queue not to take, with the reason in words.
    """

    id: str
    place: str
    slots: int
    code: str = ""
    queues: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    program: str = ""
    alive_since: datetime
    draining: bool = False
    held_up: str = ""
    queue_error: str = ""
    refused: dict[str, str] = {}


class ListedWorker(msgspec.Struct, frozen=True, kw_only=True):
    """A worker as the store knows it.

    Args:
        report: What it said last.
        heard_s: How many seconds ago that was, by the store's clock.
        driving: Ids of the runs whose leases it holds.
    """

    report: WorkerReport
    heard_s: float
    driving: tuple[str, ...]

    @property
    def is_lost(self) -> bool:
        """Whether it has been silent for too long."""
        return self.heard_s > LOST_AFTER_S

    @property
    def takes_runs(self) -> bool:
        """Whether it takes up more runs."""
        return not (self.is_lost or self.report.draining)

    def takes_queue(self, queue: str) -> bool:
        """Whether it takes up more runs, and those of this queue."""
        return self.takes_runs and (not self.report.queues or queue in self.report.queues)


class WorkerNeed(NamedTuple):
    """What a run needs of a worker."""

    code: str = ""
    """The label of its code; empty: any."""
    queue: str = DEFAULT_QUEUE
    """A queue that it takes."""

    def is_met_by(self, worker: ListedWorker) -> bool:
        """Whether this worker may take the run up."""
        return worker.takes_queue(self.queue) and self.code in ("", worker.report.code)

    def queue_error(self, listed: Iterable[ListedWorker]) -> str:
        """Why none of the workers that may take the run up is given runs, in words; empty where one is, or none may."""
        found = [each.report.queue_error for each in listed if self.is_met_by(each)]
        return found[0] if found and all(found) else ""


class PlacedRun(msgspec.Struct, frozen=True):
    """A run that could go on now, and what it needs of a worker."""

    run_id: str
    need: WorkerNeed

    @classmethod
    def of(cls, run_id: str, code: str, queue: str) -> PlacedRun:
        """The run of a row of a store."""
        return cls(run_id, WorkerNeed(code, queue))


def newest_label(listed: Iterable[ListedWorker], queue: str | None = None) -> str | None:
    """The label of the worker that came last, of those that take up runs (of `queue`); None if no worker does."""
    served = [each.report.code for each in listed if (each.takes_runs if queue is None else each.takes_queue(queue))]
    return served[-1] if served else None


async def placed_runs(journal: WorkerRegistry, listed: Sequence[ListedWorker]) -> list[PlacedRun]:
    """Runs that may have no worker, though some take up runs.

    Those that any worker would take, which may be many, are looked at only where no worker takes the default queue.

    Raises:
        JournalError: the store failed.
    """
    return await journal.placed_runs(everywhere=leaves_default_queue(listed))


def leaves_default_queue(listed: Iterable[ListedWorker]) -> bool:
    """Whether some workers take up runs, and none of them takes, or is given, those of the default queue."""
    working = [each for each in listed if each.takes_runs]
    given = [each for each in working if not each.report.queue_error]
    return bool(working) and not any(each.takes_queue(DEFAULT_QUEUE) for each in given)


def refused_runs(listed: Iterable[ListedWorker]) -> dict[str, str]:
    """Ids of the runs that the engine's queue does not take, as present workers say, with the reason in words."""
    return {run_id: why for each in listed if not each.is_lost for run_id, why in each.report.refused.items()}


def unserved_runs(placed: Iterable[PlacedRun], listed: Iterable[ListedWorker]) -> dict[WorkerNeed, list[str]]:
    """Ids of the runs that no worker takes up, by what they need of a worker."""
    listed = list(listed)
    refused = refused_runs(listed)
    found: dict[WorkerNeed, list[str]] = {}
    for run in placed:
        taken = any(run.need.is_met_by(each) and not each.report.queue_error for each in listed)
        if run.run_id in refused or not taken:
            found.setdefault(run.need, []).append(run.run_id)
    return found


class WorkerRegistry(Protocol):
    """The part of a journal that workers share. All methods raise `JournalError` when the store fails."""

    async def beat(self, report: WorkerReport) -> None:
        """Say that this worker is there. Forgets workers that have been silent for long."""
        ...

    async def sign_off(self, worker_id: str) -> None:
        """Say that a worker has ended."""
        ...

    async def workers(self) -> list[ListedWorker]:
        """Workers, lost ones too, in the order in which they came."""
        ...

    async def placed_runs(self, *, everywhere: bool = False) -> list[PlacedRun]:
        """Runs that could go on now and that no worker drives, of those that are not for every worker: with a label, or
        in another queue than the default. With `everywhere` all others, too.
        """
        ...

    async def take_claim(self, name: str, owner: str, ttl_s: float) -> bool:
        """Have the claim `name` for `ttl_s` seconds from now; also to prolong it. False while another holds it."""
        ...

    async def drop_claim(self, name: str, owner: str) -> None:
        """Give a claim back. Quiet if it is another's by now."""
        ...

    async def make_partitions(self) -> int:
        """Make the partition for the runs to come, where the store keeps runs in partitions; how many were made."""
        ...
