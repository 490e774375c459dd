"""The messages of the link: one JSON object a line, told apart by `t`.

Two things are told, each with a place of its own from which a console goes on after a cut:

* the *picture*: a summary of every run, the inbox of open incidents, the grants. Its changes are counted by the
  serving process (`position`), whose start is the `epoch`. `attach` names both; the answer is what came since, or a
  snapshot that says why: ``first``, ``gap`` (too long ago), ``epoch`` (another process serves by now), ``slow``.
* the *runs* that a console watches: their events, counted by the journal (`seq`, per run, across restarts).
  `watch` names the last one that the console has; the answer is what came since, or the run's state.

A console acknowledges how many messages of the stream (all but hello, replies, pongs, refusals) it has taken in. Not
more than `window` are under way; who falls behind gets a fresh snapshot, not a flood of old news. Fields that a
reader does not know are ignored; a message that it does not know is answered with `refused`, in words.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Final, Literal

import msgspec

from runtime.record.inbox_row import InboxRow
from runtime.record.state.operator_terms import Role
from runtime.record.state.struct_json import encode_struct
from runtime.record.state.summary import Summary
from runtime.record.state.workspace_events import GrantAdded

PROTOCOL_VERSION = 2
"""Both sides must speak the same; a message or field that the other may ignore needs no new number."""

ACK_WINDOW: Final = 500
"""Messages under way to a console that it has not acknowledged."""
AHEAD: Final = 0
"""The position of what is told before its place; a console that does not know it takes it for an old change."""
SnapshotReason = Literal["first", "gap", "epoch", "slow"]
DeltaKind = Literal["text", "reasoning"]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class Message(msgspec.Struct, frozen=True, tag_field="t"):
    """All that is said over the link."""

    STREAMED: ClassVar[bool] = False
    """Whether it is acknowledged: what is shown. The others go a way of their own and are never dropped."""

    @property
    def t(self) -> str:
        """What it is, as the line says it."""
        return str(self.__struct_config__.tag)

    def line(self) -> bytes:
        """One line of JSON, without its line feed."""
        return encode_struct(self)


# -- from the runtime: the picture -----------------------------------------------------------------------------


class Hello(Message, frozen=True, tag="hello"):
    """The first line of the runtime. `keys` names the provider keys that it has, never their values."""

    epoch: str
    position: int
    role: Role
    peer: str
    program: str
    pid: int = 0
    workspace: str = ""
    keys: tuple[str, ...] = ()
    window: int = ACK_WINDOW
    proto: int = PROTOCOL_VERSION


class PictureSize(msgspec.Struct, frozen=True):
    """How many runs and open incidents a picture has."""

    runs: int
    incidents: int


class WorkspaceSnapshot(Message, frozen=True, tag="snapshot"):
    """The picture at `position`, in several of these if it is big; it counts as a whole when `more` is False. One that
    says how big the `whole` is goes before the others: it has some of their rows, for a console that has none yet.
    """

    STREAMED: ClassVar[bool] = True
    position: int
    why: SnapshotReason
    summaries: tuple[Summary, ...] = ()
    incidents: tuple[InboxRow, ...] = ()
    grants: tuple[GrantAdded, ...] = ()
    more: bool = False
    whole: PictureSize | None = None


class WorkspaceChange(Message, frozen=True, tag="changed", omit_defaults=True):
    """One change of the picture. What is None did not change; `closed` is an incident that left the inbox. With nothing
    in it, something else of the workspace did: a breaker, a freeze. At the position `AHEAD` it tells of an incident
    that left while the picture is on its way; the change itself comes at its place behind it.
    """

    STREAMED: ClassVar[bool] = True
    position: int
    summary: Summary | None = None
    incident: InboxRow | None = None
    closed: str = ""
    grants: tuple[GrantAdded, ...] | None = None


class Pong(Message, frozen=True, tag="pong"):
    """`held_up`: runs that cannot be carried on now, in words; `slow`: what only takes long. Nothing of either is in
    the journal, nor in the picture.
    """

    id: int = 0
    held_up: str = ""
    slow: str = ""


# -- from the runtime: watched runs, replies -------------------------------------------------------------------


class RunSnapshot(Message, frozen=True, tag="run"):
    """State of a watched run after event `seq`, in parts: `head` first (all but the nodes), then `nodes`."""

    STREAMED: ClassVar[bool] = True
    run_id: str
    seq: int
    why: SnapshotReason
    head: dict[str, Any] | None = None
    nodes: dict[str, Any] = msgspec.field(default_factory=dict)
    more: bool = False


class RunEvent(Message, frozen=True, tag="event"):
    """An event of a watched run; `body` as `runtime.record.state.events.load_event` reads it."""

    STREAMED: ClassVar[bool] = True
    run_id: str
    seq: int
    body: msgspec.Raw


class Delta(Message, frozen=True, tag="delta"):
    """A piece of a reply that is being streamed, from character `offset` of attempt `attempt` on. For eyes only."""

    STREAMED: ClassVar[bool] = True
    run_id: str
    node_id: str
    text: str
    attempt: int = 1
    kind: DeltaKind = "text"
    offset: int = 0


class CommandReply(Message, frozen=True, tag="reply"):
    """What became of a command. `repeated`: it had been carried out before, this is what was said then."""

    id: str
    ok: bool
    result: Any = None
    error: str = ""
    message: str = ""
    detail: dict[str, Any] = msgspec.field(default_factory=dict)
    repeated: bool = False


class MessageRefused(Message, frozen=True, tag="refused"):
    """A message was not understood or not allowed: `error` is a word for programs, `message` one for people.

    `number` is its ordinal among the lines that the console sent over this connection, from 1. `id` is that of the
    command or ping that it was: where the line is JSON, and where it is not but begins with ``{"t":…,"id":…``.
    """

    error: str
    message: str = ""
    run_id: str = ""
    id: str = ""
    number: int = 0


# -- from a console --------------------------------------------------------------------------------------------


class Identify(Message, frozen=True, tag="as"):
    """Who is at the far end of a byte pump. Only the first message of a connection may be this one."""

    name: Name


class Attach(Message, frozen=True, tag="attach"):
    """Tell me the picture, and go on telling. `epoch` and `position` are those of the last change that I have."""

    proto: int = PROTOCOL_VERSION
    epoch: str = ""
    position: int = 0
    program: str = ""


class Watch(Message, frozen=True, tag="watch"):
    """Tell me this run too. I have its events up to `after`; 0: none."""

    run_id: str
    after: int = 0


class Unwatch(Message, frozen=True, tag="unwatch"):
    run_id: str


class AgentCaller(msgspec.Struct, frozen=True):
    """The agent that a command comes from: what its client calls itself, and whether it works inside a run, or that
    cannot be told.
    """

    client: Name
    in_run: bool = True


class Command(Message, frozen=True, tag="command"):
    """Do something. `id` is made by the sender and unique for ever: sent again, it is not done again. The command of an
    agent has the channel ``mcp``, which an earlier runtime refuses: it would take it for a person's.
    """

    id: Name
    verb: str
    args: dict[str, Any] = msgspec.field(default_factory=dict)
    channel: Literal["console", "cli", "mcp"] = "console"
    agent: AgentCaller | None = None


class Ack(Message, frozen=True, tag="ack"):
    """I have taken in `taken` messages of the stream since this connection began."""

    taken: int


class Ping(Message, frozen=True, tag="ping"):
    id: int = 0


class MessagePart(Message, frozen=True, tag="part"):
    """A piece of a message that is too long for one line (`runtime.link.wire.framing`). Goes both ways."""

    key: int
    data: str
    last: bool = False


RuntimeMessage = (
    Hello
    | WorkspaceSnapshot
    | WorkspaceChange
    | Pong
    | RunSnapshot
    | RunEvent
    | Delta
    | CommandReply
    | MessageRefused
    | MessagePart
)
ConsoleMessage = Identify | Attach | Watch | Unwatch | Command | Ack | Ping | MessagePart


def new_command_id() -> str:
    """An id for a command. It begins with the time, which a run that it starts takes over into its own id."""
    return f"{datetime.now(UTC):%y%m%d-%H%M%S}-{os.urandom(12).hex()}"
