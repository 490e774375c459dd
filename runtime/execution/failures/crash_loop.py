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
from runtime.execution.incidents import IncidentDraft
from runtime.execution.run_session import RunSession
from runtime.execution.step_context import StepContext
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Origin,
    Persistence,
)
from runtime.record.state.nodes import MAX_DEATHS

RULE_ID = "process-ended"
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


class Trials:
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


def has_ended_process(c: StepContext) -> IncidentDraft | None:
    """What to ask before a step begins that was under way each time when `MAX_DEATHS` processes ended."""
    node = c.node
    if node is None or node.deaths < MAX_DEATHS:
        return None
    message = f"{c.step.name} ended its process {node.deaths} times: it had begun each time, and nothing came after it"
    fault = Classification(
        origin=Origin.TOOL if c.step.kind == "tool" else Origin.MODEL if c.step.kind == "llm" else Origin.AGENT,
        cause=Cause.INTERNAL,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NONE,
        user_message=message,
        suggestions=("Retry only after correcting what ended the process: it may end the runtime once more.",),
        rule_id=RULE_ID,
    )
    return IncidentDraft(
        fault=fault, where=c.step.kind, message=message, action=c.action_text({}), result_type=c.step.traits.result_type
    )


@asynccontextmanager
async def step_alone(c: StepContext) -> AsyncIterator[None]:
    """Let a step that is a suspect begin when no other one is tried."""
    trials = c.session.config.trials
    if trials is None or c.node is None or not is_suspect(c.node.deaths):
        yield
        return
    text = f"its process ended {MAX_DEATHS - 1} times while {c.step.name} was under way: it is tried alone"
    await c.session.record(ev.Warned(node_id=c.node_id, parent_id=c.parent_id, text=text))
    async with trials.isolate(c.session.state.id, c.node_id):
        yield


async def run_alone(life: RunSession, trial: AsyncExitStack, stopping: asyncio.Event | None) -> bool:
    """Wait until no other suspect is tried, and try this run until `trial` is closed. False: a stop came first."""
    trials = life.config.trials
    if trials is None:
        return True
    entering = asyncio.ensure_future(trial.enter_async_context(trials.isolate(life.state.id)))
    stop = asyncio.ensure_future((stopping or asyncio.Event()).wait())
    try:
        await asyncio.wait({entering, stop}, return_when=asyncio.FIRST_COMPLETED)
        return entering.done()
    finally:
        for task in (entering, stop):
            task.cancel()
        await asyncio.gather(entering, stop, return_exceptions=True)


async def until_progress(life: RunSession, trial: AsyncExitStack) -> None:
    """Close a trial of a run once something of it is recorded: from there on a step is to blame."""
    while not life.state.moved:  # noqa: ASYNC110 - what a fold finds wakes nobody, and few runs are ever suspects
        await asyncio.sleep(_POLL_S)
    await life.flush()
    await trial.aclose()
