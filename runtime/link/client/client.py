"""The client of the link: keeps a connection to a runtime, and the view that screens read.

    client = LinkClient(UnixTransport(state_dir))
    client.subscribe(on_dirty)
    client.start()

Runs on the loop of whoever reads it, and touches nothing else. Screens read `summaries`, `incidents`, `grants`,
`run(run_id)` and `status`; one signal says that something changed, at most once per turn of the loop. A cut
connection comes back by itself and goes on where it was; a runtime that is gone is not started: `revive` is for a key.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from runtime.link.client.change_signal import ChangeSignal
from runtime.link.client.heartbeat import DEAD_BEATS, HEARTBEAT_S, Heartbeat
from runtime.link.client.pending import PendingCommand, PendingRequests
from runtime.link.client.receiver import Receiver
from runtime.link.client.reconnect import ReconnectBackoff
from runtime.link.client.streamed_text import StreamedText
from runtime.link.client.workspace_view import MissingChange, WorkspaceView
from runtime.link.transports.handshake import HandshakeResult, IncompatibleVersion, read_hello
from runtime.link.transports.transport import Streams, Transport, Unreachable
from runtime.link.wire import protocol as p
from runtime.link.wire.framing import FramingError, LineReader
from runtime.link.wire.link_status import (
    CommandRefused,
    LinkError,
    LinkLost,
    LinkPhase,
    LinkQuality,
    LinkStatus,
)

if TYPE_CHECKING:
    from runtime.record.state.durable_run import DurableRun
    from runtime.record.state.events import GrantAdded
    from runtime.record.state.summary import Summary

__all__ = ["CommandRefused", "LinkClient", "LinkError", "LinkLost", "LinkPhase", "LinkQuality", "LinkStatus"]

log = logging.getLogger(__name__)


class LinkClient:
    """See the module.

    Args:
        transport: the way to the runtime.
        program: what the runtime's log calls us.
        channel: `cli` marks what is asked as coming from the command line.
        host: what screens call the machine at the other end; empty for this one.
        hold: keep commands that wait for their reply when the runtime is lost, and send them again when one is back
            (their ids make that safe). Without it they raise `LinkLost`.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        program: str = "",
        channel: Literal["console", "cli"] = "console",
        hold: bool = True,
        host: str = "",
    ) -> None:
        self.transport = transport
        self.host = host
        self.round_trip = Heartbeat()
        self.status = LinkStatus("connecting")
        self.hello: p.Hello | None = None
        self._program = program
        self._channel: Literal["console", "cli"] = channel
        self._hold = hold
        self._view = WorkspaceView()
        self._asked = PendingRequests()
        self._conversation: Receiver | None = None
        self._watching: dict[str, int] = {}
        self._signal = ChangeSignal()
        self._redial = ReconnectBackoff(transport.backoff)
        self._task: asyncio.Task[None] | None = None

    # -- what screens read -------------------------------------------------------------------------------------

    @property
    def summaries(self) -> Mapping[str, Summary]:
        """All runs that lists show, by id, oldest first."""
        return self._view.summaries

    @property
    def incidents(self) -> Mapping[str, p.InboxRow]:
        """The inbox: open incidents of all runs, by id, oldest first."""
        return self._view.incidents

    @property
    def grants(self) -> Mapping[str, GrantAdded]:
        """Grants in force."""
        return self._view.grants

    @property
    def qualities(self) -> tuple[LinkQuality, ...]:
        """How good the link is: of one host."""
        trip = self.round_trip
        stalled = trip.is_stalled if self.status.phase == "connected" else 0
        return (LinkQuality(self.host, self.status.phase, trip.shown, stalled, self.role, self._view.held_up),)

    @property
    def pending(self) -> Mapping[str, PendingCommand]:
        """Commands that were sent and have no reply yet, by their ids."""
        return self._asked.commands

    @property
    def ready(self) -> bool:
        """Whether the picture was told at all."""
        return bool(self._view.epoch)

    @property
    def snapshots(self) -> list[p.SnapshotReason]:
        """Why the picture was told as a whole, each time; ``slow`` means that we fell behind."""
        return self._view.snapshots

    def run(self, run_id: str) -> DurableRun | None:
        """State of a watched run; None if it is not watched or was not told yet."""
        found = self._view.runs.get(run_id)
        return found.state if found is not None else None

    def problem(self, run_id: str) -> str:
        """Why a watched run cannot be shown; empty if it can."""
        found = self._view.runs.get(run_id)
        return found.problem if found is not None else ""

    def text(self, run_id: str, node_id: str) -> StreamedText | None:
        """The reply that a node of a watched run is streaming, as far as it is."""
        found = self._view.runs.get(run_id)
        return found.texts.get(node_id) if found is not None else None

    # -- what screens do ---------------------------------------------------------------------------------------

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` when anything changed; the result ends it."""
        return self._signal.subscribe(listener)

    def host_of(self, _run_id: str) -> str:
        """The host that a run is on: empty, for there is one only."""
        return ""

    @property
    def position(self) -> object:
        """Where the picture stands: equal as long as nothing that it tells of has changed."""
        return self._view.epoch, self._view.position

    @property
    def role(self) -> p.Role:
        """What the runtime lets us do, as far as it has said."""
        return self.hello.role if self.hello is not None else "operator"

    @property
    def host_names(self) -> tuple[str, ...]:
        """The names by which `command` is told where: one, which is empty."""
        return ("",)

    def watches(self, run_id: str) -> bool:
        """Whether `watch` asked for this run."""
        return run_id in self._watching

    def watch(self, run_id: str) -> None:
        """Be told of this run. Counted: it ends with as many `unwatch`."""
        self._watching[run_id] = self._watching.get(run_id, 0) + 1
        if self._watching[run_id] == 1:
            from runtime.link.client.run_view import (
                RunView,  # with the vocabulary of events, which lists do without
            )

            self._view.runs[run_id] = RunView()
            self._send(p.Watch(run_id=run_id))

    def unwatch(self, run_id: str) -> None:
        count = self._watching.get(run_id, 0)
        if count > 1:
            self._watching[run_id] = count - 1
        elif count == 1:
            del self._watching[run_id], self._view.runs[run_id]
            self._send(p.Unwatch(run_id=run_id))

    async def command(self, verb: str, /, *, command_id: str = "", where: str = "", **args: Any) -> Any:
        """Ask the runtime to do something; its answer, as JSON. Applied once, however often the link is cut meanwhile.
        There is only one `where`.

        Raises:
            CommandRefused: it said no.
            LinkLost: there is no runtime to ask.
        """
        if self.status.phase in {"lost", "closed"}:
            raise LinkLost(self.status.reason or "the link is closed")
        command = p.Command(id=command_id or p.new_command_id(), verb=verb, args=args, channel=self._channel)
        pending = self._asked.command(command)
        self._signal.mark()
        if self._conversation is not None:
            self._conversation.session.send(pending.line)
        try:
            reply = await pending.done
        finally:
            self._asked.commands.pop(command.id, None)
            self._signal.mark()
        if reply.error == "unknown_command":
            raise CommandRefused(reply.model_copy(update={"message": self._unknown_command_text(verb)}))
        if not reply.ok:
            raise CommandRefused(reply)
        return reply.result

    def _unknown_command_text(self, verb: str) -> str:
        """What to do where the runtime does not know a command of ours: it is of another version."""
        program = self.hello.program if self.hello is not None else ""
        return (
            f"the runtime ({program or 'of another version'}) has no command {verb!r}: stop it (orbiter-console stop),"
            " then close the console and open it again, so that both are of one version"
        )

    async def ping(self) -> float:
        """Seconds to the runtime and back. Raises `LinkLost`."""
        if self._conversation is None:
            raise LinkLost(self.status.reason or "not connected")
        loop = asyncio.get_running_loop()
        began = loop.time()
        ping, answered = self._asked.ping()
        self._conversation.send(ping)
        await answered
        return loop.time() - began

    @property
    def needs_login(self) -> bool:
        """Whether a login is needed: `login`, then, and not `revive`."""
        return self.transport.needs_login

    def login(self) -> None:
        """Log in, start a runtime if there is none, and connect. Blocks, and needs the terminal: suspend the app.

        Raises:
            LinkLost: with the reason why it cannot be.
        """
        try:
            self.transport.login(start=True)
        except Unreachable as exc:
            self._mark_lost(str(exc))
            raise LinkLost(str(exc)) from exc
        self._redial.reconnect_now()

    async def revive(self) -> None:
        """Start a runtime if there is none, and connect. Raises `LinkLost` with the reason why it cannot be."""
        try:
            await self.transport.revive()
        except Unreachable as exc:
            raise LinkLost(str(exc)) from exc
        self._redial.reconnect_now()

    async def wait_until(self, true: Callable[[], bool]) -> None:
        """Wait until `true()` holds of what is known."""
        await self._signal.wait_until(true)

    def start(self) -> None:
        """Begin to connect."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="link")

    async def close(self) -> None:
        """End it. Commands without a reply raise `LinkLost`."""
        self._set_status(LinkStatus("closed", "the link is closed"))
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._asked.link_lost("the link was closed before the runtime answered")
        await self.transport.close()

    # -- the connection ----------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            try:
                await self._run_connection(await self.transport.connect())
            except IncompatibleVersion as exc:
                self._mark_lost(str(exc), mismatch=True)
            except Unreachable as exc:
                if exc.gone:
                    self._mark_lost(str(exc))
                else:
                    self._set_status(LinkStatus("connecting", str(exc)))
            except MissingChange as exc:
                log.warning("the picture has a gap and is asked for anew: %s", exc)
                self._view.epoch = ""
            except (FramingError, p.InvalidMessage) as exc:
                log.warning("the runtime at %s breaks the protocol: %s", self.transport.where, exc)
                self._mark_lost(f"the runtime at {self.transport.where} breaks the protocol, and was cut off: {exc}")
            except Exception as exc:
                log.exception("the link failed")
                self._mark_lost(f"the link failed: {type(exc).__name__}: {exc}")
            await self._redial.wait()

    def _mark_lost(self, reason: str, *, mismatch: bool = False) -> None:
        self._set_status(LinkStatus("lost", reason, mismatch))
        if not self._hold:
            self._asked.link_lost(reason)

    async def _run_connection(self, streams: Streams) -> None:
        """One connection, to its end."""
        reader, writer = streams
        reason, bad = "the connection was cut", False
        now = asyncio.get_running_loop().time
        began = now()
        try:
            lines = LineReader()
            hello, rest = await read_hello(reader, lines, self.transport)
            began = now()
            await self._start_receiver(HandshakeResult(writer, hello)).listen(reader, lines, rest)
            if self.round_trip.is_dead:
                reason = f"nothing was heard for {DEAD_BEATS * HEARTBEAT_S:.0f} seconds"
        except (FramingError, p.InvalidMessage):
            bad = True
            raise
        except ConnectionError as exc:
            if isinstance(exc, Unreachable):
                raise
            reason = f"the connection was cut: {exc}"
        finally:
            if self._conversation is not None:
                self._redial.connection_ended(now() - began, answered=self._conversation.answered and not bad)
            self._conversation = None
            self._view.connection_cut()
            self._asked.connection_cut(reason)
            if not writer.transport.is_closing():
                writer.transport.abort()
        self._set_status(LinkStatus("connecting", reason))

    def _start_receiver(self, session: HandshakeResult) -> Receiver:
        self.hello = session.hello
        self.transport.hello_received()
        self._conversation = Receiver(session, self._view, self._asked, self.round_trip, self._signal.mark)
        self._conversation.open(self._program, self._watching)
        self._set_status(LinkStatus("connected"))
        return self._conversation

    def _send(self, message: p.Message) -> None:
        if self._conversation is not None:
            self._conversation.send(message)

    def _set_status(self, status: LinkStatus) -> None:
        if status != self.status and self.status.phase != "closed":
            self.status = status
            self._signal.mark()
