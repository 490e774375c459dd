"""Deadlines and overdue waits: when a wait ends, where the process was not alive or the clock was set meanwhile."""

from __future__ import annotations

import zlib
from datetime import datetime, timedelta

from runtime.execution.execution_config import ExecutionConfig
from runtime.record.journal import CLOCK_CORRECTION_S
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun

OVERDUE_SPREAD = timedelta(seconds=5)
"""Over how long what is overdue after a downtime is spread."""


def overdue_delay(key: str, length: timedelta) -> timedelta:
    """A part of `length`, and of a few seconds at most: how much later each of many begins that are all overdue."""
    return min(length, OVERDUE_SPREAD) * (zlib.crc32(key.encode()) / 2**32)


def missed_since(instant: datetime, state: DurableRun, config: ExecutionConfig, now: datetime) -> datetime | None:
    """Since when the run can keep `instant`, if it could not when the instant passed: the runtime was not alive, or the
    run was frozen.
    """
    alive_since = config.alive_since() if config.alive_since is not None else None
    since = [each for each in (alive_since, state.thawed_at) if each and instant < each <= now]
    return max(since, default=None)


def deadline_of(
    opened: ev.IncidentOpened, state: DurableRun, config: ExecutionConfig, now: datetime
) -> datetime | None:
    """When an open incident's safe default takes effect; None: never.

    A deadline that passed while the runtime was not alive gets its whole time again, for it could not be answered. What
    only waits for a server's sake starts soon after, not all at once. A clock that was set back makes no wait longer.
    """
    if opened.deadline is None:
        return None
    length = max(opened.deadline - opened.ts, timedelta())
    missed = missed_since(opened.deadline, state, config, now)
    if missed is None:
        return min(opened.deadline, now + length)
    return missed + (overdue_delay(opened.incident_id, length) if opened.safe == "wait_retry" else length)


def default_answer(opened: ev.IncidentOpened, run_id: str) -> ev.IncidentAnswered:
    """The answer that an incident gets by rule at its deadline: its safe default."""
    name, reason = "deadline", "the deadline passed"
    if opened.unattended:
        name, reason = "unattended", "no operator may be asked"
    elif policy := opened.action.get("policy"):
        name, reason = "policy", f"the failure policy is '{policy}'"
    by = ev.Actor(name=name, channel="rule")
    return ev.IncidentAnswered.of(opened, run_id, opened.safe, reason=reason, by=by)


def clock_set_back_events(state: DurableRun, now: datetime) -> list[ev.JournalEvent]:
    """What is to be recorded if the clock was set back under waits: that they end sooner by it, for else each life
    would begin them again from the start.
    """
    began = [wait.ts for wait in state.waits_from(now + timedelta(seconds=CLOCK_CORRECTION_S))]
    return [ev.ClockSetBack(ts=now, seconds=(max(began) - now).total_seconds())] if began else []
