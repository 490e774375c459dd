"""The root of a run: loads its swarm and runs it under the root scope."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

from orbiter._internal.user_code import UserCodeError
from orbiter.errors import ExecutionError
from orbiter.runner import run as run_swarm
from orbiter.steps import Aborted, Skipped, entered
from runtime.execution.durable_scope import DurableScope
from runtime.execution.failures.kept_text import kept_error
from runtime.execution.run_session import RunSession
from runtime.record.state import events as ev
from runtime.swarms import imports


class UncausedCancellation(ExecutionError):
    """A swarm's code raised `CancelledError` though it was not cancelled."""

    def __init__(self, ref: str) -> None:
        super().__init__(
            f"{ref} raised CancelledError though it was not cancelled",
            hint="Do not let a cancellation of your own tasks leave a tool or a hook; catch it where you await them.",
        )


class NewerProgramJournal(ExecutionError):
    """The run's journal has events that a newer program wrote: nothing may be done that they might forbid."""

    def __init__(self, types: Collection[str]) -> None:
        super().__init__(
            f"a newer program has driven this run: {', '.join(sorted(types))} in its journal is not known here",
            hint="Update orbiter-console and start its runtime again, then retry; or abort the run.",
        )


async def run_root(session: RunSession) -> ev.RunFinished:
    """The swarm itself, under the root scope. A fault that nothing inside took up parks here."""
    async with DurableScope(session, "", "root", session.state.ref) as root:
        await root.wait_until_released()
        while True:
            try:
                with entered(root):
                    output = await _load_swarm(session)
                return _final_event(session, output)
            except Skipped as skipped:
                return _final_event(session, str(skipped.value))
            except BaseException as caught:
                if isinstance(caught, asyncio.CancelledError | GeneratorExit) and session.ending:
                    raise
                exc = _failure(session, caught)
                try:
                    await root.fault(exc)
                except Aborted as aborted:
                    return ev.RunFinished(state="failed", error=kept_error(aborted))
                except Skipped as skipped:
                    return _final_event(session, str(skipped.value))
                except Exception as final:
                    return ev.RunFinished(state="failed", error=kept_error(final))


def _failure(session: RunSession, caught: BaseException) -> Exception:
    """What the swarm raised, as an error that a person can be asked about."""
    if isinstance(caught, Exception):
        return caught
    if isinstance(caught, asyncio.CancelledError):
        # Not cancelled by us: user code that cancels itself. A run that nothing would wake would be lost.
        return UncausedCancellation(session.state.ref)
    return UserCodeError(session.state.ref, caught)


async def _load_swarm(session: RunSession) -> str:
    if session.state.foreign:
        raise NewerProgramJournal(session.state.foreign)
    config = session.config
    swarm = await imports.load(
        session.state.ref, Path(config.workspace), limit_s=config.import_limit_s, run_id=session.state.id
    )
    if session.state.deaths:
        await session.record(ev.SwarmLoaded())
    result = await run_swarm(swarm, session.state.input)
    return str(result.output)


def _final_event(session: RunSession, output: str) -> ev.RunFinished:
    scopes = [node for node in session.state.nodes.values() if not node.is_step]
    degraded = any(node.phase in ("degraded", "skipped") for node in scopes)
    return ev.RunFinished(state="degraded" if degraded else "completed", output=output)
