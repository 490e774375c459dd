"""Crash loops: runs that end the process that drives them are counted, tried alone, and set aside.

The journal says what was under way when a process ended: steps that had begun and have no end, or, in a life of which
only its start is recorded, the import of the swarm. Other runs and steps were under way in the same process and are not
to blame. So what has ended a process one time less than `MAX_DEATHS` is a suspect, and suspects are tried one at a
time: the innocent ones get on and are none any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from orbiter.errors import ExecutionError
from runtime.execution.run_session import RunSession
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.nodes import MAX_DEATHS

TRIAL_S = 20.0
"""How long, in seconds, a suspect is alone at most: what ends a process does so at once, as a rule."""
_POLL_S = 0.02


class EndedItsProcess(ExecutionError):
    """A run whose process ended again and again at the same place, outside its steps."""

    def __init__(self, state: DurableRun) -> None:
        file = state.ref.rpartition(":")[0]
        place = "at its import" if state.died_at_import else "outside its steps (in a hook, say)"
        super().__init__(
            f"{file} ended its process {state.deaths} times {place}",
            hint="Correct the file, then retry; or abort the run. A retry may end the runtime once more.",
        )


class TrialQueue:
    """Lets suspects of this process go on one at a time."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._tried: tuple[str, str] | None = None

    @asynccontextmanager
    async def isolate(self, run_id: str, node_id: str = "") -> AsyncIterator[None]:
        """Wait until no other suspect is tried; what is inside the run or step that is tried waits for nothing."""
        if self._is_holder(run_id, node_id):
            yield
            return
        await self._lock.acquire()
        self._tried = mine = (run_id, node_id)
        timer = asyncio.get_running_loop().call_later(TRIAL_S, self._end, mine)
        try:
            yield
        finally:
            timer.cancel()
            self._end(mine)

    def _is_holder(self, run_id: str, node_id: str) -> bool:
        if self._tried is None or self._tried[0] != run_id:
            return False
        above = self._tried[1]
        return not above or node_id == above or node_id.startswith(f"{above}/")

    def _end(self, tried: tuple[str, str]) -> None:
        if self._tried is tried:
            self._tried = None
            self._lock.release()


def is_suspect(deaths: int) -> bool:
    """Whether one more process that ends at the same place is enough."""
    return deaths == MAX_DEATHS - 1


@asynccontextmanager
async def step_alone(session: RunSession, node: Node) -> AsyncIterator[None]:
    """Let a step that is a suspect begin when no other one is tried."""
    trial_queue = session.config.trial_queue
    if trial_queue is None:
        yield
        return
    text = f"its process ended {MAX_DEATHS - 1} times while {node.name} was under way: it is tried alone"
    await session.record(ev.Warned(node_id=node.id, parent_id=node.parent_id, text=text))
    async with trial_queue.isolate(session.state.id, node.id):
        yield


async def run_alone(session: RunSession, trial: AsyncExitStack, stopping: asyncio.Event | None) -> bool:
    """Wait until no other suspect is tried, and try this run until `trial` is closed. False: a stop came first."""
    trial_queue = session.config.trial_queue
    if trial_queue is None:
        return True
    entering = asyncio.ensure_future(trial.enter_async_context(trial_queue.isolate(session.state.id)))
    stop = asyncio.ensure_future((stopping or asyncio.Event()).wait())
    try:
        await asyncio.wait({entering, stop}, return_when=asyncio.FIRST_COMPLETED)
        return entering.done()
    finally:
        for task in (entering, stop):
            task.cancel()
        await asyncio.gather(entering, stop, return_exceptions=True)


async def until_progress(session: RunSession, trial: AsyncExitStack | None) -> None:
    """Close a trial of a run, if it is one, once something of it is recorded: from there on a step is to blame."""
    while not session.state.moved:  # noqa: ASYNC110 - what a fold finds wakes no waiter, and few runs are ever suspects
        await asyncio.sleep(_POLL_S)
    await session.writer.flush()
    if trial is not None:
        await trial.aclose()
