"""A scheduler of transactions: processes that share a journal go on one transaction at a time, as a test says.

Each process has a journal object of its own on the same file. What it writes, and what it hears of others, waits at a
gate until the test opens it. Time is the test's, too: timers run when `World.tick` moves the clock. So the order of
everything is the test's choice, and the same choices give the same history.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from orbiter.errors import OrbiterError
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.operations.decisions import Decisions
from runtime.operations.run_controls import RunControls
from runtime.record.journal import AppendEnded, JournalError, Lease
from runtime.record.journal_care import JournalCare
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Summary, fold_events
from runtime.worker.drive import drive
from runtime.worker.stop_signal import StopSignal

SWARMS = Path(__file__).parents[2] / "data" / "swarms" / "parking.py"
ME = ev.Actor(name="tester", channel="cli")
WRITES = frozenset({"create", "claim", "release", "renew", "answer", "post"})
OF_OPERATORS = frozenset({"read", "incidents", "incident", "summary", "grants", "freezes", "runs"})


class Loop(asyncio.SelectorEventLoop):
    """An event loop whose clock only the test moves. `busy`: calls that a thread carries out now."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.busy = 0
        super().__init__()

    def time(self) -> float:
        return self.now

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]
        self.busy += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._done)
        return future

    def _done(self, _: Any) -> None:
        self.busy -= 1

    @property
    def next_timer(self) -> float | None:
        """When the next timer is due."""
        timers = self._scheduled  # type: ignore[attr-defined]
        return min((timer.when() for timer in timers if not timer.cancelled()), default=None)

    async def quiet(self) -> None:
        """Return once every task waits for a gate or a timer."""
        calm = 0
        while calm < 3:
            await asyncio.sleep(0)
            if self.busy:
                time.sleep(0.0001)  # noqa: ASYNC251 - a thread works, and nothing else is to
            calm = 0 if self.busy or self._ready else calm + 1  # type: ignore[attr-defined]


class Gates:
    """Who waits to go on, by process and lane, each lane in order."""

    def __init__(self) -> None:
        self._lanes: dict[tuple[str, str], deque[asyncio.Future[None]]] = {}

    def enter(self, who: str, lane: str) -> asyncio.Future[None]:
        gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lanes.setdefault((who, lane), deque()).append(gate)
        return gate

    def closed(self) -> list[tuple[str, str]]:
        """Lanes at whose head a task waits."""
        for lane in self._lanes.values():
            while lane and lane[0].done():
                lane.popleft()
        return [key for key, lane in self._lanes.items() if lane]

    def open(self, key: tuple[str, str]) -> None:
        self._lanes[key].popleft().set_result(None)

    def break_off(self, who: str) -> None:
        """The process is gone: what it was about to do never happens."""
        for key, lane in self._lanes.items():
            if key[0] == who:
                for gate in lane:
                    if not gate.done():
                        gate.set_exception(JournalError("this process was killed"))
                lane.clear()


class Gated:
    """A process's journal. The connection's writes go in their order; what it hears of others has a lane of its own."""

    def __init__(self, inner: JournalCare, gates: Gates, who: str, gated: Collection[str]) -> None:
        self.inner = inner
        self.dead = False
        self._gates = gates
        self._who = who
        self._gated = gated

    def _refuse_when_dead(self) -> None:
        if self.dead:
            raise JournalError("this process was killed")

    def _enter(self, lane: str) -> asyncio.Future[None]:
        self._refuse_when_dead()
        return self._gates.enter(self._who, lane)

    async def _carried_out(self, call: Callable[[], Awaitable[Any]], gate: asyncio.Future[None] | None) -> Any:
        if gate is not None:
            await gate
        self._refuse_when_dead()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Loop)
        loop.busy += 1
        try:
            return await call()
        finally:
            loop.busy -= 1

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)

        async def call(*args: Any, **more: Any) -> Any:
            gate = self._enter("write" if name in WRITES else "read") if name in self._gated else None
            return await self._carried_out(lambda: method(*args, **more), gate)

        return call

    def has_nothing_after(self, run_id: str, seq: int) -> bool:
        return False  # never told without waiting

    def append(
        self,
        lease: Lease,
        events: Sequence[ev.JournalEvent],
        *,
        summary: Summary | None = None,
        seen: int | None = None,
        release: bool = False,
        ended: AppendEnded | None = None,
    ) -> Awaitable[Sequence[ev.JournalEvent]]:
        given: dict[str, Any] = {"summary": summary, "seen": seen, "release": release, "ended": ended}
        append = partial(self.inner.append, lease, events, **given)
        return asyncio.shield(asyncio.ensure_future(self._append(append, self._enter("write"), ended)))

    async def _append(
        self,
        append: Callable[[], Awaitable[Sequence[ev.JournalEvent]]],
        gate: asyncio.Future[None],
        ended: AppendEnded | None,
    ) -> Sequence[ev.JournalEvent]:
        """The journal tells `ended` itself, but of what never comes to it."""
        try:
            await gate
            self._refuse_when_dead()
        except JournalError as exc:
            if ended is not None:
                ended(exc)
            raise
        written: Sequence[ev.JournalEvent] = await self._carried_out(append, None)
        return written

    async def tail(
        self, run_id: str, after: int = 0, *, kinds: Collection[type[ev.JournalEvent]] | None = None
    ) -> AsyncIterator[list[ev.JournalEvent]]:
        """Each look at what others wrote is a transaction; telling the driver what was found is a step of its own."""
        while True:
            look = partial(self.inner.read, run_id, after)
            found = await self._carried_out(look, self._enter("hear"))
            after = max([after, *(event.seq for event in found)])
            if told := [event for event in found if kinds is None or type(event) in kinds]:
                await self._enter("tell")
                yield told

    def follow(
        self,
        run_id: str,
        after: int,
        take: Callable[[ev.JournalEvent], object],
        failed: Callable[[JournalError], object],
        *,
        kinds: Collection[type[ev.JournalEvent]] | None = None,
    ) -> Following:
        return Following(asyncio.ensure_future(self._follow(self.tail(run_id, after, kinds=kinds), take, failed)))

    async def _follow(
        self,
        tail: AsyncIterator[list[ev.JournalEvent]],
        take: Callable[[ev.JournalEvent], object],
        failed: Callable[[JournalError], object],
    ) -> None:
        try:
            async for batch in tail:
                for event in batch:
                    take(event)
        except JournalError as exc:
            failed(exc)


class Following:
    """A run that is followed by a task."""

    def __init__(self, task: asyncio.Future[None]) -> None:
        self._task = task

    def stop(self) -> None:
        self._task.cancel()


class Process:
    """What drives the run: a life of it at a time."""

    def __init__(self, name: str, journal: Gated) -> None:
        self.name = name
        self.journal = journal
        self.owner = ""
        self.stopping = StopSignal()
        self.driving: asyncio.Task[Any] | None = None


class World:
    """One run, the processes that drive it in turns, operators, and an observer whom no gate stops."""

    def __init__(
        self, root: Path, name: str, *, grace_s: float = 0.0, deadline_s: float | None = None, attended: bool = True
    ) -> None:
        root.mkdir(exist_ok=True)
        self.loop = Loop()
        self.gates = Gates()
        self.root = root
        self.base = ev.utc_now()
        self.config = ExecutionConfig(
            workspace=str(root),
            policy=RetryPolicy(max_attempts=2, base=1.0, jitter=0.0),
            grace_s=grace_s,
            deadline_s=deadline_s,
            enable_error_routing=attended,
            errors=FaultHandling(enable_circuit_breaker=False),
        )
        self.dead: set[str] = set()
        self.lives = 0
        self.opened: list[JournalCare] = []
        self.acts: list[asyncio.Task[Any]] = []
        self.observer = self.do(self._open())
        self.processes = [Process(name, self._gated(name, WRITES | {"grants"})) for name in ("A", "B")]
        operator: Any = self._gated("operator", WRITES | OF_OPERATORS)
        self.decisions, self.controls = Decisions(operator, root), RunControls(operator)
        starting: Any = self.observer
        self.run: str = self.do(Decisions(starting, root).start(f"{SWARMS}:{name}", "go", by=ME))

    def clock(self) -> datetime:
        return self.base + timedelta(seconds=self.loop.now - 1000.0)

    def do(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    async def _open(self) -> JournalCare:
        journal = await open_journal(self.root, clock=self.clock)
        self.opened.append(journal)
        return journal

    def _gated(self, who: str, gated: Collection[str]) -> Gated:
        return Gated(self.do(self._open()), self.gates, who, gated)

    # -- what may happen next ----------------------------------------------------------------------------------

    def settle(self) -> None:
        self.do(self.loop.quiet())
        self.acts = [act for act in self.acts if not act.done()]
        for process in self.processes:
            if process.driving is not None and process.driving.done():
                done, process.driving = process.driving, None
                if process.owner not in self.dead:
                    done.result()
                elif not done.cancelled():
                    done.exception()

    def go(self, key: tuple[str, str], *, in_time: bool = False) -> None:
        """Let one transaction happen, or what was read of others be told; `in_time`: as the next timer is due."""
        self.gates.open(key)
        due = self.loop.next_timer
        if in_time and due is not None:
            self.loop.now = max(self.loop.now, due)
        self.settle()

    def tick(self) -> None:
        """Let the time pass until the next timer."""
        due = self.loop.next_timer
        if due is not None:
            self.loop.now = max(self.loop.now, due)
            self.settle()

    def resume(self, process: Process) -> bool:
        """Have the process drive the run; False if it does already, or if the run is not runnable."""
        if process.driving is not None or self.run not in self.runnable():
            return False
        self.lives += 1
        process.owner = f"{process.name}#{self.lives}"
        process.stopping = StopSignal()
        if process.journal.dead:
            process.journal = self._gated(process.name, WRITES | {"grants"})
        journal: Any = process.journal
        work = drive(journal, self.run, process.owner, self.config, clock=self.clock, stopping=process.stopping)
        process.driving = self.loop.create_task(work)
        self.settle()
        return True

    def kill(self, process: Process) -> None:
        """SIGKILL: nothing that it was about to do happens, and the next process sees that it is gone."""
        if process.driving is None:
            return
        self.dead.add(process.owner)
        process.journal.dead = True
        self.gates.break_off(process.name)
        process.driving.cancel()
        self.settle()
        while process in self.driving:
            self.tick()
        self.do(self.observer.expire_leases(self.dead.__contains__))

    def stop(self, process: Process) -> None:
        process.stopping.set()
        self.settle()

    def act(self, work: Any) -> None:
        """An operator begins something: each of its looks and its writes is a transaction."""
        self.acts.append(self.loop.create_task(_quietly(work)))
        self.settle()

    # -- what is seen ------------------------------------------------------------------------------------------

    def runnable(self) -> list[str]:
        found: list[str] = self.do(self.observer.runnable())
        return found

    @property
    def driving(self) -> list[Process]:
        """The processes that drive the run, or try to."""
        return [process for process in self.processes if process.driving is not None]

    def state(self) -> DurableRun:
        return fold_events(self.do(self.observer.read(self.run)))

    def summary(self) -> Summary:
        found: Summary = self.do(self.observer.summary(self.run))
        return found

    def check(self) -> None:
        """What holds at every moment."""
        summary, state = self.summary(), self.state()
        assert summary.state == state.phase, "the run's row says something else than its events"
        if self.driving:
            return
        kept = summary.state == "frozen" or state.terminal or summary.open_incidents or summary.wake_at
        assert kept or self.run in self.runnable(), f"lost: {summary.state} with nothing to wait for"

    def drain(self) -> DurableRun:
        """Let everything happen that can without an operator."""
        for _ in range(3000):
            if self.driving or self.acts:
                for key in self.gates.closed():
                    if key in self.gates.closed():
                        self.go(key)
                if not self._writing():
                    self.tick()
            elif not self.resume(self.processes[0]):
                return self.state()
            self.check()
        raise AssertionError("it never comes to rest")

    def _writing(self) -> bool:
        return any(key[1] not in ("hear", "tell") for key in self.gates.closed())

    def close(self) -> None:
        for process in self.processes:
            self.kill(process)
        self.gates.break_off("operator")
        self.settle()
        for journal in self.opened:
            self.do(journal.close())
        self.do(self.loop.shutdown_asyncgens())
        self.do(self.loop.shutdown_default_executor())
        self.loop.close()


async def _quietly(work: Awaitable[Any]) -> None:
    try:
        await work
    except OrbiterError:
        return  # refused, as what came too late is
