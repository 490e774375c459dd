"""The page of workers: where a run without a worker is moved to, and what it is said to wait for."""

from __future__ import annotations

from datetime import UTC, datetime

from runtime.operations.requests.workers import UnservedRuns, Worker, WorkerList, WorkerState
from screens.views.lists.workers import MoveTarget, move_target

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def worker(name: str, code: str, *queues: str, state: WorkerState = "working") -> Worker:
    return Worker(
        id=name, state=state, place="host:7", slots=4, driving=(), code=code, queues=queues, keys=(), program="p",
        alive_since=NOW, heard_s=0.0, held_up="",
    )  # fmt: skip


def test_a_run_is_moved_to_the_newest_worker_of_its_queue_and_else_to_another_queue() -> None:
    waiting = (UnservedRuns(code="v1", queue="gpu", runs=("r1",)), UnservedRuns(code="v1", queue="mail", runs=("r2",)))
    workers = (worker("a", "v2", "gpu"), worker("b", "v3", "default", "cpu"), worker("c", "v4", "gpu", state="lost"))
    found = WorkerList(workers=workers, unserved=waiting, newest="v3")
    assert move_target(found, "r1") == MoveTarget("v2", ""), "the newest label of all takes no run of its queue"
    assert move_target(found, "r2") == MoveTarget("v3", "default")
    assert [each.words for each in (MoveTarget("v2", ""), MoveTarget("", "gpu"))] == ["code v2", "code any, queue gpu"]
    assert move_target(WorkerList(unserved=waiting), "r1") is None
    assert move_target(WorkerList(workers=(worker("a", "v2"),), unserved=waiting), "r2") == MoveTarget("v2", "")


def test_a_run_waits_for_a_worker_or_for_the_queue() -> None:
    assert UnservedRuns(code="", queue="gpu", runs=("r",)).need == "a worker that takes the queue 'gpu'"
    said = UnservedRuns(code="", runs=("r",), queue_error="The connection failed").need
    assert said == "the queue, which gives no runs to workers now: The connection failed"
