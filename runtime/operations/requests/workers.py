"""Requests about workers: which there are, and for which code a run is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal

from msgspec import Struct

from runtime.operations.requests.runs import RunState
from runtime.operations.requests.struct import Instant, Request, Text
from runtime.record.state.operator_terms import DEFAULT_QUEUE, need_words

WorkerState = Literal["working", "draining", "lost"]


class Worker(Struct, frozen=True, kw_only=True):
    """A worker: a process that drives runs.

    `place`: its machine and process. `driving`: ids of the runs whose leases it holds. `keys`: names of the variables
    with keys of providers that are set there. `heard_s`: seconds since it last said that it is there. `held_up`: what
    holds it up, in words. `queues`: those whose runs it drives; empty: of every queue.
    """

    id: str
    state: WorkerState
    place: str
    slots: int
    driving: tuple[str, ...]
    code: str
    queues: tuple[str, ...] = ()
    keys: tuple[str, ...]
    program: str
    alive_since: Instant
    heard_s: float
    held_up: str

    @property
    def named_queues(self) -> tuple[str, ...]:
        """Its queues, where they are not the usual one."""
        return self.queues if set(self.queues) - {DEFAULT_QUEUE} else ()


class UnservedRuns(Struct, frozen=True, kw_only=True):
    """Runs that could go on, and wait for a worker with code of the label `code` (empty: any) that takes `queue`.
    `queue_error`: why the engine's queue gives them to no such worker, where there is one; else empty. `refused`: why
    the engine's queue does not take them, so that a worker must find them without it; else empty.
    """

    code: str
    queue: str = DEFAULT_QUEUE
    runs: tuple[str, ...]
    queue_error: str = ""
    refused: str = ""

    @classmethod
    def by_need(cls, found: Iterable[tuple[tuple[str, str], Sequence[str]]]) -> tuple[UnservedRuns, ...]:
        """Ids of runs, each with the label and the queue that they need, in the order of these."""
        return tuple(cls(code=code, queue=queue, runs=tuple(runs)) for (code, queue), runs in sorted(found))

    @property
    def need(self) -> str:
        """What they wait for, after the word ``for``."""
        if self.queue_error:
            return f"the queue, which gives no runs to workers now: {self.queue_error}"
        without = f", without the queue: {self.refused}" if self.refused else ""
        return f"a worker {need_words(self.code, self.queue)}{without}"


class WorkerList(Struct, frozen=True, kw_only=True):
    """`newest`: the label of the worker that came last, of those that take up runs; none takes any: null."""

    workers: tuple[Worker, ...] = ()
    unserved: tuple[UnservedRuns, ...] = ()
    newest: str | None = None

    @property
    def named_queues(self) -> tuple[str, ...]:
        """The queues that workers take which take up runs, where one of them is not the usual one."""
        return tuple(sorted({queue for each in self.workers if each.state == "working" for queue in each.named_queues}))


class ListWorkers(Request[WorkerList], frozen=True):
    """The workers of the workspace in the order in which they came, and runs for which there is none."""

    verb: ClassVar[str] = "workers"


class MoveRun(Request[RunState], frozen=True):
    """Let a run go on with code of another label (an empty one: of any; null: of the same), or by workers of another
    `queue`. Who drives it now goes on until it lets go.
    """

    verb: ClassVar[str] = "move"
    acts: ClassVar[bool] = True

    run_id: Text
    code: str | None = None
    queue: str = ""
