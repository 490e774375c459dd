"""Receives the messages of one connection: updates go into the view, replies to their callers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from runtime.link.client.heartbeat import HEARTBEAT_S, Heartbeat
from runtime.link.client.pending import PendingRequests
from runtime.link.client.workspace_view import WorkspaceView
from runtime.link.transports.handshake import HandshakeResult, IncompatibleVersion
from runtime.link.wire import protocol as p
from runtime.link.wire.framing import READ_BYTES, LineReader

log = logging.getLogger(__name__)

HELD_UP_CHARS = 2000


class Receiver:
    """See the module. `changed` is called when messages were taken in."""

    def __init__(
        self,
        session: HandshakeResult,
        view: WorkspaceView,
        asked: PendingRequests,
        round_trip: Heartbeat,
        changed: Callable[[], None],
    ) -> None:
        self.session = session
        self.answered = False
        """Whether anything came after the hello."""
        self._view = view
        self._asked = asked
        self._round_trip = round_trip
        self._changed = changed

    def open(self, program: str, watching: Iterable[str]) -> None:
        """Say where we stand, which runs we watch, and again what was asked and has no answer."""
        view = self._view
        self.send(p.Attach(proto=p.PROTOCOL_VERSION, epoch=view.epoch, position=view.position, program=program))
        for run_id in watching:
            self.send(p.Watch(run_id=run_id, after=view.last_seq(run_id)))
        for pending in self._asked.commands.values():
            self.session.send(pending.line)

    def send(self, message: p.Message) -> None:
        self.session.send(message.line())

    async def listen(self, reader: asyncio.StreamReader, lines: LineReader, rest: list[bytes]) -> None:
        """Take in what comes, from `rest` on, until the connection ends or nothing comes over it any more."""
        beating = asyncio.create_task(self._beat())
        data = b""
        try:
            while True:
                self._take_in(rest)
                if len(data) == READ_BYTES or not self._view.whole:  # else all was read, and `read` waits
                    await asyncio.sleep(0)  # a flood must not keep the screen's loop for itself
                if not self._view.whole:  # who waits for the beginning of a picture has a turn before the rest is read
                    await asyncio.sleep(0)
                # Not drained: a runtime that waits for us to read must be read. Its window bounds what is acknowledged.
                self.session.acknowledge()
                data = await reader.read(READ_BYTES)
                if not data:
                    return
                self._round_trip.received()
                rest = lines.feed(data)
        finally:
            beating.cancel()

    def _take_in(self, lines: list[bytes]) -> None:
        try:
            for line in lines:
                self._handle_message(line)
        finally:  # also of what came before a line that ends the connection
            if lines:
                self._changed()

    async def _beat(self) -> None:
        """Measure the round trip, and give up a connection on which nothing comes any more."""
        self._round_trip.connected()
        while not self._round_trip.is_dead:
            number = self._round_trip.beat()
            if number is not None:
                self.send(p.Ping(id=number))
            await asyncio.sleep(HEARTBEAT_S)
        self.session.writer.transport.abort()

    def _handle_message(self, line: bytes) -> None:
        message = self.session.read(line)
        self.answered = True
        if message is None:
            return
        if message.STREAMED:
            self._show_message(message)
        else:
            self._parse_line(message)

    def _show_message(self, message: p.RuntimeMessage) -> None:
        size = self.session.size
        match message:
            case p.RunEvent():  # first: there may be thousands a second
                if not self._view.apply_event(message, size):
                    log.warning("run %s has a gap and is requested again", message.run_id)
                    self.send(p.Watch(run_id=message.run_id))
            case p.Delta():
                self._view.apply_delta(message)
            case p.WorkspaceChange():
                self._view.apply_change(message, size)
            case p.WorkspaceSnapshot():
                self._view.apply_snapshot(message, self.session.hello.epoch, size)
            case p.RunSnapshot():
                self._view.apply_run_snapshot(message, size)

    def _parse_line(self, message: p.RuntimeMessage) -> None:
        match message:
            case p.Pong():  # before those that would be loaded with the rest of the vocabulary
                self._round_trip.pong_received(message.id)
                self._asked.resolve_ping(message)
                self._view.held_up, self._view.slow = message.held_up[:HELD_UP_CHARS], message.slow[:HELD_UP_CHARS]
            case p.CommandReply():
                self._asked.resolve(message)
            case p.MessageRefused():
                self._refused(message)

    def _refused(self, message: p.MessageRefused) -> None:
        if message.error == "proto":
            raise IncompatibleVersion(message.message)
        run = self._view.runs.get(message.run_id)
        if run is not None:
            run.problem = message.message
        self._asked.refused(message)
        log.warning("the runtime refused: %s", message.message)
