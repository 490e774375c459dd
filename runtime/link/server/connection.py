"""One console at the server: reads its messages, and writes what its outbox holds."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Protocol

from runtime.execution.view_redaction import ViewRedactor
from runtime.link.server.outbox import ClientOutbox
from runtime.link.wire import protocol as p
from runtime.link.wire.framing import (
    MAX_LINE_BYTES,
    READ_BYTES,
    FramingError,
    LineReader,
    PartAssembler,
    split_into_parts,
)
from runtime.link.wire.message_parser import InvalidMessage, parse_console_message
from runtime.record.state.events import Actor
from runtime.record.state.operator_terms import Role

log = logging.getLogger(__name__)

MAX_UNREAD_BYTES: dict[Role, int] = {"operator": 256 * 1024, "viewer": 32 * 1024}
"""Half of what is taken off the socket of a connection from which nothing is read; the rest stays with the sender."""
MAX_COMMAND_BYTES = 16 * 1024 * 1024
"""The longest message taken from an operator: a corrected input may be long, a journal it is not."""
MAX_VIEWER_BYTES = 64 * 1024
"""The longest line and message taken from a viewer, who has nothing long to say."""
MAX_CONCURRENT_REQUESTS: dict[Role, int] = {"operator": 8, "viewer": 2}
"""Commands and runs to be loaded that one connection may have under way. Beyond that it is not read."""
MAX_WATCHED_RUNS = 64
"""Runs that one connection may watch at once."""
MAX_LINES_PER_TURN = 64
"""Lines taken from one connection before the others have a turn."""
MAX_CLIENT_CHARS = 40
"""Characters kept of the name of an agent's client."""
FLUSH_TIMEOUT_S = 1.0
"""For the last replies to a console that is being sent away."""


class ConnectionHost(Protocol):
    """What a connection asks of the server. Each method is told which connection asks."""

    @property
    def window(self) -> int:
        """Messages of the stream that may be under way, not yet acknowledged."""
        ...

    @property
    def capacity(self) -> int:
        """Messages that may be queued for one console."""
        ...

    @property
    def closing(self) -> bool:
        """Whether the server takes nothing more."""
        ...

    @property
    def views(self) -> ViewRedactor:
        """What is masked in the lines that consoles get."""
        ...

    def hello(self, connection: Connection) -> p.Hello:
        """The first message to a console."""
        ...

    def held_up(self) -> str:
        """Runs that cannot be carried on now, in words."""
        ...

    def slow(self) -> str:
        """What only takes long now, in words."""
        ...

    def join(self, connection: Connection) -> None:
        """The console wants the picture, from where its `attaching` says that it stands."""
        ...

    def leave(self, connection: Connection) -> None:
        """The connection ended."""
        ...

    def watch(self, connection: Connection, run_id: str, after: int) -> None:
        """The console wants a run, from an event on."""
        ...

    def unwatch(self, connection: Connection, run_id: str) -> None:
        """The console wants a run no longer."""
        ...

    def snapshot_lines(self, connection: Connection) -> list[bytes]:
        """All that the console sees, as a snapshot: it fell behind."""
        ...

    def snapshot_rows(self, connection: Connection) -> int:
        """How many runs and nodes such a snapshot has."""
        ...

    def handle_command(self, connection: Connection, command: p.Command, by: Actor) -> None:
        """Carry out a command; the reply goes to the connection."""
        ...


class Connection:
    """A console that dialled one of our sockets. `role` comes from which one, never from a message."""

    def __init__(
        self,
        server: ConnectionHost,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        role: Role,
        account: str,
    ) -> None:
        self.role: Role = role
        self.name = account
        self.attached = False
        self.attaching: p.Attach | None = None
        """What the console asked for, until it is told: what it sends meanwhile is read afterwards."""
        self.watching: set[str] = set()
        self.outbox = ClientOutbox(
            lambda: server.snapshot_lines(self),
            window=server.window,
            capacity=server.capacity,
            snapshot_rows=lambda: server.snapshot_rows(self),
        )
        self._server = server
        self._reader = reader
        self._writer = writer
        self._account = account
        self.loading: dict[str, int] = {}
        """Runs that are being loaded to be shown, and the event after which."""
        self._line = 0
        self._under_way = 0
        self._room = asyncio.Event()
        self._gone = False
        viewer = role == "viewer"
        self._lines = LineReader(MAX_VIEWER_BYTES if viewer else MAX_LINE_BYTES)
        self._parts = PartAssembler(MAX_VIEWER_BYTES if viewer else MAX_COMMAND_BYTES)

    async def run(self) -> None:
        """Serve the console until it goes or is sent away."""
        writing = asyncio.create_task(self._write())
        try:
            self.outbox.reply(self._server.hello(self).line())
            await self._read()
        except (ConnectionError, FramingError) as exc:
            log.info("console %s: %s", self.name, exc)
            if isinstance(exc, FramingError):
                self.refuse("too_long", str(exc))
        finally:
            self._server.leave(self)
            self.outbox.close()
            await self._hang_up(writing)

    def sever(self) -> socket.socket:
        """Our end once more: the console sees us hang up when both are closed. Raises `OSError` if it is gone."""
        end: socket.socket = self._writer.get_extra_info("socket").dup()
        return end

    def refuse(self, error: str, message: str, run_id: str = "", *, asked: str = "") -> None:
        """Tell the console that something is not understood or not allowed; `asked` is the id of what was refused."""
        refused = p.MessageRefused(error=error, message=message, run_id=run_id, id=asked, number=self._line)
        self.outbox.reply(refused.line())

    def joined(self) -> None:
        """The picture is on its way to the console, and every change from now on."""
        self.attached, self.attaching = True, None
        self._room.set()

    def request_started(self) -> None:
        """Something that was asked for is under way, until `done`."""
        self._under_way += 1

    def request_ended(self) -> None:
        """It has ended."""
        self._under_way -= 1
        self._room.set()

    async def _wait_for_room(self) -> None:
        """Wait until this console may ask for more: what it has under way and has not read yet is bounded, and the
        rest stays in its own buffers. None of it needs more to be read from it.

        Raises:
            ConnectionError: the console went.
        """
        while (
            self.attaching is not None
            or self.outbox.full
            or self._under_way >= MAX_CONCURRENT_REQUESTS[self.role]
            or self._server.closing
        ):
            self._room.clear()
            await self._room.wait()
            if self._gone:
                raise ConnectionResetError("it reads no more")

    async def _write(self) -> None:
        """What is ready goes out together: a console that is told of fifty events reads once, and not fifty times."""
        key, batch = 0, bytearray()
        try:
            while (line := await self.outbox.next_line()) is not None:
                while line is not None:
                    key += 1
                    for piece in split_into_parts(await self._mask_line(line), key):
                        batch += piece
                        if len(batch) >= READ_BYTES:
                            await self._flush(batch)
                    line = self.outbox.ready_line()
                await self._flush(batch)
                await self.outbox.gather()
        except ConnectionError as exc:
            log.info("console %s went: %s", self.name, exc)
        finally:  # nothing can be sent any more: nothing more is read
            self._gone = True
            self._room.set()
            self._reader.feed_eof()

    async def _flush(self, batch: bytearray) -> None:
        """Write what is in `batch`, and empty it; back when there is room for more."""
        self._writer.write(bytes(batch))
        batch.clear()
        await self._writer.drain()
        self._room.set()

    async def _mask_line(self, line: bytes) -> bytes:
        """The line as this console may see it. To mask a long one takes long: on a thread, which the loop does not wait
        for.
        """
        views = self._server.views
        return await asyncio.to_thread(views.mask_line, line) if views.masked else line

    async def _hang_up(self, writing: asyncio.Task[None]) -> None:
        """End the connection, once the console has taken what it is owed; one that reads no more is not waited for."""
        try:
            async with asyncio.timeout(FLUSH_TIMEOUT_S):
                await writing
                self._writer.close()
                await self._writer.wait_closed()
        except TimeoutError:
            self._writer.transport.abort()
        except asyncio.CancelledError:
            self._writer.transport.abort()
            raise
        except ConnectionError as exc:
            log.info("console %s went: %s", self.name, exc)

    async def _read(self) -> None:
        while data := await self._reader.read(READ_BYTES):
            for number, line in enumerate(self._lines.feed(data), 1):
                await self._wait_for_room()
                self._handle_message(line)
                if not number % MAX_LINES_PER_TURN:
                    await asyncio.sleep(0)

    def _handle_message(self, line: bytes) -> None:
        self._line += 1  # also a refused line: a pump must not repeat its lines
        first = self._line == 1
        try:
            message = parse_console_message(line)
            if isinstance(message, p.MessagePart):
                whole = self._parts.add(message.key, message.data, last=message.last)
                if whole is None:
                    return
                message = parse_console_message(whole)
        except InvalidMessage as exc:
            self.refuse(exc.error, str(exc), asked=exc.asked)
            return
        match message:
            case p.Identify():
                self._start_command(message.name, first=first)
            case p.Attach():
                self._attach(message)
            case p.Watch():
                self._watch(message)
            case p.Unwatch():
                self._server.unwatch(self, message.run_id)
            case p.Command():
                self._server.handle_command(self, message, Actor(name=self._caller(message), channel=message.channel))
            case p.Ack():
                self.outbox.acknowledge(message.taken)
            case p.Ping():
                server = self._server
                self.outbox.reply(p.Pong(id=message.id, held_up=server.held_up(), slow=server.slow()).line())
            case p.MessagePart():
                self.refuse("bad_message", "a part of a message must not hold a part")

    def _caller(self, command: p.Command) -> str:
        """Who asks: the account, and the agent that asks for it."""
        if command.channel != "mcp":
            return self.name
        client = command.agent.client if command.agent is not None else "an agent"
        return f"{_client_name(client)} ({self.name})"

    def _start_command(self, name: str, *, first: bool) -> None:
        if not first:
            self.refuse("too_late", "a hello must be the first message")
            return
        self.name = f"{name} ({self._account})"

    def _attach(self, message: p.Attach) -> None:
        if message.proto != p.PROTOCOL_VERSION:
            self.refuse(
                "proto",
                f"this runtime speaks protocol {p.PROTOCOL_VERSION}, the console {message.proto}: "
                "stop the runtime (orbiter-console stop) and open the console again, so that both are of one version",
            )
            return
        if self.attached:
            self.refuse("too_late", "the console is attached already")
            return
        self.attaching = message
        self._server.join(self)

    def _watch(self, message: p.Watch) -> None:
        if not self.attached:
            self.refuse("too_early", "attach first, then watch", message.run_id)
            return
        if message.run_id not in self.watching and len(self.watching) >= MAX_WATCHED_RUNS:
            self.refuse(
                "too_many", f"{MAX_WATCHED_RUNS} runs are watched over this connection: unwatch one", message.run_id
            )
            return
        self._server.watch(self, message.run_id, message.after)


def _client_name(said: str) -> str:
    """What an agent's client calls itself, as it may stand in the audit: no control signs, nothing that cannot be seen,
    and no brackets, between which the account stands.
    """
    kept = "".join(char for char in said if char.isprintable() and char not in "()")
    return " ".join(kept.split())[:MAX_CLIENT_CHARS] or "an agent"
