"""The server of the link: sends consoles what the journal says, and passes their commands on.

Lives on a loop of its own and shares no object with what drives the runs: both meet in the journal, and in `deltas`,
which take pieces of streamed replies from any thread. The picture and the runs that are watched follow the journal's
tail, so that runs which another process drives are shown as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import logging
import os
import pwd
import socket
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any

from runtime.daemon.sockets import BACKLOG, peer_uid
from runtime.execution.view_redaction import ViewRedactor
from runtime.link.server.command_handler import CommandHandler
from runtime.link.server.connection import MAX_UNREAD_BYTES, Connection
from runtime.link.server.outbox import MAX_QUEUE_MESSAGES
from runtime.link.server.projection import WorkspaceProjection
from runtime.link.server.projector import Projector
from runtime.link.server.reply_relay import ReplyRelay
from runtime.link.server.reply_streams import ReplyStreams
from runtime.link.server.run_cache import RunCache
from runtime.link.server.verbs import Verb
from runtime.link.server.watched_runs import WatchedRuns
from runtime.link.wire import protocol as p
from runtime.link.wire.framing import READ_BYTES
from runtime.record.journal import Journal
from runtime.record.live_replies import LiveReplies
from runtime.record.state import events as ev
from runtime.record.state.operator_terms import Role

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 600
"""Consoles over one socket at once; one more is told so and sent away. Those of the other socket are not concerned."""


REST_S = 60.0
"""How long after the last console went the picture is kept, in seconds: one that comes back gets what it missed."""


class LinkServer:
    """Serves consoles: `start`, then `listen` or `adopt`; `close` at the end. Only `deltas` is thread-safe."""

    def __init__(
        self,
        journal: Journal,
        verbs: Mapping[str, Verb],
        *,
        program: str = "",
        workspace: str = "",
        keys: Sequence[str] = (),
        streams: ReplyStreams | None = None,
        replies: LiveReplies | None = None,
        held_up: Callable[[], str] = str,
        slow: Callable[[], str] = str,
        displaced: Callable[[], str] = str,
        views: ViewRedactor | None = None,
        window: int = p.ACK_WINDOW,
        capacity: int = MAX_QUEUE_MESSAGES,
        rest_s: float = REST_S,
    ) -> None:
        self.window = window
        self.capacity = capacity
        self.projection = WorkspaceProjection()
        self.verbs = dict(verbs)
        self.views = views or ViewRedactor()
        """What consoles are shown in place of secrets."""
        self.closing = False
        """Whether nothing more is read from consoles."""
        self.held_up = held_up
        """Runs that cannot be carried on now, in words: what every pong says."""
        self.slow = slow
        """What only takes long, in words: every pong says that, too."""
        self._commands = CommandHandler(journal, self.verbs, displaced, program=program)
        self._program, self._workspace, self._keys = program, workspace, tuple(keys)
        self.deltas = streams if streams is not None else ReplyStreams()
        """Where the driving thread puts pieces of streamed replies; for any thread."""
        self._replies = replies
        self._journal = journal
        self._follower = Projector(journal, self.projection, self)
        self._following: asyncio.Task[None] | None = None
        self._rest_s = rest_s
        self._resting: asyncio.TimerHandle | None = None
        self._connections: set[Connection] = set()
        self._watched = WatchedRuns(RunCache(journal), self.deltas, self._connections, self._spawn)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._obeying: set[asyncio.Task[Any]] = set()
        self._servers: list[asyncio.Server] = []

    # -- life --------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to pass replies on. The journal is read and followed while a console is attached.

        Raises:
            JournalError: the journal cannot be read.
        """
        self.deltas.bind(asyncio.get_running_loop(), self._watched.send_delta)
        await self._journal.position()
        if self._replies is not None and not self.views.masked:  # a piece may end inside a secret
            self._spawn(ReplyRelay(self._replies, self.deltas, lambda: self._watched.ids).serve())

    async def listen(self, sock: socket.socket, role: Role) -> None:
        """Accept consoles on a listening Unix socket, all with `role`."""

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._serve(reader, writer, role)

        server = await asyncio.start_unix_server(accept, sock=sock, limit=MAX_UNREAD_BYTES[role], backlog=BACKLOG)
        self._servers.append(server)

    async def adopt(self, sock: socket.socket, role: Role = "operator") -> None:
        """Serve a console over a connected Unix socket, one end of a pair."""
        reader, writer = await asyncio.open_unix_connection(sock=sock, limit=MAX_UNREAD_BYTES[role])
        self._serve(reader, writer, role)

    def stop_listening(self) -> None:
        """Take no more consoles; those that are here stay."""
        for server in self._servers:
            server.close()

    async def close(self) -> None:
        """Send the consoles away, after what they asked for is done and answered."""
        self.stop_listening()
        self.closing = True
        if self._resting is not None:
            self._resting.cancel()
        while self._obeying:
            await asyncio.wait(self._obeying)
        for connection in list(self._connections):
            connection.outbox.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for server in self._servers:
            await server.wait_closed()
        self.deltas.close()

    @contextlib.contextmanager
    def hold_connections(self) -> Iterator[None]:
        """A console that is connected now sees us hang up at the end of the ``with``, also if `close` comes before.
        That is how one who waits for the runtime to be gone knows it, and may then move what was ours or take it away.
        """
        with contextlib.ExitStack() as ends:
            for connection in self._connections:
                with contextlib.suppress(OSError):  # it is gone already
                    ends.enter_context(connection.sever())
            yield

    @property
    def connection_count(self) -> int:
        """How many are connected."""
        return len(self._connections)

    # -- what connections call ---------------------------------------------------------------------------------

    def hello(self, connection: Connection) -> p.Hello:
        return p.Hello(
            epoch=self.projection.epoch,
            position=self.projection.position,
            role=connection.role,
            peer=connection.name,
            program=self._program,
            pid=os.getpid(),
            workspace=self._workspace,
            keys=self._keys,
            window=self.window,
        )

    def join(self, connection: Connection) -> None:
        """Tell the console every change from now on; of the first one, once the picture is loaded."""
        if self._follower.loaded:
            self._send_picture(connection)
        elif self._following is None:
            self._following = self._spawn(self._follower.serve())

    def _send_picture(self, connection: Connection) -> None:
        """No await between taking the snapshot and joining."""
        assert connection.attaching is not None
        found = self.projection.changes_since(connection.attaching.epoch, connection.attaching.position)
        connection.outbox.send_bulk(self.projection.snapshot(found) if isinstance(found, str) else found)
        connection.joined()

    def watch(self, connection: Connection, run_id: str, after: int) -> None:
        """Tell the console of a run, once it is loaded."""
        self._watched.watch(connection, run_id, after)

    def unwatch(self, connection: Connection, run_id: str) -> None:
        self._watched.unwatch(connection, run_id)

    def leave(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._count_watchers()
        connection.attached, connection.attaching = False, None
        connection.watching.clear()
        self._watched.trim()
        if self.closing:
            return
        if self._resting is not None:
            self._resting.cancel()
        self._resting = asyncio.get_running_loop().call_later(self._rest_s, self._rest)

    def _rest(self) -> None:
        """Follow the journal no more, where no console is told of it."""
        if self._following is None or any(each.attached or each.attaching for each in self._connections):
            return
        self._following.cancel()
        self._following = None
        self._follower.rest()
        self._watched.clear()

    def snapshot_lines(self, connection: Connection) -> list[bytes]:
        """A fresh snapshot of all that the console is told of."""
        self._watched.show_again(connection)
        return self.projection.snapshot("slow")

    def snapshot_rows(self, connection: Connection) -> int:
        """How many runs and nodes that snapshot has."""
        return len(self.projection.summaries) + self._watched.node_count(connection)

    def handle_command(self, connection: Connection, command: p.Command, by: ev.Actor) -> None:
        """Carry out a command; the reply goes its own way when it is there."""

        async def work() -> None:
            reply = await self._commands.execute(command, by, connection.role)
            connection.outbox.reply(reply.line())

        def done(task: asyncio.Task[None]) -> None:
            self._obeying.discard(task)
            connection.request_ended()

        connection.request_started()
        task = self._spawn(work())
        self._obeying.add(task)
        task.add_done_callback(done)

    # -- what the follower calls -------------------------------------------------------------------------------

    def broadcast(self, line: bytes | None, *, ahead: bytes = b"") -> None:
        if line is not None:
            for connection in self._connections:
                if connection.attached:
                    connection.outbox.offer(line, ahead=ahead)

    def on_event(self, event: ev.JournalEvent) -> None:
        self._watched.on_event(event)

    def on_loaded(self) -> None:
        for connection in self._connections:
            if connection.attaching is not None:
                self._send_picture(connection)

    def reset(self) -> None:
        self._watched.clear()
        for connection in self._connections:
            if connection.attached:
                connection.outbox.send_bulk(self.projection.snapshot("gap"))
                for run_id in list(connection.watching):
                    self._watched.watch(connection, run_id, 0)

    # -- connections -------------------------------------------------------------------------------------------

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, role: Role) -> None:
        if self.closing:  # accepted before the sockets closed, handed over by asyncio after `close` ended the others
            writer.transport.abort()
            return
        uid = peer_uid(writer.get_extra_info("socket"))
        if uid != os.getuid():
            log.warning("a process of uid %d dialled our socket and was sent away", uid)
            writer.close()
            return
        if sum(each.role == role for each in self._connections) >= MAX_CONNECTIONS:
            log.warning("%d consoles are connected as %s: one more was sent away", MAX_CONNECTIONS, role)
            words = f"{MAX_CONNECTIONS} consoles are connected as {role} already: close some, then try again"
            writer.write(p.MessageRefused(error="too_many", message=words).line() + b"\n")
            writer.close()
            return
        writer.transport.set_write_buffer_limits(high=READ_BYTES)
        connection = Connection(self, reader, writer, role, account_name(uid))
        self._connections.add(connection)
        self._count_watchers()

        def hung_up(_ended: asyncio.Task[None]) -> None:
            if not writer.is_closing():  # it was sent away before it began
                writer.transport.abort()

        self._spawn(connection.run()).add_done_callback(hung_up)

    def _count_watchers(self) -> None:
        """Count who sees replies while they stream. A piece may end inside a secret: masked views get none."""
        self.deltas.eyes = 0 if self.views.masked else len(self._connections)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        with contextlib.suppress(asyncio.CancelledError):
            if (exc := task.exception()) is not None:
                log.error("a task of the link failed", exc_info=exc)


def account_name(uid: int) -> str:
    """The name of an account, for the audit; its number where it has none (containers)."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return getpass.getuser() if os.environ.get("USER") else f"uid {uid}"
