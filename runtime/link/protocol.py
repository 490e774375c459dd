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

import secrets
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from orbiter._internal.encodable import json_of
from runtime.record.events import GrantAdded, IncidentOpened, utc_now
from runtime.record.state import Summary

PROTO = 1
"""Both sides must speak the same; a message or field that the other may ignore needs no new number."""

Role = Literal["operator", "viewer"]
Why = Literal["first", "gap", "epoch", "slow"]
DeltaKind = Literal["text", "reasoning"]


class Message(BaseModel):
    """Common to all messages."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, defer_build=True)

    def line(self) -> bytes:
        """One line of JSON, without its line feed."""
        return json_of(self, by_alias=True).encode()


class Inboxed(BaseModel):
    """A row of the inbox: an open incident and the run that it belongs to."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    run_id: str
    title: str = ""
    opened: IncidentOpened


# -- from the runtime ------------------------------------------------------------------------------------------


class Hello(Message):
    """The first line of the runtime. `keys` names the provider keys that it has, never their values."""

    t: Literal["hello"] = "hello"
    proto: int = PROTO
    epoch: str
    position: int
    role: Role
    peer: str
    program: str
    pid: int = 0
    workspace: str = ""
    keys: tuple[str, ...] = ()
    window: int = 500


class Snapshot(Message):
    """The picture at `position`, in several of these if it is big; it counts as a whole when `more` is False."""

    t: Literal["snapshot"] = "snapshot"
    position: int
    why: Why
    summaries: tuple[Summary, ...] = ()
    incidents: tuple[Inboxed, ...] = ()
    grants: tuple[GrantAdded, ...] = ()
    more: bool = False


class Changed(Message):
    """One change of the picture. What is None did not change; `closed` is an incident that left the inbox. With nothing
    in it, something else of the workspace did: a breaker, a freeze.
    """

    t: Literal["changed"] = "changed"
    position: int
    summary: Summary | None = None
    incident: Inboxed | None = None
    closed: str = ""
    grants: tuple[GrantAdded, ...] | None = None


class RunSnapshot(Message):
    """State of a watched run after event `seq`, in parts: `head` first (all but the nodes), then `nodes`."""

    t: Literal["run"] = "run"
    run_id: str
    seq: int
    why: Why
    head: dict[str, Any] | None = None
    nodes: dict[str, Any] = Field(default_factory=dict)
    more: bool = False


class RunEvent(Message):
    """An event of a watched run; `body` as `runtime.record.events.load_value` reads it."""

    t: Literal["event"] = "event"
    run_id: str
    seq: int
    body: dict[str, Any]


class Delta(Message):
    """A piece of a reply that is being streamed, from character `offset` of attempt `attempt` on. For eyes only."""

    t: Literal["delta"] = "delta"
    run_id: str
    node_id: str
    attempt: int = 1
    kind: DeltaKind = "text"
    offset: int = 0
    text: str


class Reply(Message):
    """What became of a command. `repeated`: it had been carried out before, this is what was said then."""

    t: Literal["reply"] = "reply"
    id: str
    ok: bool
    result: Any = None
    error: str = ""
    message: str = ""
    detail: dict[str, Any] = Field(default_factory=dict)
    repeated: bool = False


class Pong(Message):
    t: Literal["pong"] = "pong"
    id: int = 0


class Refused(Message):
    """A message was not understood or not allowed: `error` is a word for programs, `message` one for people."""

    t: Literal["refused"] = "refused"
    error: str
    message: str = ""
    run_id: str = ""


# -- from a console --------------------------------------------------------------------------------------------


class As(Message):
    """Who is at the far end of a byte pump. Only the first message of a connection may be this one."""

    t: Literal["as"] = "as"
    name: str = Field(min_length=1, max_length=100)


class Attach(Message):
    """Tell me the picture, and go on telling. `epoch` and `position` are those of the last change that I have."""

    t: Literal["attach"] = "attach"
    proto: int = PROTO
    epoch: str = ""
    position: int = 0
    program: str = ""


class Watch(Message):
    """Tell me this run too. I have its events up to `after`; 0: none."""

    t: Literal["watch"] = "watch"
    run_id: str
    after: int = 0


class Unwatch(Message):
    t: Literal["unwatch"] = "unwatch"
    run_id: str


class Command(Message):
    """Do something. `id` is made by the sender and unique for ever: sent again, it is not done again."""

    t: Literal["command"] = "command"
    id: str = Field(min_length=1, max_length=100)
    verb: str
    args: dict[str, Any] = Field(default_factory=dict)
    channel: Literal["console", "cli"] = "console"


def new_command_id() -> str:
    """An id for a command. It begins with the time, which a run that it starts takes over into its own id."""
    return f"{utc_now():%y%m%d-%H%M%S}-{secrets.token_hex(12)}"


class Ack(Message):
    """I have taken in `taken` messages of the stream since this connection began."""

    t: Literal["ack"] = "ack"
    taken: int


class Ping(Message):
    t: Literal["ping"] = "ping"
    id: int = 0


class Part(Message):
    """A piece of a message that is too long for one line (`runtime.link.lines`). Goes both ways."""

    t: Literal["part"] = "part"
    key: int
    data: str
    last: bool = False


FromRuntime = Hello | Snapshot | Changed | RunSnapshot | RunEvent | Delta | Reply | Pong | Refused | Part
FromConsole = As | Attach | Watch | Unwatch | Command | Ack | Ping | Part

STREAM = frozenset({"snapshot", "changed", "run", "event", "delta"})
"""Messages that are acknowledged: what is shown. The others go a way of their own and are never dropped."""

_LATE = ConfigDict(defer_build=True)
"""What is read is worked out when it is first read: whoever opens a console waits for it."""
_runtime: TypeAdapter[FromRuntime] = TypeAdapter(Annotated[FromRuntime, Field(discriminator="t")], config=_LATE)
_console: TypeAdapter[FromConsole] = TypeAdapter(Annotated[FromConsole, Field(discriminator="t")], config=_LATE)


class BadMessage(ValueError):
    """A line is no message: `error` is ``not_json``, ``unknown_message`` or ``bad_message``."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(message)
        self.error = error


def from_runtime(line: bytes) -> FromRuntime:
    """The message of a runtime in `line`. Raises `BadMessage`."""
    message: FromRuntime = _read(_runtime, line)
    return message


def from_console(line: bytes) -> FromConsole:
    """The message of a console in `line`. Raises `BadMessage`."""
    message: FromConsole = _read(_console, line)
    return message


def _read(adapter: TypeAdapter[Any], line: bytes) -> Any:
    try:
        return adapter.validate_json(line)
    except ValidationError as exc:
        raise _explained(exc) from exc
    except RecursionError as exc:
        raise BadMessage("not_json", "the line is nested too deeply") from exc


def _explained(exc: ValidationError) -> BadMessage:
    first = exc.errors(include_url=False)[0]
    kind, given = first["type"], first.get("input")
    if kind == "json_invalid":
        return BadMessage("not_json", f"the line is not JSON: {first['msg']}")
    if kind == "union_tag_invalid":
        name = given.get("t") if isinstance(given, dict) else given
        return BadMessage("unknown_message", f"no message is called {name!r:.80}")
    if kind == "union_tag_not_found":
        return BadMessage("unknown_message", "the message has no field 't' that says what it is")
    where = ".".join(map(str, first["loc"])) or "message"
    return BadMessage("bad_message", f"{where}: {first['msg']}")
