"""The breaker gate: circuit breakers in force, one per model and tool, shared by all runs of a workspace.

Their state stands in the workspace's stream, one event for each change, and is read from there at every attempt: what
an operator resets, or another process learned, holds at once. Calls that succeed while a breaker is closed write
nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from runtime.judgement.recovery.breaker import (
    Breaker,
    BreakerPolicy,
    BreakerState,
    BreakerVerdict,
)
from runtime.record.journal import Journal
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Classification

log = logging.getLogger("runtime.faults")


class LastFailure(NamedTuple):
    """What lately became of a breaker: the failures counted by then, the last one's words and time, the last change's.
    Times in epoch seconds.
    """

    failures: int = 0
    error: str = ""
    failed_at: float | None = None
    changed_at: float | None = None


def fold_last_failures(
    events: Iterable[ev.JournalEvent], onto: dict[str, LastFailure] | None = None
) -> dict[str, LastFailure]:
    """What lately became of breakers, by key. A count that rises is a failure, and the reason that stands there its."""
    found = {} if onto is None else onto
    for event in events:
        if isinstance(event, ev.BreakerChanged):
            at, before = event.ts.timestamp(), found.get(event.key, LastFailure())
            failed = event.failures > before.failures
            found[event.key] = (
                LastFailure(event.failures, event.reason, at, at)
                if failed
                else before._replace(failures=event.failures, changed_at=at)
            )
    return found


def fold_breakers(events: Iterable[ev.JournalEvent], onto: dict[str, Breaker] | None = None) -> dict[str, Breaker]:
    """Breakers by key, after the events of the workspace's stream."""
    found = {} if onto is None else onto
    for event in events:
        if isinstance(event, ev.BreakerChanged):
            fields = {name: getattr(event, name) for name in Breaker.model_fields}
            found[event.key] = Breaker(**fields)
    return found


class BreakerRegistry:
    """The breakers of one journal, as this process's drives ask them."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._seq = 0
        self._known: dict[str, Breaker] = {}
        self.lately: dict[str, LastFailure] = {}
        """What lately became of each, as far as it was read."""
        # Asking and taking the probe are one: of two runs that come at the same moment one probes.
        self._turn = asyncio.Lock()

    async def admit(self, key: str, policy: BreakerPolicy, now: float, caller: str) -> tuple[Breaker, BreakerVerdict]:
        """Whether `caller` may call now; if so, and the breaker is half-open, it holds the probe from now on."""
        breaker = await self._read(key)
        verdict = breaker.check(policy, now, caller)
        if not verdict.probe:
            return breaker, verdict
        async with self._turn:
            breaker = await self._read(key)
            verdict = breaker.check(policy, now, caller)
            if verdict.probe:
                await self._write(breaker, breaker.admit(policy, now, caller), "probe")
            return breaker, verdict

    async def check(self, key: str, policy: BreakerPolicy, now: float, caller: str) -> BreakerVerdict:
        """Whether `caller` may call now. Takes nothing."""
        async with self._turn:
            return (await self._read(key)).check(policy, now, caller)

    async def record_success(self, key: str, caller: str) -> None:
        """A call succeeded."""
        known = self._known.get(key)
        if known is None or (known.failures == 0 and known.opened_at is None):
            return  # the usual case: nothing is counted, so there is nothing to forget
        async with self._turn:
            breaker = await self._read(key)
            await self._write(breaker, breaker.record_success(caller), "a call succeeded")

    async def record_failure(
        self, key: str, fault: Classification, policy: BreakerPolicy, now: float, caller: str
    ) -> None:
        """A call failed; only what speaks for an outage is counted."""
        async with self._turn:
            breaker = await self._read(key)
            after = breaker.record_failure(fault, policy, now, caller)
            await self._write(breaker, after, fault.user_message)
            if after.opened_at is not None and breaker.opened_at is None:
                log.warning("Circuit breaker tripped after %d failures: %s", after.failures, key)

    async def release_probe(self, key: str, caller: str) -> None:
        """A call was cancelled: the probe it may have held is free."""
        async with self._turn:
            breaker = await self._read(key)
            await self._write(breaker, breaker.release_probe(caller), "cancelled")

    async def breakers(self) -> list[Breaker]:
        """All breakers that have ever counted anything."""
        async with self._turn:
            await self._read("")
            return list(self._known.values())

    async def reset(self, key: str, by: ev.Actor) -> None:
        """Close a breaker, because somebody says so. One that is not known is closed already."""
        async with self._turn:
            breaker = await self._read(key)
            await self._write(breaker, breaker.reset(), "reset", by)

    async def _read(self, key: str) -> Breaker:
        """A breaker as it stands in the journal now. Where nothing is new there, that is told without waiting."""
        for event in await self._journal.read(ev.WORKSPACE_RUN_ID, self._seq):
            if event.seq > self._seq:  # else somebody who asked meanwhile has taken it into account
                self._seq = event.seq
                fold_breakers((event,), self._known)
                fold_last_failures((event,), self.lately)
        return self._known.get(key) or Breaker(key=key)

    async def _write(self, before: Breaker, after: Breaker, reason: str, by: ev.Actor | None = None) -> None:
        if after == before:
            return
        event = ev.BreakerChanged(**after.model_dump(), reason=reason[:300], by=by or ev.Actor())
        await self._journal.post(ev.WORKSPACE_RUN_ID, event)
        self._known[after.key] = after


_REGISTRY_BY_JOURNAL: WeakKeyDictionary[Journal, BreakerRegistry] = WeakKeyDictionary()


def breakers_of(journal: Journal) -> BreakerRegistry:
    """The breakers of a journal: the same for all drives on it. Nothing is kept here but a fold of its events."""
    found = _REGISTRY_BY_JOURNAL.get(journal)
    if found is None:
        found = _REGISTRY_BY_JOURNAL[journal] = BreakerRegistry(journal)
    return found


def breaker_rows(
    known: Iterable[Breaker],
    policy: BreakerPolicy,
    now: float,
    lately: Mapping[str, LastFailure] | None = None,
    *,
    every: bool = False,
) -> list[dict[str, Any]]:
    """Breakers that count failures (`every`: that ever did), as JSON: `id`, `state`, `failures` of `threshold`,
    `again_s`: seconds until an open one tries again; the last `error` and how long ago that was (`failed_s`), how long
    ago anything changed (`changed_s`), and who probes.
    """
    found: list[dict[str, Any]] = []
    for breaker in known:
        if not every and not breaker.failures and breaker.opened_at is None:
            continue
        state = breaker.state(policy, now)
        again_s = None
        if state is BreakerState.OPEN and breaker.opened_at is not None:
            again_s = round(breaker.opened_at + policy.cooldown_s - now, 1)
        last = (lately or {}).get(breaker.key, LastFailure())
        found.append(
            {
                "id": breaker.key,
                "state": state.value,
                "failures": breaker.failures,
                "threshold": policy.threshold,
                "again_s": again_s,
                "error": last.error,
                "failed_s": None if last.failed_at is None else round(max(0.0, now - last.failed_at), 1),
                "changed_s": None if last.changed_at is None else round(max(0.0, now - last.changed_at), 1),
                "prober": breaker.prober,
            }
        )
    return found
