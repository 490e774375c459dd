"""Workers of one workspace: what each says of itself, and claims, which keep two of them from doing the same thing.

A claim is a lease on a name, for work that belongs to no run: an analysis, a notice. It runs out by itself, so that
another worker goes on where the first one died.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

import msgspec

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
        keys: Names of the variables with providers' keys that are set there. Never a value.
        program: Name and version of the program.
        alive_since: Since when it, or another before it, has been there without a break.
        draining: Whether it takes no more runs, and ends when those that it drives are at rest.
        held_up: What holds it up, in words; else empty.
    """

    id: str
    place: str
    slots: int
    code: str = ""
    keys: tuple[str, ...] = ()
    program: str = ""
    alive_since: datetime
    draining: bool = False
    held_up: str = ""


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


@dataclass(slots=True, frozen=True)
class LabelledRun:
    """A run that could go on now, and the label of the code that it is to go on with."""

    run_id: str
    code: str


def newest_label(listed: Iterable[ListedWorker]) -> str | None:
    """The label of the worker that came last, of those that take up runs; None if no worker does."""
    served = [each.report.code for each in listed if each.takes_runs]
    return served[-1] if served else None


def unserved_runs(labelled: Iterable[LabelledRun], listed: Iterable[ListedWorker]) -> dict[str, list[str]]:
    """Runs for which there is no worker: their ids, by the label that they wait for."""
    served = {each.report.code for each in listed if each.takes_runs}
    found: dict[str, list[str]] = {}
    for run in labelled:
        if run.code not in served:
            found.setdefault(run.code, []).append(run.run_id)
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

    async def labelled_runs(self) -> list[LabelledRun]:
        """Runs with a label that could go on now, and that no worker drives."""
        ...

    async def take_claim(self, name: str, owner: str, ttl_s: float) -> bool:
        """Have the claim `name` for `ttl_s` seconds from now; also to prolong it. False while another holds it."""
        ...

    async def drop_claim(self, name: str, owner: str) -> None:
        """Give a claim back. Quiet if it is another's by now."""
        ...
