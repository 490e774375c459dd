"""Tails of a journal: pushed by this journal object's own commits, read from the store for what others write.

What is pushed is a short cut: a subscriber takes it only if it follows on directly from what it has, and else asks
the store. So each event comes exactly once and in order, from any writer.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextvars import Context
from typing import Protocol

from runtime.record.journal import JournalError
from runtime.record.rules.batch import WrittenEvent
from runtime.record.state import events as ev

CHUNK_EVENTS = 1000
_MAX_PUSHED = 4096
"""Events kept for a consumer that is slow; beyond this it reads them from the store when it comes."""

Kinds = Collection[type[ev.JournalEvent]] | None
Take = Callable[[ev.JournalEvent], object]
Failed = Callable[[JournalError], object]
Fetch = Callable[[str | None, int, int], Awaitable[list[WrittenEvent]]]
"""Events after a cursor, at most so many. With a run id `pos` is the event's `seq`."""


class Wake(Protocol):
    """Lets tails ask the store now: those of the runs named, and of the whole journal; without names, all."""

    def __call__(self, run_ids: Collection[str] | None = None) -> None: ...


class Waker(Protocol):
    """Calls `Tails.wake` when others have written to the store: another process, or another object of this one."""

    eager: bool
    """Whether a run is followed, so that it should notice soon."""

    def start(self, changed: Wake) -> None:
        """Begin to notice, and call `changed` on this loop's thread. Does nothing if it has begun."""

    def stop(self) -> None:
        """Notice nothing more, until `start`."""

    def notify_written(self, written: Sequence[WrittenEvent]) -> None:
        """This journal object itself has committed these events."""


class Subscription(ABC):
    """One consumer's place. `cursor` is the last `seq` (or position) that it was given, or that it does not want:
    `kinds` are the only classes of events that it is woken for, None: all.
    """

    __slots__ = ("cursor", "kinds", "look", "pushed", "run_id")

    def __init__(self, run_id: str | None, after: int, kinds: Kinds) -> None:
        self.run_id = run_id
        self.cursor = after
        self.kinds = kinds
        self.look = True
        self.pushed: list[WrittenEvent] = []  # hardly ever more than one; an empty deque takes ten times as much

    @abstractmethod
    def notify(self) -> None:
        """Something was pushed, or the store is to be asked."""

    def wants(self, event: ev.JournalEvent) -> bool:
        return self.kinds is None or type(event) in self.kinds

    def offer(self, written: Sequence[tuple[int, ev.JournalEvent]]) -> None:
        """Events of this run, or of any; a place is what the cursor counts."""
        for place, event in written:
            if place == self.cursor + 1 and not (self.pushed or self.look or self.wants(event)):
                self.cursor = place  # it wakes no reader
            else:
                self.pushed.append(WrittenEvent(place, event))
        if len(self.pushed) > _MAX_PUSHED:
            self.pushed.clear()
            self.look = True
        if self.pushed or self.look:
            self.notify()

    def wake(self) -> None:
        self.look = True
        self.notify()

    def take(self) -> list[ev.JournalEvent]:
        """What was pushed and follows on directly. A gap means that another process wrote: the store is asked."""
        taken: list[ev.JournalEvent] = []
        used = 0
        for place, event in self.pushed:
            if place > self.cursor + 1:
                self.look = True
                break
            used += 1
            if place == self.cursor + 1:
                self.cursor = place
                if self.wants(event):
                    taken.append(event)
        del self.pushed[:used]
        return taken


class _Tail(Subscription):
    """Of a reader that waits for what comes."""

    __slots__ = ("ready",)

    def __init__(self, run_id: str | None, after: int, kinds: Kinds) -> None:
        super().__init__(run_id, after, kinds)
        self.ready = asyncio.Event()

    def notify(self) -> None:
        self.ready.set()


class Follower(Subscription):
    """Gives the events of a run to `take` as they come, until `stop`. It has a task only while there are any."""

    __slots__ = ("_failed", "_tails", "_take", "_task")

    def __init__(self, tails: Tails, run_id: str, after: int, kinds: Kinds, *, take: Take, failed: Failed) -> None:
        super().__init__(run_id, after, kinds)
        self._tails = tails
        self._take = take
        self._failed = failed
        self._task: asyncio.Task[None] | None = None

    def notify(self) -> None:
        if self._task is None:
            # In an empty context: with that of a run it would keep the run in memory.
            self._task = asyncio.get_running_loop().create_task(self._give(), context=Context())

    async def _give(self) -> None:
        try:
            while self.look or self.pushed:
                for event in await self._tails.next_events(self):
                    self._take(event)
        except JournalError as exc:
            self._failed(exc)
        finally:
            self._task = None

    def stop(self) -> None:
        """Give no more."""
        self._tails.remove(self)
        if self._task is not None:
            self._task.cancel()


class Tails:
    """All tails of one journal object."""

    def __init__(self, fetch: Fetch, waker: Waker) -> None:
        self._fetch = fetch
        self._subscriptions: dict[str | None, set[Subscription]] = {}
        """By run; under None those of the whole journal. A commit must not look at the followers of every live run."""
        self._waker = waker
        self._closed = False

    def publish(self, written: Sequence[WrittenEvent]) -> None:
        by_run: dict[str, list[tuple[int, ev.JournalEvent]]] = {}
        for _, event in written:
            by_run.setdefault(event.run_id, []).append((event.seq, event))
        for subscription in self._subscriptions.get(None, ()):
            subscription.offer(written)
        for run_id, events in by_run.items():
            for subscription in self._subscriptions.get(run_id, ()):
                subscription.offer(events)
        self._waker.notify_written(written)

    def wake(self, run_ids: Collection[str] | None = None) -> None:
        """Let tails ask the store now: those of these runs and of the whole journal; without names, all."""
        for run_id in self._subscriptions if run_ids is None else {None, *run_ids}:
            for subscription in self._subscriptions.get(run_id, ()):
                subscription.wake()

    async def tail(self, run_id: str | None, after: int, kinds: Kinds = None) -> AsyncIterator[list[ev.JournalEvent]]:
        subscription = _Tail(run_id, after, kinds)
        self._add(subscription)
        try:
            while not self._closed:
                subscription.ready.clear()
                if events := await self.next_events(subscription):
                    yield events
                elif not subscription.look:
                    await subscription.ready.wait()
        finally:
            self.remove(subscription)

    def follow(self, run_id: str, after: int, take: Take, failed: Failed, kinds: Kinds = None) -> Follower:
        follower = Follower(self, run_id, after, kinds, take=take, failed=failed)
        self._add(follower)
        follower.notify()
        return follower

    async def next_events(self, subscription: Subscription) -> list[ev.JournalEvent]:
        """What a subscription is to be given now, which may be nothing."""
        return await self._check_for_changes(subscription) if subscription.look else subscription.take()

    def _add(self, subscription: Subscription) -> None:
        self._subscriptions.setdefault(subscription.run_id, set()).add(subscription)
        self._adjust_polling()

    def remove(self, subscription: Subscription) -> None:
        of_run = self._subscriptions.get(subscription.run_id, set())
        of_run.discard(subscription)
        if not of_run:
            self._subscriptions.pop(subscription.run_id, None)
        self._adjust_polling()

    def close(self) -> None:
        """End every tail."""
        self._closed = True
        self._waker.stop()
        self.wake()

    def _adjust_polling(self) -> None:
        """Look for what others write only while there is a tail, and often while it is a run that is tailed."""
        if self._closed or not self._subscriptions:
            self._waker.stop()
            return
        self._waker.eager = any(run_id not in (None, ev.WORKSPACE_RUN_ID) for run_id in self._subscriptions)
        self._waker.start(self.wake)

    async def _check_for_changes(self, subscription: Subscription) -> list[ev.JournalEvent]:
        subscription.look = False
        try:
            found = await self._fetch(subscription.run_id, subscription.cursor, CHUNK_EVENTS)
        except JournalError:
            if self._closed:  # the journal was closed under the query: the tail ends, as any other
                return []
            raise
        if len(found) == CHUNK_EVENTS:
            subscription.look = True
        if found:
            subscription.cursor = found[-1].pos
        return [written.event for written in found if subscription.wants(written.event)]
