"""The console's end of the link: keeps a connection to a runtime and what it tells, for screens to read.

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
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from runtime.link import protocol as p
from runtime.link.lines import FramingError, LineReader
from runtime.link.roundtrip import BEAT_S, DEAD_BEATS, RoundTrip
from runtime.link.session import Incompatible, Session, greeting
from runtime.link.transport import READ_BYTES, Streams, Transport, Unreachable
from runtime.link.view import Gap, StreamedText, View, WatchedView
from runtime.record.events import GrantAdded
from runtime.record.state import RunState, Summary

log = logging.getLogger(__name__)


class LinkError(Exception):
    """Something that was asked of the runtime did not happen."""


class LinkLost(LinkError):
    """There is no runtime to ask, or it went before it answered."""


class CommandRefused(LinkError):
    """The runtime said no. `error` is a word for programs; `detail["first"]` says who was first, where somebody was."""

    def __init__(self, reply: p.Reply) -> None:
        super().__init__(reply.message or reply.error)
        self.error = reply.error
        self.detail = reply.detail
        self.repeated = reply.repeated


Phase = Literal["connecting", "connected", "lost", "closed"]


@dataclass(slots=True, frozen=True)
class Status:
    """How the link is. `lost`: there is no runtime, or none that we understand; `reason` says it in a line."""

    phase: Phase
    reason: str = ""


@dataclass(slots=True, frozen=True)
class Quality:
    """How good the link to one host is. `host` is empty for this machine; `round_trip` in seconds, 0.0 while unknown;
    `stalled`: for how many seconds nothing has come though an answer is due.
    """

    host: str
    phase: Phase
    round_trip: float = 0.0
    stalled: int = 0


@dataclass(slots=True)
class Pending:
    """A command that was sent and has no reply yet."""

    id: str
    verb: str
    args: Mapping[str, Any]
    line: bytes
    done: asyncio.Future[p.Reply]


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
        self.round_trip = RoundTrip()
        self.status = Status("connecting")
        self.hello: p.Hello | None = None
        self.pending: dict[str, Pending] = {}
        self._program = program
        self._channel: Literal["console", "cli"] = channel
        self._hold = hold
        self._view = View()
        self._session: Session | None = None
        self._watching: dict[str, int] = {}
        self._pings: dict[int, asyncio.Future[None]] = {}
        self._listeners: list[Callable[[], None]] = []
        self._told = False
        self._again = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    # -- what screens read -------------------------------------------------------------------------------------

    @property
    def summaries(self) -> Mapping[str, Summary]:
        """All runs that lists show, by id, oldest first."""
        return self._view.summaries

    @property
    def incidents(self) -> Mapping[str, p.Inboxed]:
        """The inbox: open incidents of all runs, by id, oldest first."""
        return self._view.incidents

    @property
    def grants(self) -> Mapping[str, GrantAdded]:
        """Grants in force."""
        return self._view.grants

    @property
    def qualities(self) -> tuple[Quality, ...]:
        """How good the link is: of one host."""
        trip = self.round_trip
        stalled = trip.stalled if self.status.phase == "connected" else 0
        return (Quality(self.host, self.status.phase, trip.shown, stalled),)

    @property
    def ready(self) -> bool:
        """Whether the picture was told at all."""
        return bool(self._view.epoch)

    @property
    def snapshots(self) -> list[p.Why]:
        """Why the picture was told as a whole, each time; ``slow`` means that we fell behind."""
        return self._view.snapshots

    def run(self, run_id: str) -> RunState | None:
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
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def where(self, _run_id: str) -> str:
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
            self._view.runs[run_id] = WatchedView()
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
        done: asyncio.Future[p.Reply] = asyncio.get_running_loop().create_future()
        self.pending[command.id] = Pending(command.id, verb, args, command.line(), done)
        self._mark()
        if self._session is not None:
            self._session.send(self.pending[command.id].line)
        try:
            reply = await done
        finally:
            self.pending.pop(command.id, None)
            self._mark()
        if not reply.ok:
            raise CommandRefused(reply)
        return reply.result

    async def ping(self) -> float:
        """Seconds to the runtime and back. Raises `LinkLost`."""
        if self._session is None:
            raise LinkLost(self.status.reason or "not connected")
        loop = asyncio.get_running_loop()
        number, began = secrets.randbits(48), loop.time()
        self._pings[number] = loop.create_future()
        self._session.send(p.Ping(id=number).line())
        try:
            await self._pings[number]
        finally:
            self._pings.pop(number, None)
        return loop.time() - began

    @property
    def asks(self) -> bool:
        """Whether a login is needed: `login`, then, and not `revive`."""
        return self.transport.asks

    def login(self) -> None:
        """Log in, start a runtime if there is none, and connect. Blocks, and needs the terminal: suspend the app.

        Raises:
            LinkLost: with the reason why it cannot be.
        """
        try:
            self.transport.login(start=True)
        except Unreachable as exc:
            self._lose(str(exc))
            raise LinkLost(str(exc)) from exc
        self._again.set()

    async def revive(self) -> None:
        """Start a runtime if there is none, and connect. Raises `LinkLost` with the reason why it cannot be."""
        try:
            await self.transport.revive()
        except Unreachable as exc:
            raise LinkLost(str(exc)) from exc
        self._again.set()

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until `true()` holds of what is known."""
        changed = asyncio.Event()
        end = self.subscribe(changed.set)
        try:
            while not true():
                changed.clear()
                await changed.wait()
        finally:
            end()

    def start(self) -> None:
        """Begin to connect."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="link")

    async def close(self) -> None:
        """End it. Commands without a reply raise `LinkLost`."""
        self._set(Status("closed", "the link is closed"))
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._fail_pending("the link was closed before the runtime answered")
        await self.transport.close()

    # -- the connection ----------------------------------------------------------------------------------------

    async def _run(self) -> None:
        failures = 0
        while True:
            try:
                streams = await self.transport.connect()
                failures = 0 if await self._converse(streams) else failures
            except (Unreachable, Incompatible) as exc:
                if isinstance(exc, Incompatible) or exc.gone:
                    self._lose(str(exc))
                else:
                    self._set(Status("connecting", str(exc)))
            except Gap as exc:
                log.warning("the picture has a gap and is asked for anew: %s", exc)
                self._view.epoch = ""
            except Exception as exc:
                log.exception("the link failed")
                self._lose(f"the link failed: {type(exc).__name__}: {exc}")
            self._again.clear()
            try:
                await asyncio.wait_for(self._again.wait(), self._pause(failures))
            except TimeoutError:
                failures += 1

    def _pause(self, failures: int) -> float:
        """Seconds until the next attempt."""
        backoff = self.transport.backoff
        return backoff[min(failures, len(backoff) - 1)]

    def _lose(self, reason: str) -> None:
        self._set(Status("lost", reason))
        if not self._hold:
            self._fail_pending(reason)

    async def _converse(self, streams: Streams) -> bool:
        """One connection, to its end. True if the runtime spoke to us at all."""
        reader, writer = streams
        reason = "the connection was cut"
        beating: asyncio.Task[None] | None = None
        try:
            lines = LineReader()
            hello, rest = await greeting(reader, lines, self.transport)
            self._begin(Session(writer, hello))
            beating = asyncio.create_task(self._beat(writer))
            await self._listen(reader, lines, rest)
            if self.round_trip.dead:
                reason = f"nothing was heard for {DEAD_BEATS * BEAT_S:.0f} seconds"
        except (ConnectionError, FramingError, p.BadMessage) as exc:
            if isinstance(exc, Unreachable):
                raise
            reason = f"the connection was cut: {exc}"
        finally:
            if beating is not None:
                beating.cancel()
            self._session = None
            self._view.cut()
            for ping in self._pings.values():
                if not ping.done():
                    ping.set_exception(LinkLost(reason))
            if not writer.transport.is_closing():
                writer.transport.abort()
        self._set(Status("connecting", reason))
        return True

    def _begin(self, session: Session) -> None:
        self._session, self.hello = session, session.hello
        self.transport.settled()
        session.send(p.Attach(epoch=self._view.epoch, position=self._view.position, program=self._program).line())
        for run_id in self._watching:
            session.send(p.Watch(run_id=run_id, after=self._view.last_seq(run_id)).line())
        for pending in self.pending.values():
            session.send(pending.line)
        self._set(Status("connected"))

    async def _beat(self, writer: asyncio.StreamWriter) -> None:
        """Measure the round trip, and give up a connection on which nothing comes any more."""
        self.round_trip.began()
        while not self.round_trip.dead:
            number = self.round_trip.beat()
            if number is not None:
                self._send(p.Ping(id=number))
            await asyncio.sleep(BEAT_S)
        writer.transport.abort()

    async def _listen(self, reader: asyncio.StreamReader, lines: LineReader, rest: list[bytes]) -> None:
        session = self._session
        assert session is not None
        while True:
            for line in rest:
                self._take(session, line)
            session.acknowledge()
            await session.writer.drain()
            await asyncio.sleep(0)  # a flood must not keep the screen's loop for itself
            data = await reader.read(READ_BYTES)
            if not data:
                return
            self.round_trip.heard()
            rest = lines.feed(data)

    def _take(self, session: Session, line: bytes) -> None:
        message = session.read(line)
        if message is None:
            return
        if message.t in p.STREAM:
            self._shown(session, message)
        else:
            self._told_apart(message)
        self._mark()

    def _shown(self, session: Session, message: p.FromRuntime) -> None:
        match message:
            case p.Snapshot():
                self._view.snapshot(message, session.hello.epoch)
            case p.Changed():
                self._view.changed(message)
            case p.RunSnapshot():
                self._view.run_snapshot(message)
            case p.RunEvent():
                if not self._view.event(message):
                    log.warning("run %s has a gap and is asked for anew", message.run_id)
                    session.send(p.Watch(run_id=message.run_id).line())
            case p.Delta():
                self._view.delta(message)

    def _told_apart(self, message: p.FromRuntime) -> None:
        match message:
            case p.Reply():
                self._replied(message)
            case p.Refused():
                self._refused(message)
            case p.Pong():
                self.round_trip.answered(message.id)
                ping = self._pings.get(message.id)
                if ping is not None and not ping.done():
                    ping.set_result(None)

    def _replied(self, message: p.Reply) -> None:
        pending = self.pending.get(message.id)
        if pending is not None and not pending.done.done():
            pending.done.set_result(message)

    def _refused(self, message: p.Refused) -> None:
        if message.error == "proto":
            raise Incompatible(message.message)
        run = self._view.runs.get(message.run_id)
        if run is not None:
            run.problem = message.message
        log.warning("the runtime refused: %s", message.message)

    def _send(self, message: p.Message) -> None:
        if self._session is not None:
            self._session.send(message.line())

    def _fail_pending(self, reason: str) -> None:
        for pending in self.pending.values():
            if not pending.done.done():
                pending.done.set_exception(LinkLost(reason))

    # -- the one signal ----------------------------------------------------------------------------------------

    def _set(self, status: Status) -> None:
        if status != self.status and self.status.phase != "closed":
            self.status = status
            self._mark()

    def _mark(self) -> None:
        if not self._told:
            self._told = True
            asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        self._told = False
        for listener in list(self._listeners):
            listener()
