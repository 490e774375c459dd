"""Requests about the journal as a whole: audit, digest, export, log."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from msgspec import Meta, Struct

from runtime.judgement.reports.report_types import AuditEntry, Digest
from runtime.operations.requests.event_object import EventObject
from runtime.operations.requests.struct import Instant, Request, Text


class ListAudit(Request[tuple[AuditEntry, ...]], frozen=True):
    """Who decided what, oldest first. `limit`: the latest so many; 0: all."""

    verb: ClassVar[str] = "audit"
    all_hosts: ClassVar[bool] = True

    limit: Annotated[int, Meta(ge=0)] = 0
    run_id: str = ""
    since: Instant | None = None
    person: str = ""


class ReadDigest(Request[Digest], frozen=True):
    """What happened since the operator looked last, or since `since`.

    `away`: nothing for an operator who never looked, instead of all that ever happened.
    """

    verb: ClassVar[str] = "digest"

    since: Instant | None = None
    away: bool = False


class NoteLook(Request[None], frozen=True):
    """Note that the operator has seen what there is: the next digest begins here."""

    verb: ClassVar[str] = "looked"
    acts: ClassVar[bool] = True
    all_hosts: ClassVar[bool] = True


class ExportText(Struct, frozen=True, kw_only=True):
    text: str


class ExportRun(Request[ExportText], frozen=True):
    """A run, or one incident of it, as the redacted text of an export file."""

    verb: ClassVar[str] = "export"

    run_id: str = ""
    incident_id: str = ""


class Exposition(Struct, frozen=True, kw_only=True):
    """Metrics in Prometheus' text format; `content_type` is what an HTTP reply says of it."""

    text: str
    content_type: str


class ReadMetrics(Request[Exposition], frozen=True):
    """Figures of the workspace for monitoring: runs, incidents, breakers, attempts, faults, tokens, cost, times."""

    verb: ClassVar[str] = "metrics"


class LogRow(Struct, frozen=True, kw_only=True):
    """An event and its place: in the journal, or its `seq` where one run was asked for."""

    at: int
    event: EventObject


MAX_LOG_ROWS: Final = 2000
"""Events in one answer of `ReadLog`."""


class ReadLog(Request[tuple[LogRow, ...]], frozen=True):
    """Events, oldest first: the latest `limit` after `after` and before `before`. Long texts are cut, but with `whole`
    an event is as `ReadEvents` has it.
    """

    verb: ClassVar[str] = "log"

    run_id: str = ""
    after: Annotated[int, Meta(ge=0)] = 0
    before: Annotated[int, Meta(ge=0)] | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LOG_ROWS)] = 500
    whole: bool = False


class ReadEvents(Request[tuple[EventObject, ...]], frozen=True):
    """Events of a run, whole, oldest first."""

    verb: ClassVar[str] = "events"

    run_id: Text
    after: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=1, le=5000)] = 500


class LogFileText(Struct, frozen=True, kw_only=True):
    """Whole lines of the file `path`, from byte `began` up to byte `end`."""

    path: str
    text: str
    began: int
    end: int


class ReadLogFile(Request[LogFileText], frozen=True):
    """The runtime's own log file. `after`: the `end` of the last result; none: its last lines."""

    verb: ClassVar[str] = "logfile"

    after: Annotated[int, Meta(ge=0)] | None = None


class BlockedRun(Struct, frozen=True, kw_only=True):
    """A run that cannot be carried on, `times` times since `since`; `run_id` is empty where it is all of them."""

    run_id: str = ""
    reason: str = ""
    since: str = ""
    times: int = 0


class RuntimeStatus(Struct, frozen=True, kw_only=True):
    """What a runtime says of itself. Each field has a default: the runtime may be of another version.

    `since`: when it began. `draining`: runs that it still carries out before it ends. `keys`: names of the variables
    with keys of providers that it sees.
    """

    pid: int = 0
    program: str = ""
    workspace: str = ""
    state_dir: str = ""
    since: str = ""
    uptime_s: float = 0.0
    consoles: int = 0
    driving: bool = False
    stopping: bool = False
    draining: tuple[str, ...] = ()
    held_up: tuple[BlockedRun, ...] = ()
    keys: tuple[str, ...] = ()


class ShowStatus(Request[RuntimeStatus], frozen=True):
    """What the runtime is and does. Every later version must understand it."""

    verb: ClassVar[str] = "status"


class Stopping(Struct, frozen=True, kw_only=True):
    stopping: bool = True


class StopRuntime(Request[Stopping], frozen=True):
    """Stop the runtime; its runs stay as they are. Every later version must understand it."""

    verb: ClassVar[str] = "stop"
    acts: ClassVar[bool] = True
