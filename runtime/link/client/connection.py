"""The connection to a runtime: dialled, listened to until it is cut, and dialled again, for as long as it is wanted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from runtime.link.client.heartbeat import DEAD_BEATS, HEARTBEAT_S, Heartbeat
from runtime.link.client.pending import PendingRequests
from runtime.link.client.receiver import Receiver
from runtime.link.client.reconnect import ReconnectBackoff
from runtime.link.client.workspace_view import MissingChange, WorkspaceView
from runtime.link.transports.handshake import HandshakeResult, IncompatibleVersion, read_hello
from runtime.link.transports.transport import Streams, Transport, Unreachable
from runtime.link.wire import protocol as p
from runtime.link.wire.framing import FramingError, LineReader
from runtime.link.wire.link_status import LinkStatus
from runtime.link.wire.message_parser import InvalidMessage

log = logging.getLogger(__name__)


class LinkConnection:
    """What it hears goes into `view` and `asked`, and `changed` is called.

    Args:
        transport: the way to the runtime.
        view: the picture that the runtime tells.
        asked: what waits for a reply.
        changed: called when the status or the picture is another one.
        watching: runs to ask for on each new connection, by id.
        program: what the runtime's log calls us.
        hold: keep what waits for a reply when the runtime is lost.
    """

    def __init__(
        self,
        transport: Transport,
        view: WorkspaceView,
        asked: PendingRequests,
        changed: Callable[[], None],
        watching: Mapping[str, int],
        *,
        program: str,
        hold: bool,
    ) -> None:
        self.status = LinkStatus("connecting")
        self.hello: p.Hello | None = None
        """What the runtime said of itself the last time."""
        self.round_trip = Heartbeat()
        self.receiver: Receiver | None = None
        """The conversation; None while there is none."""
        self._transport = transport
        self._view = view
        self._asked = asked
        self._changed = changed
        self._watching = watching
        self._program = program
        self._hold = hold
        self._redial = ReconnectBackoff(transport.backoff)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to connect."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="link")

    async def close(self) -> None:
        """End it: what waits for a reply raises `LinkLost`."""
        self.set_status(LinkStatus("closed", "the link is closed"))
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._asked.link_lost("the link was closed before the runtime answered")
        await self._transport.close()

    def reconnect_now(self) -> None:
        """Wait no longer before the next dial."""
        self._redial.reconnect_now()

    def send(self, message: p.Message) -> None:
        """Send a message, if there is a connection."""
        if self.receiver is not None:
            self.receiver.send(message)

    def mark_lost(self, reason: str, *, mismatch: bool = False) -> None:
        """There is no runtime to talk to, for `reason`; `mismatch`: it is of another version."""
        self.set_status(LinkStatus("lost", reason, mismatch))
        if not self._hold:
            self._asked.link_lost(reason)

    def set_status(self, status: LinkStatus) -> None:
        """Say how the link is. Once it is closed, it stays so."""
        if status != self.status and self.status.phase != "closed":
            self.status = status
            self._changed()

    async def _run(self) -> None:
        while True:
            try:
                await self._run_connection(await self._transport.connect())
            except IncompatibleVersion as exc:
                self.mark_lost(str(exc), mismatch=True)
            except Unreachable as exc:
                if exc.gone:
                    self.mark_lost(str(exc))
                else:
                    self.set_status(LinkStatus("connecting", str(exc)))
            except MissingChange as exc:
                log.warning("the picture has a gap and is requested again: %s", exc)
                self._view.epoch = ""
            except (FramingError, InvalidMessage) as exc:
                log.warning("the runtime at %s breaks the protocol: %s", self._transport.where, exc)
                self.mark_lost(f"the runtime at {self._transport.where} breaks the protocol, and was cut off: {exc}")
            except Exception as exc:
                log.exception("the link failed")
                self.mark_lost(f"the link failed: {type(exc).__name__}: {exc}")
            await self._redial.wait()

    async def _run_connection(self, streams: Streams) -> None:
        """One connection, to its end."""
        reader, writer = streams
        reason, bad = "the connection was cut", False
        now = asyncio.get_running_loop().time
        began = now()
        try:
            lines = LineReader()
            hello, rest = await read_hello(reader, lines, self._transport)
            began = now()
            await self._start_receiver(HandshakeResult(writer, hello)).listen(reader, lines, rest)
            if self.round_trip.is_dead:
                reason = f"nothing was heard for {DEAD_BEATS * HEARTBEAT_S:.0f} seconds"
        except (FramingError, InvalidMessage):
            bad = True
            raise
        except ConnectionError as exc:
            if isinstance(exc, Unreachable):
                raise
            reason = f"the connection was cut: {exc}"
        finally:
            if self.receiver is not None:
                self._redial.connection_ended(now() - began, answered=self.receiver.answered and not bad)
            self.receiver = None
            self._view.connection_cut()
            self._asked.connection_cut(reason)
            if not writer.transport.is_closing():
                writer.transport.abort()
        self.set_status(LinkStatus("connecting", reason))

    def _start_receiver(self, session: HandshakeResult) -> Receiver:
        self.hello = session.hello
        self._transport.hello_received()
        self.receiver = Receiver(session, self._view, self._asked, self.round_trip, self._changed)
        self.receiver.open(self._program, self._watching)
        self.set_status(LinkStatus("connected"))
        return self.receiver
