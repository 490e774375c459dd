"""Writes of leases, and what only the holder of a lease may write: no I/O here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from runtime.record.journal import Fenced, Lease
from runtime.record.rules.batch import Batch, RunRow, Write


@dataclass(slots=True)
class ClaimLease(Write):
    run_id: str
    owner: str
    ttl_s: float
    code: str | None = None
    queues: Collection[str] | None = None
    begins = True

    def run_ids(self) -> Sequence[str]:
        return (self.run_id,)

    def apply(self, batch: Batch) -> Lease | None:
        run = batch.runs.get(self.run_id)
        if run is None or not run.runnable(batch.now) or run.leased(batch.now):
            return None
        if not run.allows(self.code, self.queues):
            return None
        if run.lease_until is not None and run.owner == self.owner:
            return None  # this process drives it, however late it is: it renews, it does not start a second drive
        run.epoch += 1
        run.owner, run.lease_ttl, run.lease_until = self.owner, self.ttl_s, batch.now + self.ttl_s
        batch.touch(run)
        return Lease(run.id, run.owner, run.epoch, self.ttl_s, run.last_seq)


@dataclass(slots=True)
class LeasedWrite(Write):
    """What only the holder of a lease may do. An expired lease that was not taken over is still its holder's."""

    lease: Lease

    def run_ids(self) -> Sequence[str]:
        return (self.lease.run_id,)

    def leased_run(self, batch: Batch) -> RunRow:
        run = batch.runs.get(self.lease.run_id)
        if run is None:
            raise Fenced(f"run {self.lease.run_id} is not in the journal (pruned?)")
        if run.lease_until is None or run.epoch != self.lease.epoch or run.owner != self.lease.owner:
            holder = f"{run.owner} holds epoch {run.epoch}" if run.lease_until is not None else "it was given back"
            mine = f"the lease of {self.lease.owner} on run {run.id}, epoch {self.lease.epoch}"
            raise Fenced(f"{mine}, is over: {holder}")
        return run


def give_back(batch: Batch, run: RunRow) -> None:
    """End a run's lease: any process may take the run up."""
    run.lease_until, run.owner = None, ""
    batch.touch(run)


@dataclass(slots=True)
class RenewLease(LeasedWrite):
    def apply(self, batch: Batch) -> None:
        run = self.leased_run(batch)
        run.lease_until, run.lease_ttl = batch.now + self.lease.ttl_s, self.lease.ttl_s
        batch.touch(run)


@dataclass(slots=True)
class ReleaseLease(LeasedWrite):
    def apply(self, batch: Batch) -> None:
        try:
            run = self.leased_run(batch)
        except Fenced:
            return
        give_back(batch, run)


@dataclass(slots=True)
class ExpireLease(LeasedWrite):
    """False if the lease is another's by now."""

    def apply(self, batch: Batch) -> bool:
        try:
            run = self.leased_run(batch)
        except Fenced:
            return False
        run.lease_until = 0.0
        batch.touch(run)
        return True
