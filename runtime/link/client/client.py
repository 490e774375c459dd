"""The client of the link: keeps a connection to a runtime, and the view that screens read.

    client = LinkClient(UnixTransport(state_dir))
    client.subscribe(on_dirty)
    client.start()

Runs on the loop of its reader, and touches nothing else. Screens read `summaries`, `incidents`, `grants`,
`run(run_id)` and `status`; one signal says that something changed, at most once per turn of the loop. A cut
connection comes back by itself and goes on where it was; a runtime that is gone is not started: `revive` is for a key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec.structs import replace

from runtime.link.client.change_signal import ChangeSignal
from runtime.link.client.connection import LinkConnection
from runtime.link.client.heartbeat import Heartbeat
from runtime.link.client.pending import PendingCommand, PendingRequests
from runtime.link.client.streamed_text import StreamedText
from runtime.link.client.workspace_view import WorkspaceView
from runtime.link.transports.transport import Transport, Unreachable
from runtime.link.wire import protocol as p
from runtime.link.wire.link_status import (
    CommandRefused,
    LinkError,
    LinkLost,
    LinkPhase,
    LinkQuality,
    LinkStatus,
    PictureProgress,
)
from runtime.operations.requests.struct import Request
from runtime.record.state.operator_terms import Role

if TYPE_CHECKING:
    from runtime.record.inbox_row import InboxRow
    from runtime.record.state.durable_run import DurableRun
    from runtime.record.state.summary import Summary
    from runtime.record.state.workspace_events import GrantAdded

__all__ = [
    "CommandRefused",
    "LinkClient",
    "LinkError",
    "LinkLost",
    "LinkPhase",
    "LinkQuality",
    "LinkStatus",
    "PictureProgress",
]

R = TypeVar("R")


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
        self._channel: Literal["console", "cli"] = channel
        self.agent: p.AgentCaller | None = None
        """The agent that this client asks for; None: a person."""
        self._view = WorkspaceView()
        self._asked = PendingRequests()
        self._watching: dict[str, int] = {}
        self._signal = ChangeSignal()
        self.connection = LinkConnection(
            transport, self._view, self._asked, self._signal.mark, self._watching, program=program, hold=hold
        )

    # -- what screens read -------------------------------------------------------------------------------------

    @property
    def status(self) -> LinkStatus:
        """How the link is."""
        return self.connection.status

    @property
    def hello(self) -> p.Hello | None:
        """What the runtime said of itself the last time."""
        return self.connection.hello

    @property
    def round_trip(self) -> Heartbeat:
        """How long the runtime takes to answer, and when it was heard the last time."""
        return self.connection.round_trip

    @property
    def summaries(self) -> Mapping[str, Summary]:
        """All runs that lists show, by id, oldest first."""
        return self._view.summaries

    @property
    def incidents(self) -> Mapping[str, InboxRow]:
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
        phase, view = self.status.phase, self._view
        return (LinkQuality(self.host, phase, trip.shown, stalled, self.role, view.held_up, view.slow),)

    @property
    def pending(self) -> Mapping[str, PendingCommand]:
        """Commands that were sent and have no reply yet, by their ids."""
        return self._asked.commands

    @property
    def ready(self) -> bool:
        """Whether the picture was told at all; of a big one, its first rows."""
        return self.whole or bool(self.loading)

    @property
    def whole(self) -> bool:
        """Whether the picture was told to its end."""
        return self._view.whole

    @property
    def loading(self) -> Mapping[str, PictureProgress]:
        """How much of the picture is there, by host (`host_of`), while parts of it are missing; else nothing."""
        progress = self._view.progress
        return {} if progress is None else {"": progress}

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
    def role(self) -> Role:
        """What the runtime lets us do, as far as it has said."""
        return self.hello.role if self.hello is not None else "operator"

    def provider_keys(self, _run_id: str) -> tuple[str, ...]:
        """The names of the providers' keys that the runtime has, as far as it has said."""
        return self.hello.keys if self.hello is not None else ()

    @property
    def host_names(self) -> tuple[str, ...]:
        """The names by which `ask` is told where: one, which is empty."""
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
            self.connection.send(p.Watch(run_id=run_id))

    def unwatch(self, run_id: str) -> None:
        count = self._watching.get(run_id, 0)
        if count > 1:
            self._watching[run_id] = count - 1
        elif count == 1:
            del self._watching[run_id], self._view.runs[run_id]
            self.connection.send(p.Unwatch(run_id=run_id))

    async def command(self, verb: str, /, *, command_id: str = "", **args: Any) -> Any:
        """Ask the runtime to do something; its answer, as JSON. Applied once, however often the link is cut meanwhile.

        Raises:
            CommandRefused: it said no.
            LinkLost: there is no runtime to ask.
        """
        if self.status.phase in {"lost", "closed"}:
            raise LinkLost(self.status.reason or "the link is closed")
        channel = self._channel if self.agent is None else "mcp"
        command = p.Command(
            id=command_id or p.new_command_id(), verb=verb, args=args, channel=channel, agent=self.agent
        )
        pending = self._asked.command(command)
        self._signal.mark()
        if self.connection.receiver is not None:
            self.connection.receiver.session.send(pending.line)
        try:
            reply = await pending.done
        finally:
            self._asked.commands.pop(command.id, None)
            self._signal.mark()
        if reply.error == "unknown_command":
            raise CommandRefused(replace(reply, message=self._unknown_command_text(verb)))
        if not reply.ok:
            raise CommandRefused(reply)
        return reply.result

    async def ask(self, request: Request[R], /, *, where: str = "") -> R:
        """Send a request to the runtime; its result. See `command`. There is only one `where`.

        Raises:
            CommandRefused: it said no.
            LinkError: its answer cannot be read: it is of another version.
            LinkLost: there is no runtime to ask.
        """
        from runtime.operations.requests.codec import InvalidField, decode_result, encode  # not before the first frame

        answer = await self.command(request.verb, **encode(request))
        try:
            return decode_result(request, answer)
        except InvalidField as exc:
            program = self.hello.program if self.hello is not None else ""
            raise LinkError(
                f"the answer of the runtime ({program or 'of another version'}) to {request.verb!r} cannot be read:"
                f" {exc}; stop it (orbiter-console stop), then close the console and open it again"
            ) from exc

    def _unknown_command_text(self, verb: str) -> str:
        """What to do where the runtime does not know a command of ours: it is of another version."""
        program = self.hello.program if self.hello is not None else ""
        return (
            f"the runtime ({program or 'of another version'}) has no command {verb!r}: stop it (orbiter-console stop),"
            " then close the console and open it again, so that both are of one version"
        )

    async def ping(self) -> float:
        """Seconds to the runtime and back. Raises `LinkLost`."""
        if self.connection.receiver is None:
            raise LinkLost(self.status.reason or "not connected")
        loop = asyncio.get_running_loop()
        began = loop.time()
        ping, answered = self._asked.ping()
        self.connection.receiver.send(ping)
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
            self.connection.mark_lost(str(exc))
            raise LinkLost(str(exc)) from exc
        self.connection.reconnect_now()

    async def revive(self) -> None:
        """Start a runtime if there is none, and connect. Raises `LinkLost` with the reason why it cannot be."""
        try:
            await self.transport.revive()
        except Unreachable as exc:
            raise LinkLost(str(exc)) from exc
        self.connection.reconnect_now()

    async def wait_until(self, true: Callable[[], bool]) -> None:
        """Wait until `true()` holds of what is known."""
        await self._signal.wait_until(true)

    def start(self) -> None:
        """Begin to connect."""
        self.connection.start()

    async def close(self) -> None:
        """End it. Commands without a reply raise `LinkLost`."""
        await self.connection.close()
