"""Messages of the link that a console needs for its first frame, without pydantic.

They are read and written by hand, without pydantic and without the vocabulary of events, which take longer to load than
all else that whoever opens a console waits for. Use them by way of `runtime.link.wire.protocol`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

from orbiter.text_encoding import drop_surrogates
from runtime.record.state.summary import Summary

if TYPE_CHECKING:
    from runtime.record.state.events import GrantAdded, IncidentOpened, JournalEvent

E = TypeVar("E", bound="JournalEvent")

PROTOCOL_VERSION = 1
"""Both sides must speak the same; a message or field that the other may ignore needs no new number."""

Role = Literal["operator", "viewer"]
SnapshotReason = Literal["first", "gap", "epoch", "slow"]
DeltaKind = Literal["text", "reasoning"]


STREAM_TYPES = frozenset({"snapshot", "changed", "run", "event", "delta"})
"""Messages that are acknowledged: what is shown. The others go a way of their own and are never dropped."""


@runtime_checkable
class Message(Protocol):
    """All that is said over the link."""

    def line(self) -> bytes:
        """One line of JSON, without its line feed."""
        ...


class InvalidMessage(ValueError):
    """A line cannot be read as a message: `error` is ``not_json``, ``unknown_message`` or ``bad_message``; `asked` is
    the id of the command or ping that it was meant to be, as far as that can be recognised.
    """

    def __init__(self, error: str, message: str, asked: str = "") -> None:
        super().__init__(message)
        self.error = error
        self.asked = asked


@dataclass(slots=True, frozen=True)
class InboxRow:
    """A row of the inbox: an open incident and the run that it belongs to."""

    run_id: str
    opened: IncidentOpened
    title: str = ""

    def json(self) -> str:
        from runtime.record.state.events import dump_event  # an incident is there: so are they

        head = json.dumps({"run_id": self.run_id, "title": self.title}, ensure_ascii=False)
        return f'{drop_surrogates(head)[:-1]},"opened":{dump_event(self.opened)}}}'


@dataclass(slots=True, frozen=True)
class Hello:
    """The first line of the runtime. `keys` names the provider keys that it has, never their values."""

    epoch: str
    position: int
    role: Role
    peer: str
    program: str
    pid: int = 0
    workspace: str = ""
    keys: tuple[str, ...] = ()
    window: int = 500
    proto: int = PROTOCOL_VERSION
    t: Literal["hello"] = "hello"

    def line(self) -> bytes:
        return encode_line("hello", **{name: value for name, value in asdict(self).items() if name != "t"})


@dataclass(slots=True, frozen=True)
class WorkspaceSnapshot:
    """The picture at `position`, in several of these if it is big; it counts as a whole when `more` is False."""

    position: int
    why: SnapshotReason
    summaries: tuple[Summary, ...] = ()
    incidents: tuple[InboxRow, ...] = ()
    grants: tuple[GrantAdded, ...] = ()
    more: bool = False
    t: Literal["snapshot"] = "snapshot"

    def line(self) -> bytes:
        head = encode_line("snapshot", position=self.position, why=self.why, more=self.more)
        summaries, incidents = (
            _list(row.to_json() for row in self.summaries),
            _list(row.json() for row in self.incidents),
        )
        rest = f',"summaries":{summaries},"incidents":{incidents},"grants":{_grants(self.grants)}}}'
        return head[:-1] + rest.encode()


@dataclass(slots=True, frozen=True)
class WorkspaceChange:
    """One change of the picture. What is None did not change; `closed` is an incident that left the inbox. With nothing
    in it, something else of the workspace did: a breaker, a freeze.
    """

    position: int
    summary: Summary | None = None
    incident: InboxRow | None = None
    closed: str = ""
    grants: tuple[GrantAdded, ...] | None = None
    t: Literal["changed"] = "changed"

    def line(self) -> bytes:
        said = {
            "summary": self.summary.to_json() if self.summary is not None else "",
            "incident": self.incident.json() if self.incident is not None else "",
            "grants": _grants(self.grants) if self.grants is not None else "",
        }
        rest = "".join(f',"{name}":{text}' for name, text in said.items() if text)
        return encode_line("changed", position=self.position, closed=self.closed)[:-1] + f"{rest}}}".encode()


@dataclass(slots=True, frozen=True)
class Pong:
    """`held_up`: runs that cannot be carried on now, in words; nothing of it is in the journal, nor in the picture."""

    id: int = 0
    held_up: str = ""
    t: Literal["pong"] = "pong"

    def line(self) -> bytes:
        return encode_line("pong", id=self.id, **({"held_up": self.held_up} if self.held_up else {}))


@dataclass(slots=True, frozen=True)
class Attach:
    """Tell me the picture, and go on telling. `epoch` and `position` are those of the last change that I have."""

    proto: int = PROTOCOL_VERSION
    epoch: str = ""
    position: int = 0
    program: str = ""
    t: Literal["attach"] = "attach"

    def line(self) -> bytes:
        place = {"epoch": self.epoch, "position": self.position}
        return encode_line("attach", proto=self.proto, **place, program=self.program)


@dataclass(slots=True, frozen=True)
class Ack:
    """I have taken in `taken` messages of the stream since this connection began."""

    taken: int
    t: Literal["ack"] = "ack"

    def line(self) -> bytes:
        return encode_line("ack", taken=self.taken)


@dataclass(slots=True, frozen=True)
class Ping:
    id: int = 0
    t: Literal["ping"] = "ping"

    def line(self) -> bytes:
        return encode_line("ping", id=self.id)


StartupMessage = Hello | WorkspaceSnapshot | WorkspaceChange | Pong


def encode_line(t: str, **said: Any) -> bytes:
    """A message as one line of JSON, without its line feed."""
    return drop_surrogates(json.dumps({"t": t, **said}, ensure_ascii=False, separators=(",", ":"))).encode()


def parse_startup_message(data: bytes) -> StartupMessage | None:
    """The message in a line, if it is one of these; None if it is not. They begin with what they are, as `line` writes
    them.

    Raises:
        InvalidMessage: it is one of these, and cannot be read.
    """
    read = _READ.get(data[6 : data.find(b'"', 6)]) if data.startswith(b'{"t":"') else None
    if read is None:
        return None
    try:
        return read(json.loads(data))
    except json.JSONDecodeError as exc:
        raise InvalidMessage("not_json", f"the line is not JSON: {exc}") from exc
    except RecursionError as exc:
        raise InvalidMessage("not_json", "the line is nested too deeply") from exc
    except KeyError as exc:
        raise InvalidMessage("bad_message", f"{exc.args[0]}: is missing") from exc
    except (ValueError, TypeError, AttributeError) as exc:
        raise InvalidMessage("bad_message", f"{exc}"[:400]) from exc


def _read_hello(said: dict[str, Any]) -> Hello:
    known = {found.name: said[found.name] for found in fields(Hello) if found.name in said}
    for name, value in known.items():
        wanted = list if name == "keys" else int if name in ("position", "pid", "window", "proto") else str
        if not isinstance(value, wanted):
            raise ValueError(f"{name}: {value!r:.80} is no {wanted.__name__}")  # noqa: TRY004
    if known.get("role", "operator") not in ("operator", "viewer"):
        raise ValueError(f"role: {known['role']!r:.80} is none")
    return Hello(**{**known, "keys": tuple(map(str, known.get("keys", ())))})


def _read_snapshot(said: dict[str, Any]) -> WorkspaceSnapshot:
    return WorkspaceSnapshot(
        _read_number(said, "position"),
        _read_why(said["why"]),
        tuple(map(Summary.from_dict, _read_rows(said, "summaries"))),
        tuple(map(_read_inbox_row, _read_rows(said, "incidents"))),
        _read_grants(_read_rows(said, "grants")),
        more=bool(said.get("more")),
    )


def _read_change(said: dict[str, Any]) -> WorkspaceChange:
    summary, incident = said.get("summary"), said.get("incident")
    return WorkspaceChange(
        _read_number(said, "position"),
        Summary.from_dict(summary) if summary is not None else None,
        _read_inbox_row(incident) if incident is not None else None,
        str(said.get("closed", "")),
        _read_grants(_read_rows(said, "grants")) if said.get("grants") is not None else None,
    )


_READ: dict[bytes, Callable[[dict[str, Any]], StartupMessage]] = {
    b"hello": _read_hello,
    b"snapshot": _read_snapshot,
    b"changed": _read_change,
    b"pong": lambda said: Pong(_read_number(said, "id"), str(said.get("held_up", ""))),
}


def _read_number(said: dict[str, Any], name: str) -> int:
    if not isinstance(said[name], int):
        raise ValueError(f"{name}: {said[name]!r:.80} is no number")  # noqa: TRY004 - it is a bad value of a message
    return int(said[name])


def _read_why(said: Any) -> SnapshotReason:
    if said not in ("first", "gap", "epoch", "slow"):
        raise ValueError(f"why: {said!r:.80} is no reason")
    return said  # type: ignore[no-any-return]


def _read_rows(said: dict[str, Any], name: str) -> list[Any]:
    found = said.get(name, [])
    if not isinstance(found, list):
        raise ValueError(f"{name}: {found!r:.80} is no list")  # noqa: TRY004
    return found


def _read_inbox_row(row: Any) -> InboxRow:
    from runtime.record.state.events import IncidentOpened  # only where a decision waits

    if not isinstance(row, dict) or not isinstance(row.get("run_id"), str):
        raise ValueError("incidents: one has no run")  # noqa: TRY004
    return InboxRow(row["run_id"], _read_event(IncidentOpened, row.get("opened")), str(row.get("title", "")))


def _read_grants(rows: list[Any]) -> tuple[GrantAdded, ...]:
    if not rows:
        return ()
    from runtime.record.state.events import GrantAdded  # only where there are some

    return tuple(_read_event(GrantAdded, row) for row in rows)


def _read_event(kind: type[E], row: Any) -> E:
    from pydantic import ValidationError

    try:
        return kind.model_validate(row)
    except ValidationError as exc:
        first = exc.errors(include_url=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc'])) or kind.__name__}: {first['msg']}") from exc


def _list(rows: Iterable[str]) -> str:
    return f"[{','.join(rows)}]"


def _grants(grants: tuple[GrantAdded, ...]) -> str:
    if not grants:
        return "[]"
    from runtime.record.state.events import dump_event

    return _list(dump_event(grant) for grant in grants)
