"""The runs that consoles watch: each console is told of its own from where it stands, and of replies as they stream."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine
from typing import Any

from runtime.link.server.connection import Connection
from runtime.link.server.reply_streams import ReplyStreams, TextPiece
from runtime.link.server.run_cache import RunCache
from runtime.link.wire import protocol as p
from runtime.record.state import events as ev

log = logging.getLogger(__name__)


class WatchedRuns:
    """Which runs a console watches stands in its `Connection.watching`.

    Args:
        runs: The runs, loaded and folded once for all consoles.
        deltas: Replies that are being streamed.
        connections: All consoles; the server's own collection, which changes.
        spawn: Starts a task that the server ends.
    """

    def __init__(
        self,
        runs: RunCache,
        deltas: ReplyStreams,
        connections: Collection[Connection],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._runs = runs
        self._deltas = deltas
        self._connections = connections
        self._spawn = spawn

    def watch(self, connection: Connection, run_id: str, after: int) -> None:
        """Tell the console of a run, once it is loaded."""
        connection.watching.add(run_id)
        if self._runs.get(run_id) is not None:
            self._send_run(connection, run_id, after)
            return
        loading = run_id in connection.loading
        connection.loading[run_id] = after
        if not loading:
            connection.request_started()
            self._spawn(self._send_run_later(connection, run_id)).add_done_callback(
                lambda _: connection.request_ended()
            )

    def unwatch(self, connection: Connection, run_id: str) -> None:
        """Tell the console no more of a run."""
        connection.watching.discard(run_id)
        connection.outbox.hide(run_id)
        self.trim()

    def show_again(self, connection: Connection) -> None:
        """Send a console that fell behind a fresh snapshot of each run that it watches."""
        for run_id in connection.watching:
            connection.outbox.show(run_id, lambda run_id=run_id: self._run_lines(run_id, 0, "slow"))  # type: ignore[misc]
            self._deltas.repeat(run_id, connection.outbox)

    def node_count(self, connection: Connection) -> int:
        """How many nodes the runs have that the console watches."""
        found = (self._runs.get(run_id) for run_id in connection.watching)
        return sum(len(run.state.nodes) for run in found if run is not None)

    def on_event(self, event: ev.JournalEvent) -> None:
        """Tell those who watch the run of its next event."""
        try:
            line = self._runs.feed(event)
        except LookupError:
            log.exception("loading the run again")
            for connection in self._watchers(event.run_id):
                self.watch(connection, event.run_id, 0)
            return
        if line is not None:
            for connection in self._watchers(event.run_id):
                connection.outbox.offer(line, of_run=True)
        if isinstance(event, ev.StepEnded):
            self._deltas.end(event.run_id, event.node_id)
            for connection in self._watchers(event.run_id):
                connection.outbox.forget(event.run_id, event.node_id)
        elif isinstance(event, ev.RunFinished | ev.RunParked):
            self._deltas.end_run(event.run_id)

    def clear(self) -> None:
        """Forget what was loaded: the journal is read again."""
        self._runs.clear()

    def send_delta(self, piece: TextPiece) -> None:
        """Pass a piece of a reply on."""
        for connection in self._watchers(piece.run_id):
            key = (piece.run_id, piece.node_id, piece.attempt, piece.kind)
            connection.outbox.delta(key, piece.offset, piece.text)

    @property
    def ids(self) -> set[str]:
        """Ids of the runs that are watched."""
        return {run_id for connection in self._connections for run_id in connection.watching}

    def trim(self) -> None:
        """Forget runs that are watched no more, but for the latest few."""
        self._runs.trim(self.ids)

    def _watchers(self, run_id: str) -> list[Connection]:
        return [found for found in self._connections if run_id in found.watching]

    def _send_run(self, connection: Connection, run_id: str, after: int) -> None:
        """Made when it is sent: what a console that reads nothing is owed takes no memory here."""
        connection.outbox.show(run_id, lambda: self._run_lines(run_id, after, "first" if after <= 0 else "gap"))
        self._deltas.repeat(run_id, connection.outbox)

    def _run_lines(self, run_id: str, after: int, why: p.SnapshotReason) -> list[bytes]:
        run = self._runs.get(run_id)
        if run is None:  # it is being loaded again, and shown then
            return []
        lines = run.events_since(after)
        return lines if lines is not None else run.snapshot(why)

    async def _send_run_later(self, connection: Connection, run_id: str) -> None:
        try:
            run = await self._runs.load(run_id)
        except Exception as exc:
            log.exception("cannot read run %s", run_id)
            connection.watching.discard(run_id)
            connection.refuse("journal", f"the run cannot be read: {exc}", run_id)
            return
        finally:
            after = connection.loading.pop(run_id)
        if run_id not in connection.watching:
            self.trim()
        elif run is None:
            connection.watching.discard(run_id)
            connection.refuse("unknown_run", f"no run is called {run_id}", run_id)
        else:
            self._send_run(connection, run_id, after)
