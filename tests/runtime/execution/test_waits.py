"""Waiting: deadlines that could not be kept, clocks that jump, retries that are all overdue at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from runtime.execution.deadlines import OVERDUE_SPREAD, overdue_delay
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.wait_tracker import Wait, WaitTracker
from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.operations.run_controls import RunControls
from runtime.record.journal import JournalError
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.worker.supervisor import Supervisor
from tests.patience import PATIENCE_S
from tests.runtime.bench import ME, Bench

HOUR = 3600.0


class Clock:
    """The computer's clock, and an administrator who sets it."""

    def __init__(self) -> None:
        self.set_by = timedelta()
        self.slept_s = 0.0

    def __call__(self) -> datetime:
        return ev.utc_now() + self.set_by

    def jump(self, seconds: float) -> None:
        self.set_by += timedelta(seconds=seconds)

    def sleep(self, seconds: float) -> None:
        """The computer sleeps: its clock goes on, and it knows."""
        self.slept_s += seconds
        self.jump(seconds)

    def slept(self) -> float:
        return self.slept_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def bench(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    async with await open_journal(tmp_path, clock=clock) as journal:
        yield Bench(tmp_path, journal)


@asynccontextmanager
async def driving(
    bench: Bench,
    clock: Clock,
    *,
    deadline_s: float | None = None,
    policy: RetryPolicy | None = None,
    gap_s: float = 5.0,
    grace_s: float = 0.0,
) -> AsyncIterator[Supervisor]:
    config = ExecutionConfig(
        workspace=str(bench.root),
        policy=policy or RetryPolicy(max_attempts=1),
        grace_s=grace_s,
        deadline_s=deadline_s,
        errors=FaultHandling(enable_circuit_breaker=False),  # these are about waits, and many runs fail at once
    )
    supervisor = Supervisor(bench.journal, config, clock=clock, period_s=0.02, gap_s=gap_s, slept=clock.slept)
    serving = asyncio.create_task(supervisor.serve())
    try:
        yield supervisor
    finally:
        supervisor.stop()
        await serving


async def _parked(bench: Bench, clock: Clock, deadline_s: float) -> str:
    async with driving(bench, clock, deadline_s=deadline_s):
        run = await bench.start("saver")
        await bench.until(run, lambda s: s.phase == "waiting")
    return run


def _wakes(state: DurableRun) -> datetime:
    assert state.wake_at is not None
    return state.wake_at


async def test_the_grace_time_holds_also_where_no_other_run_can_ask_for_room() -> None:
    """A drive without a supervisor hears of no others that wait for its place."""
    idle: asyncio.Future[frozenset[Wait]] = asyncio.get_running_loop().create_future()
    tracker = WaitTracker(lambda _: False, 0.3, None, idle.set_result)
    wait = Wait(incident_id="i")
    with tracker.waiting(tracker.open_activity(None), wait):
        began = asyncio.get_running_loop().time()
        assert await idle == {wait}
        assert asyncio.get_running_loop().time() - began >= 0.3


async def test_a_deadline_takes_the_safe_default_also_of_a_run_that_is_parked(bench: Bench, clock: Clock) -> None:
    async with driving(bench, clock, deadline_s=HOUR, gap_s=1e9) as supervisor:
        run = await bench.start("saver")
        await bench.until(run, lambda s: s.phase == "waiting")
        while supervisor.driving:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.01)
        clock.jump(HOUR + 1)
        state = await bench.ended(run)
    (incident,) = state.incidents.values()
    assert incident.answer is not None
    assert (incident.answer.option, incident.answer.by.name) == ("deny", "deadline")
    assert bench.effects == []


async def test_a_deadline_that_passed_while_nobody_was_alive_gets_its_time_anew(bench: Bench, clock: Clock) -> None:
    run = await _parked(bench, clock, HOUR)
    clock.jump(24 * HOUR)
    began = clock()
    async with driving(bench, clock, deadline_s=HOUR, gap_s=1e9):
        state = await bench.until(run, lambda s: s.phase == "waiting" and s.lives == 2)
        assert began + timedelta(seconds=HOUR) <= _wakes(state) <= clock() + timedelta(seconds=HOUR)
        assert len(state.open_incidents) == 1
        clock.jump(HOUR + 1)
        state = await bench.ended(run)
    assert state.lives >= 3  # with no grace it may be let go of while its answer is being written


async def test_a_computer_that_slept_answers_nothing_by_itself(bench: Bench, clock: Clock) -> None:
    async with driving(bench, clock, deadline_s=HOUR):
        run = await bench.start("saver")
        await bench.until(run, lambda s: s.phase == "waiting")
        clock.sleep(5 * HOUR)
        state = await bench.until(run, lambda s: s.phase == "waiting" and s.lives == 2)
        assert len(state.open_incidents) == 1
        assert _wakes(state) > clock() + timedelta(seconds=HOUR / 2)


async def test_a_clock_set_back_makes_no_wait_longer(bench: Bench, clock: Clock) -> None:
    async with driving(bench, clock, deadline_s=0.3, grace_s=60.0):
        run = await bench.start("saver")
        await bench.incidents(run)
        clock.jump(-24 * HOUR)
        state = await bench.ended(run)
    assert state.output.startswith("saved: Denied by the operator")


async def test_a_clock_set_back_wakes_a_parked_run_within_its_wait(bench: Bench, clock: Clock) -> None:
    async with driving(bench, clock, deadline_s=0.5, gap_s=5.0) as supervisor:
        run = await bench.start("saver")
        await bench.until(run, lambda s: s.phase == "waiting")
        while supervisor.driving:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.01)
        clock.jump(-24 * HOUR)
        async with asyncio.timeout(PATIENCE_S):
            state = await bench.ended(run)
    (incident,) = state.incidents.values()
    assert incident.answer is not None
    assert incident.answer.by.name == "deadline"
    assert incident.answer.ts - incident.opened.ts >= timedelta(seconds=0.45), "no earlier either"


async def test_a_clock_set_back_while_nobody_was_alive_is_seen_at_the_start(bench: Bench, clock: Clock) -> None:
    run = await _parked(bench, clock, HOUR)
    clock.jump(-24 * HOUR)
    async with driving(bench, clock, deadline_s=HOUR):
        state = await bench.until(run, lambda s: s.phase == "waiting" and s.lives == 2)
        assert clock() + timedelta(seconds=HOUR - 60) <= _wakes(state) <= clock() + timedelta(seconds=HOUR)
    async with driving(bench, clock, deadline_s=HOUR):
        await bench.ended(await bench.start("plain"))
    assert (await bench.state(run)).lives == 2, "it waits by the new time now: nothing rouses it again"


async def test_a_retry_that_is_parked_is_made_in_time_though_the_clock_was_set_back(bench: Bench, clock: Clock) -> None:
    async with driving(bench, clock, gap_s=5.0) as supervisor:
        run, incident = await bench.asked("throttled")
        await bench.answer(incident, "wait_retry", seconds=5)
        await bench.until(run, lambda s: s.phase == "waiting" and s.wake_at is not None)
        while supervisor.driving:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.01)
        clock.jump(-HOUR)
        async with asyncio.timeout(PATIENCE_S):
            await bench.until(run, lambda s: any(node.attempts == 2 for node in s.nodes.values()))


async def test_to_be_frozen_is_no_time_to_answer_in(bench: Bench, clock: Clock) -> None:
    controls = RunControls(bench.journal)
    async with driving(bench, clock, deadline_s=0.3, grace_s=60.0):
        run = await bench.start("saver")
        await bench.incidents(run)
        await controls.freeze(run, by=ME)
        await asyncio.sleep(0.5)
        assert (await bench.state(run)).open_incidents
        await controls.thaw(run, by=ME)
        state = await bench.ended(run)
    (incident,) = state.incidents.values()
    assert incident.answer is not None
    assert state.thawed_at is not None
    assert incident.answer.ts - state.thawed_at >= timedelta(seconds=0.25)


async def test_retries_that_are_all_overdue_start_spread_out(bench: Bench, clock: Clock) -> None:
    policy = RetryPolicy(max_attempts=4, base=60.0, jitter=0.0)
    async with driving(bench, clock, policy=policy, grace_s=60.0):
        runs = [await bench.start("down", f"task {number}") for number in range(2)]
        for run in runs:
            await bench.until(run, lambda s: any(node.retry is not None for node in s.nodes.values()))
    clock.jump(HOUR)
    alive = ev.utc_now()
    async with driving(bench, clock, policy=policy, grace_s=60.0):
        for run in runs:
            await bench.until(run, lambda s: any(node.attempts == 2 for node in s.nodes.values()))
    for run in runs:
        (begun,) = [
            event.ts
            for event in await bench.journal.read(run)
            if isinstance(event, ev.StepStarted) and event.attempt == 2
        ]
        assert begun - alive >= overdue_delay(f"{run}/down~0/llm~0", timedelta(seconds=60)) - timedelta(seconds=0.05)


def test_what_is_spread_is_spread_evenly_and_never_far() -> None:
    parts = [overdue_delay(f"run-{number}", timedelta(hours=1)) for number in range(10_000)]
    assert all(timedelta() <= part < OVERDUE_SPREAD for part in parts)
    for tenth in range(10):
        inside = sum(OVERDUE_SPREAD / 10 * tenth <= part < OVERDUE_SPREAD / 10 * (tenth + 1) for part in parts)
        assert 800 < inside < 1200
    assert overdue_delay("x", timedelta(seconds=0.01)) < timedelta(seconds=0.01)


async def test_a_wait_that_was_asked_for_before_the_clock_was_set_back_is_as_long_as_was_said(
    bench: Bench, clock: Clock
) -> None:
    async with driving(bench, clock):
        run, incident = await bench.asked("throttled")
        await bench.until(run, lambda s: s.phase == "waiting")
    await bench.answer(incident, "wait_retry", seconds=0.3)
    clock.jump(-24 * HOUR)
    async with driving(bench, clock):
        async with asyncio.timeout(PATIENCE_S):
            await bench.until(run, lambda s: any(node.attempts == 2 for node in s.nodes.values()))


@pytest.mark.parametrize("step", [-24 * HOUR, -HOUR / 4, HOUR / 4, 5 * HOUR])
async def test_a_clock_that_is_set_under_a_parked_run_makes_its_wait_neither_longer_nor_shorter(
    bench: Bench, clock: Clock, step: float
) -> None:
    async with driving(bench, clock, deadline_s=HOUR) as supervisor:
        run = await bench.start("saver")
        before = _wakes(await bench.until(run, lambda s: s.phase == "waiting"))
        while supervisor.driving:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.01)
        clock.jump(step)
        state = await bench.until(run, lambda s: s.wake_at not in (None, before))
        assert abs((_wakes(state) - before).total_seconds() - step) < 2.0
        (incident,) = state.open_incidents
        assert incident.opened.deadline is not None
        assert abs((incident.opened.deadline - _wakes(state)).total_seconds()) < 2.0
        summary = await bench.journal.summary(run)
        assert summary is not None
        assert summary.wake_at == state.wake_at, "by which it is taken up"
        assert (state.lives, state.anomalies) == (1, 0), "no process needs to drive it for that"
        clock.jump(2.0)  # no step worth the name, and none that it would be told of
    assert (await bench.state(run)).wake_at == state.wake_at


async def test_a_clock_that_is_set_counts_as_no_work(bench: Bench, clock: Clock) -> None:
    """Budgets of time are reckoned from the events' times."""
    state = DurableRun(id="r", phase="running")
    now = clock()
    begins = ev.StepStarted(kind="tool", name="t", agent="a", node_id="t~0", attempt=1, epoch=1, ts=now)
    for event in (begins, ev.ClockStepped(seconds=HOUR, ts=now + timedelta(seconds=HOUR + 1))):
        state.apply(event)
    assert state.active_seconds(now + timedelta(seconds=HOUR + 3)) == pytest.approx(3.0)


async def test_a_run_that_has_ended_is_told_of_no_clock(bench: Bench, clock: Clock) -> None:
    async with driving(bench, clock):
        run = await bench.start("plain")
        await bench.ended(run)
    with pytest.raises(JournalError, match="waits for nothing"):
        await bench.journal.post(run, ev.ClockStepped(seconds=60.0))
    assert (await bench.state(run)).anomalies == 0
