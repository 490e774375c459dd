"""The breaker gate: circuit breakers in force, one per model and tool, shared by all runs of a workspace.

Their state stands in the workspace's stream, one event for each change, and is read from there at every attempt: what
an operator resets, or another process learned, holds at once. Calls that succeed while a breaker is closed write
nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from orbiter import errors
from orbiter.steps import HELD_BACK
from runtime.execution.gates.blocked import Blocked
from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.recovery.breaker import (
    Breaker,
    BreakerPolicy,
    BreakerVerdict,
    breaker_open_fault,
)
from runtime.record.journal import Journal, JournalError, StaleSequence
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Classification

log = logging.getLogger("runtime.faults")

_PROBE_RETRY_S = 5.0
"""How long to wait, in seconds, where another step probes."""


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
            while True:
                breaker = await self._read(key)
                verdict = breaker.check(policy, now, caller)
                if not verdict.probe or await self._write(breaker, breaker.admit(policy, now, caller), "probe"):
                    return breaker, verdict

    def is_closed_now(self, key: str) -> bool:
        """Whether the breaker lets every call pass, whatever the policy: it has not opened, or is not known at all. So
        it is nearly always. False where that cannot be told without waiting.
        """
        if not self._journal.has_nothing_after(ev.WORKSPACE_RUN_ID, self._seq):
            return False
        known = self._known.get(key)
        return known is None or known.opened_at is None

    async def check(self, key: str, policy: BreakerPolicy, now: float, caller: str) -> BreakerVerdict:
        """Whether `caller` may call now. Takes nothing."""
        async with self._turn:
            return (await self._read(key)).check(policy, now, caller)

    def has_counted(self, key: str) -> bool:
        """Whether a success changes anything: failures are counted, or the breaker has opened. Hardly ever."""
        known = self._known.get(key)
        return known is not None and (known.failures > 0 or known.opened_at is not None)

    async def record_success(self, key: str, caller: str) -> None:
        """A call succeeded."""
        if self.has_counted(key):
            await self._change(key, lambda breaker: breaker.record_success(caller), "a call succeeded")

    async def record_failure(
        self, key: str, fault: Classification, policy: BreakerPolicy, now: float, caller: str
    ) -> None:
        """A call failed; only what speaks for an outage is counted."""
        before, after = await self._change(
            key, lambda breaker: breaker.record_failure(fault, policy, now, caller), fault.user_message
        )
        if after.opened_at is not None and before.opened_at is None:
            log.warning("Circuit breaker tripped after %d failures: %s", after.failures, key)

    async def release_probe(self, key: str, caller: str) -> None:
        """A call was cancelled: the probe it may have held is free."""
        await self._change(key, lambda breaker: breaker.release_probe(caller), "cancelled")

    async def breakers(self) -> list[Breaker]:
        """All breakers that have ever counted anything."""
        async with self._turn:
            await self._read("")
            return list(self._known.values())

    async def reset(self, key: str, by: ev.Actor) -> None:
        """Close a breaker, because an operator says so. One that is not known is closed already."""
        await self._change(key, Breaker.reset, "reset", by)

    async def _change(
        self, key: str, change: Callable[[Breaker], Breaker], reason: str, by: ev.Actor | None = None
    ) -> tuple[Breaker, Breaker]:
        """The breaker before and after the change, which is made of what all workers have written."""
        async with self._turn:
            while True:
                before = await self._read(key)
                after = change(before)
                if await self._write(before, after, reason, by):
                    return before, after

    async def _read(self, key: str) -> Breaker:
        """A breaker as it stands in the journal now."""
        await self._catch_up()
        return self._known.get(key) or Breaker(key=key)

    async def _catch_up(self) -> None:
        """Read what is new in the journal. Where nothing is, that is told without waiting."""
        for event in await self._journal.read(ev.WORKSPACE_RUN_ID, self._seq):
            if event.seq > self._seq:  # else another caller has taken it into account meanwhile
                self._seq = event.seq
                fold_breakers((event,), self._known)
                fold_last_failures((event,), self.lately)

    async def _write(self, before: Breaker, after: Breaker, reason: str, by: ev.Actor | None = None) -> bool:
        """Write the change down; False: another worker wrote something since `before` was read."""
        if after == before:
            return True
        event = ev.BreakerChanged(**after.model_dump(), reason=reason[:300], by=by or ev.Actor())
        try:
            await self._journal.post(ev.WORKSPACE_RUN_ID, event, told=self._seq)
        except StaleSequence:
            return False
        self._known[after.key] = after
        return True


_REGISTRY_BY_JOURNAL: WeakKeyDictionary[Journal, BreakerRegistry] = WeakKeyDictionary()


def breakers_of(journal: Journal) -> BreakerRegistry:
    """The breakers of a journal: the same for all drives on it. Nothing is kept here but a fold of its events."""
    found = _REGISTRY_BY_JOURNAL.get(journal)
    if found is None:
        found = _REGISTRY_BY_JOURNAL[journal] = BreakerRegistry(journal)
    return found


class StepBreaker(msgspec.Struct, eq=False):
    """The breaker before one step, as the step asks it."""

    registry: BreakerRegistry
    key: str
    caller: str
    """Who asks: the step, in this life of its run."""
    config: FaultHandling
    clock: Callable[[], datetime]

    async def admit(self) -> Blocked | None:
        """Let the step call, or say why not; where the breaker is half-open, the step holds the probe from now on."""
        policy, now = self.config.breaker_policy(), self.clock().timestamp()
        breaker, verdict = await self.registry.admit(self.key, policy, now, self.caller)
        if verdict.allowed:
            return None
        wait_s = verdict.wait_s or _PROBE_RETRY_S
        fault = breaker_open_fault(breaker, verdict.wait_s)
        error = errors.ExecutionError(fault.user_message, HELD_BACK, suggestion=f"Wait {wait_s:.0f} s")
        return Blocked(fault, error, wait_s=wait_s, action={"breaker": self.key})

    async def lets_pass(self, key: str) -> bool:
        """Whether another breaker would let a call of the step pass now. Takes nothing."""
        policy = self.config.breaker_policy()
        verdict = await self.registry.check(key, policy, self.clock().timestamp(), self.caller)
        return verdict.allowed

    def record_success(self) -> Coroutine[Any, Any, None]:
        """The step's call succeeded. To be awaited at once."""
        return self.registry.record_success(self.key, self.caller)

    async def record_failure(self, fault: Classification) -> None:
        """The step's call failed."""
        policy = self.config.breaker_policy()
        await self.registry.record_failure(self.key, fault, policy, self.clock().timestamp(), self.caller)

    async def release_probe(self) -> None:
        """The step's call said nothing of its service: a probe that it held is free, also where all of this is
        cancelled.
        """
        with suppress(JournalError):
            await asyncio.shield(self.registry.release_probe(self.key, self.caller))


class NoBreaker:
    """What a step asks that has no breaker: it lets every call pass, and keeps nothing."""

    __slots__ = ()

    async def admit(self) -> Blocked | None:
        return None

    async def lets_pass(self, key: str) -> bool:
        return True

    async def record_success(self) -> None:
        pass

    async def record_failure(self, fault: Classification) -> None:
        pass

    async def release_probe(self) -> None:
        pass


NO_BREAKER = NoBreaker()
