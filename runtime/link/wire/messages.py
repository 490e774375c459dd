"""Messages of the link that need pydantic: updates of watched runs, and everything that a console sends.

Use them by way of `runtime.link.wire.protocol`.
"""

from __future__ import annotations

import json
import re
import secrets
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from orbiter.text_encoding import dump_json
from runtime.link.wire.startup_messages import (
    Ack,
    Attach,
    DeltaKind,
    InvalidMessage,
    Ping,
    SnapshotReason,
    StartupMessage,
)
from runtime.record.state.events import utc_now


class WireModel(BaseModel):
    """Common to these messages."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, defer_build=True)

    def line(self) -> bytes:
        """One line of JSON, without its line feed."""
        return dump_json(self, by_alias=True).encode()


# -- from the runtime ------------------------------------------------------------------------------------------


class RunSnapshot(WireModel):
    """State of a watched run after event `seq`, in parts: `head` first (all but the nodes), then `nodes`."""

    t: Literal["run"] = "run"
    run_id: str
    seq: int
    why: SnapshotReason
    head: dict[str, Any] | None = None
    nodes: dict[str, Any] = Field(default_factory=dict)
    more: bool = False


class RunEvent(WireModel):
    """An event of a watched run; `body` as `runtime.record.state.events.parse_event` reads it."""

    t: Literal["event"] = "event"
    run_id: str
    seq: int
    body: dict[str, Any]


class Delta(WireModel):
    """A piece of a reply that is being streamed, from character `offset` of attempt `attempt` on. For eyes only."""

    t: Literal["delta"] = "delta"
    run_id: str
    node_id: str
    attempt: int = 1
    kind: DeltaKind = "text"
    offset: int = 0
    text: str


class CommandReply(WireModel):
    """What became of a command. `repeated`: it had been carried out before, this is what was said then."""

    t: Literal["reply"] = "reply"
    id: str
    ok: bool
    result: Any = None
    error: str = ""
    message: str = ""
    detail: dict[str, Any] = Field(default_factory=dict)
    repeated: bool = False


class MessageRefused(WireModel):
    """A message was not understood or not allowed: `error` is a word for programs, `message` one for people.

    `number` is its ordinal among the lines that the console sent over this connection, from 1. `id` is that of the
    command or ping that it was: where the line is JSON, and where it is not but begins with ``{"t":…,"id":…``.
    """

    t: Literal["refused"] = "refused"
    error: str
    message: str = ""
    run_id: str = ""
    id: str = ""
    number: int = 0


# -- from a console --------------------------------------------------------------------------------------------


class Identify(WireModel):
    """Who is at the far end of a byte pump. Only the first message of a connection may be this one."""

    t: Literal["as"] = "as"
    name: str = Field(min_length=1, max_length=100)


class Watch(WireModel):
    """Tell me this run too. I have its events up to `after`; 0: none."""

    t: Literal["watch"] = "watch"
    run_id: str
    after: int = 0


class Unwatch(WireModel):
    t: Literal["unwatch"] = "unwatch"
    run_id: str


class Command(WireModel):
    """Do something. `id` is made by the sender and unique for ever: sent again, it is not done again."""

    t: Literal["command"] = "command"
    id: str = Field(min_length=1, max_length=100)
    verb: str
    args: dict[str, Any] = Field(default_factory=dict)
    channel: Literal["console", "cli"] = "console"


def new_command_id() -> str:
    """An id for a command. It begins with the time, which a run that it starts takes over into its own id."""
    return f"{utc_now():%y%m%d-%H%M%S}-{secrets.token_hex(12)}"


class MessagePart(WireModel):
    """A piece of a message that is too long for one line (`runtime.link.wire.framing`). Goes both ways."""

    t: Literal["part"] = "part"
    key: int
    data: str
    last: bool = False


LaterMessage = RunSnapshot | RunEvent | Delta | CommandReply | MessageRefused | MessagePart
RuntimeMessage = StartupMessage | LaterMessage
ConsoleMessage = Identify | Attach | Watch | Unwatch | Command | Ack | Ping | MessagePart

_DEFERRED_BUILD = ConfigDict(defer_build=True)
"""What is read is worked out when it is first read: whoever opens a console waits for it."""
_runtime_adapter: TypeAdapter[LaterMessage] = TypeAdapter(
    Annotated[LaterMessage, Field(discriminator="t")], config=_DEFERRED_BUILD
)
_console_adapter: TypeAdapter[ConsoleMessage] = TypeAdapter(
    Annotated[ConsoleMessage, Field(discriminator="t")], config=_DEFERRED_BUILD
)


def parse_runtime_message(line: bytes) -> LaterMessage:
    """The message of a runtime in `line`, if it is one of these. Raises `InvalidMessage`."""
    message: LaterMessage = _parse(_runtime_adapter, line)
    return message


def parse_console_message(line: bytes) -> ConsoleMessage:
    """The message of a console in `line`. Raises `InvalidMessage`."""
    message: ConsoleMessage = _parse(_console_adapter, line)
    return message


def _parse(adapter: TypeAdapter[Any], line: bytes) -> Any:
    try:
        return adapter.validate_json(line)
    except ValidationError as exc:
        bad = _explain(exc)
        raise InvalidMessage(bad.error, str(bad), _message_id(line)) from exc
    except RecursionError as exc:
        raise InvalidMessage("not_json", "the line is nested too deeply", _message_id(line)) from exc


_ID = re.compile(rb'\s*\{\s*(?:"t"\s*:\s*"\w{1,20}"\s*,\s*)?"id"\s*:\s*(?:"([^"\\]{1,100})"|(\d{1,18})\b)')


def _message_id(line: bytes) -> str:
    """The id of a message that cannot be read; empty if it has none that is recognised. Python's own reader takes some
    JSON that pydantic's does not: lone surrogates, NaN.
    """
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        found = _ID.match(line)
        return (found[1] or found[2]).decode(errors="replace") if found else ""
    number = said.get("id") if isinstance(said, dict) else None
    return str(number).encode(errors="replace").decode()[:100] if isinstance(number, str | int) else ""


def _explain(exc: ValidationError) -> InvalidMessage:
    first = exc.errors(include_url=False)[0]
    kind, given = first["type"], first.get("input")
    if kind == "json_invalid":
        return InvalidMessage("not_json", f"the line is not JSON: {first['msg']}")
    if kind == "union_tag_invalid":
        name = given.get("t") if isinstance(given, dict) else given
        return InvalidMessage("unknown_message", f"no message is called {name!r:.80}")
    if kind == "union_tag_not_found":
        return InvalidMessage("unknown_message", "the message has no field 't' that says what it is")
    where = ".".join(map(str, first["loc"])) or "message"
    return InvalidMessage("bad_message", f"{where}: {first['msg']}")
