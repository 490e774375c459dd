"""`DbosEngine`: DBOS gives the runs of a workspace on Postgres to its workers, with limits over all of them.

The journal stays the truth. DBOS says which worker drives a run, and how many runs of a swarm there are at once. A run
is queued in the transaction that makes it one that can go on (`dbos_schema`); one worker at a time looks for what was
not, for workers that died, and queues it. To be queued twice costs a claim that is refused. DBOS's own recovery, its
steps and its timers are not used: leases, waits and results are the journal's.

One process can have one such engine, as DBOS is one for each process.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from itertools import product
from typing import Protocol

import sqlalchemy
from dbos import DBOS

from runtime.execution.execution_config import ExecutionConfig
from runtime.record.address import PostgresAddress
from runtime.record.state.operator_terms import DEFAULT_QUEUE
from runtime.record.workers import ListedWorker, newest_label
from runtime.worker.engines.dbos_process import ask_dbos, begin_dbos, end_dbos
from runtime.worker.engines.dbos_schema import WORKFLOW, code_version, dispatch_queue
from runtime.worker.engines.dbos_tables import KEPT_S, UNCLAIMED_S, QueueTables, RefusedRun
from runtime.worker.engines.port import DriveRun, EngineError, FindRuns, TakenUp

log = logging.getLogger("runtime.supervisor")

LOOK_S = 1.0
"""How often, in seconds, a worker looks at the queue itself, beside what DBOS does; and when a lease ends."""
POLL_S = 0.25
"""How often, in seconds, DBOS looks for a slice that a worker could take."""
CARE_S = 5.0
"""For how long, in seconds, one worker cares for the queue before another one does, where it says nothing more."""
_AFTER_LEASE_S = 0.02
CARE = "queue"
"""The claim of the worker that cares for the queue."""


class Claims(Protocol):
    """What an engine needs of a journal."""

    async def take_claim(self, name: str, owner: str, ttl_s: float) -> bool: ...

    async def drop_claim(self, name: str, owner: str) -> None: ...


_serving: list[DbosEngine] = []
"""The engine of this process."""


@DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)
async def _drive_run(run_id: str) -> str:
    """One slice: a drive of a run. On DBOS's own loop."""
    engine = _serving[0] if _serving else None
    return await engine.serve(run_id, DBOS.workflow_id or "") if engine is not None else "left"


class DbosEngine:
    """Drives what DBOS gives to this worker, at most `slots` runs at once.

    Args:
        carry_on: Drives one run.
        find: Not used: runs are found in the queue's tables.
        address: Where the workspace is.
        journal: For the claim on caring for the queue.
        worker_id: This worker's id in the journal.
        config: Its slots, queues and label of code, and the limits of swarms over all workers.
        now: A test's time, in seconds; None for the server's.
        look_s: See `LOOK_S`.
        care_s: See `CARE_S`.
        unclaimed_s: See `UNCLAIMED_S`.
    """

    def __init__(
        self,
        carry_on: DriveRun,
        find: FindRuns,
        *,
        address: PostgresAddress,
        journal: Claims,
        worker_id: str,
        config: ExecutionConfig,
        now: Callable[[], float] | None = None,
        look_s: float = LOOK_S,
        care_s: float = CARE_S,
        unclaimed_s: float = UNCLAIMED_S,
    ) -> None:
        del find
        self._carry_on = carry_on
        self._address = address
        self._journal = journal
        self._worker_id = worker_id
        self._slots = config.slots
        self._code = config.code
        self._limits = config.limits
        self._queues = config.queues or (DEFAULT_QUEUE,)
        self._now = now
        self._look_s = look_s
        self._care_s = care_s
        self._unclaimed_s = unclaimed_s
        self._tables = QueueTables(address)
        self._room = asyncio.Semaphore(config.slots)
        self._driving: dict[str, asyncio.Future[str]] = {}
        self._refused: dict[str, RefusedRun] = {}
        self._unqueued: dict[str, asyncio.Task[str]] = {}
        self._has_room = True
        self._held: frozenset[str] = frozenset()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._launching: asyncio.Task[None] | None = None
        self._pool: sqlalchemy.Engine | None = None
        self._look_at = 0.0
        self._care_at = 0.0
        self._latest = ""
        self._leaving = False
        self._served = False

    @property
    def driving(self) -> list[str]:
        return list(self._driving)

    @property
    def refused(self) -> dict[str, str]:
        return {each.run_id: str(each.error) for each in self._refused.values()}

    @property
    def _dispatched(self) -> list[str]:
        """The queues of DBOS that this worker takes runs from."""
        return [dispatch_queue(queue, ref) for queue in self._queues for ref in ("", *self._limits)]

    async def take_up(self, held: Collection[str]) -> TakenUp:
        self._held = frozenset(held)
        if self._leaving:
            return TakenUp(found=False, has_room=True)
        await self._launched()
        if time.monotonic() < self._look_at:
            return TakenUp(found=False, has_room=self._has_room)
        found = 0
        cares = time.monotonic() >= self._care_at
        if cares and await self._journal.take_claim(CARE, self._worker_id, self._care_s):
            found = await self._care()
        else:
            self._keep_refused(())
        outlook = await self._tables.outlook(self._dispatched, self._now() if self._now is not None else None)
        self._has_room = not outlook.has_waiting
        ends_s = self._look_s if outlook.lease_ends_s is None else outlook.lease_ends_s + _AFTER_LEASE_S
        self._look_at = time.monotonic() + min(self._look_s, ends_s)
        return TakenUp(found=bool(found), has_room=self._has_room)

    async def serve(self, run_id: str, slice_id: str) -> str:
        """One slice. Called on DBOS's loop; the run is driven on that of the worker."""
        if self._loop is None or self._leaving:
            return "left"
        driven = asyncio.run_coroutine_threadsafe(self._drive(run_id, slice_id), self._loop)
        # That DBOS ends its loop stops no drive: the worker does that.
        return await asyncio.shield(asyncio.wrap_future(driven))

    async def join(self) -> None:
        self._leaving = True
        while self._driving or self._unqueued:
            await asyncio.wait([*self._driving.values(), *self._unqueued.values()])
        if self._launching is not None:
            await asyncio.gather(self._launching, return_exceptions=True)
            await asyncio.to_thread(self._end)
        await self._tables.close()

    async def _drive(self, run_id: str, slice_id: str) -> str:
        waited = self._room.locked()
        async with self._room:
            if self._leaving or run_id in self._driving:
                return "left"
            if run_id in self._held:
                return "held up"
            done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            self._driving[run_id] = done
            try:
                if slice_id and waited and not await self._tables.is_mine(slice_id, self._worker_id):
                    return "left"  # it waited here for too long, and was given to another worker
                self._served = True
                outcome = await self._carry_on(run_id)
                log.info("run %s: %s", run_id, outcome)
            except Exception:
                log.exception("run %s: its drive failed; it is tried again when its lease has run out", run_id)
                return "failed"
            finally:
                del self._driving[run_id]
                done.set_result("")
            return outcome

    async def _care(self) -> int:
        """What one worker does for all: away with slices of which nothing comes, and in with runs that are missing."""
        now = self._now() if self._now is not None else None
        kept_s = max([KEPT_S, *(each.period_s for each in self._limits.values())])
        obsolete = await self._tables.obsolete(now, kept_s, self._unclaimed_s)
        if obsolete:
            await ask_dbos(partial(DBOS.delete_workflows, obsolete), "the queue cannot be used")
        workers = await self._tables.workers(now)
        await self._tables.reroute(workers)
        newest = newest_label(workers)
        if newest is not None and newest != self._latest:
            # Slices without a label are given to workers of the version that is called the latest.
            latest = partial(DBOS.set_latest_application_version, code_version(newest))
            await ask_dbos(latest, "the queue cannot be used")
            self._latest = newest
        return await self._enqueue_missing(now, workers)

    async def _enqueue_missing(self, now: float | None, workers: Sequence[ListedWorker] = ()) -> int:
        found, refused = await self._tables.enqueue_missing(now)
        for each in refused:
            if each.run_id not in self._refused:
                log.error("run %s is driven without the queue, and no limit holds for it: %s", each.run_id, each.error)
        self._keep_refused(refused)
        left = [each for each in refused if not self._drive_refused(each)]
        if any(each.need.is_met_by(worker) for each in left for worker in workers):
            # Another worker may drive it, and does so when it cares for the queue.
            self._care_at = time.monotonic() + 3 * self._look_s
            await self._journal.drop_claim(CARE, self._worker_id)
        return found

    def _keep_refused(self, refused: Iterable[RefusedRun]) -> None:
        driven = [each for each in self._refused.values() if each.run_id in self._unqueued]
        self._refused = {each.run_id: each for each in (*driven, *refused)}

    def _drive_refused(self, refused: RefusedRun) -> bool:
        """Drive a run here that the queue refuses, if this worker may: an enqueue may not keep a run from going on."""
        need, run_id = refused.need, refused.run_id
        if need.code not in ("", self._code) or need.queue not in self._queues:
            return False
        if run_id not in self._unqueued:
            task = asyncio.create_task(self._drive(run_id, ""), name=f"drive {run_id}")
            self._unqueued[run_id] = task
            task.add_done_callback(lambda _: self._unqueued.pop(run_id, None))
        return True

    async def _launched(self) -> None:
        """See that DBOS has begun.

        Raises:
            EngineError: it has not.
        """
        if self._launching is None:
            if _serving and _serving[0] is not self:
                raise EngineError("another worker of this process uses DBOS: start one process for each worker")
            _serving[:] = [self]
            self._loop = asyncio.get_running_loop()
            self._launching = asyncio.create_task(self._launch(), name="launch DBOS")
        try:
            async with asyncio.timeout(10.0):
                await asyncio.shield(self._launching)
        except TimeoutError as exc:
            raise EngineError("DBOS has not begun yet: is the database there?") from exc
        except EngineError:
            self._launching = None
            await asyncio.to_thread(self._end)
            raise

    async def _launch(self) -> None:
        # Before DBOS looks for what it can give to this worker.
        await self._tables.limit(self._limits)
        await ask_dbos(self._begin, "DBOS cannot begin")

    def _begin(self) -> None:
        self._pool = begin_dbos(self._address, worker_id=self._worker_id, code=self._code, queues=self._dispatched)
        register = partial(DBOS.register_queue, polling_interval_sec=POLL_S, on_conflict="always_update")
        for queue in self._queues:
            register(dispatch_queue(queue), worker_concurrency=self._slots)
        for queue, (ref, limit) in product(self._queues, self._limits.items()):
            room = limit.concurrency
            register(
                dispatch_queue(queue, ref),
                global_concurrency=room,
                worker_concurrency=self._slots if room is None else min(self._slots, room),
                limiter={"limit": limit.starts, "period": limit.period_s} if limit.starts is not None else None,
            )

    def _end(self) -> None:
        if self._pool is not None:
            # With slices that have just ended a moment is given in which DBOS writes that down; it looks every second.
            end_dbos(self._pool, patience_s=1 if self._served else 0)
            self._pool = None
        if _serving and _serving[0] is self:
            _serving.clear()
