"""Events of a run as a whole: its life, what operators ask of it, its clock, breakpoints and messages."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from runtime.record.state.clock import Instant
from runtime.record.state.event_base import RUNTIME, Actor, JournalEvent
from runtime.record.state.operator_terms import DEFAULT_QUEUE


class RunCreated(JournalEvent, frozen=True, kw_only=True, tag="run.created"):
    """A run was asked for. `ref` names the swarm (`module:attr`, `/path.py:attr`), `input` is its task."""

    DURABLE: ClassVar[bool] = True
    ref: str
    title: str = ""
    input: str = ""
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    program: str = ""
    code: str = ""
    """The label of the code that it is for; empty: of the first worker that takes it up."""
    queue: str = DEFAULT_QUEUE
    """Which workers are to drive it: those that take this queue."""
    reason: str = ""
    """Why it was asked for; an agent says so."""
    by: Actor = RUNTIME


class RunStarted(JournalEvent, frozen=True, kw_only=True, tag="run.started"):
    """A process began to drive the run: the first time, or again after it parked or its driver died."""

    epoch: int
    owner: str = ""
    program: str = ""
    code: str = ""
    """The label of the worker's code. The first one stays with the run."""


class RunParked(JournalEvent, frozen=True, kw_only=True, tag="run.parked"):
    """The drive let go of the run. `waiting`: every open leaf waits (or the run is frozen); `stop`: the run is to be
    driven again, since the runtime stops or since what it waited for is over.
    """

    DURABLE: ClassVar[bool] = True
    reason: Literal["waiting", "stop"]
    wake_at: Instant | None = None
    incidents: tuple[str, ...] = ()
    """Ids of the incidents that open leaves wait for. The run is queued instead if one of them is not open any more."""
    thaw: bool = False
    """An open leaf waits for the run to be thawed."""


class RunFinished(JournalEvent, frozen=True, kw_only=True, tag="run.finished"):
    DURABLE: ClassVar[bool] = True
    state: Literal["completed", "degraded", "failed", "interrupted", "aborted"]
    output: str = ""
    error: str = ""
    by: Actor = RUNTIME


class AbortRequested(JournalEvent, frozen=True, kw_only=True, tag="run.abort_requested"):
    """An operator wants the run to end now. The drive cancels and awaits what runs, then the run is finished as
    aborted.
    """

    DURABLE: ClassVar[bool] = True
    reason: str = ""
    by: Actor = RUNTIME


class RunFrozen(JournalEvent, frozen=True, kw_only=True, tag="run.frozen"):
    """No new step begins; those in flight come to their end."""

    DURABLE: ClassVar[bool] = True
    reason: str = ""
    by: Actor = RUNTIME


class RunMoved(JournalEvent, frozen=True, kw_only=True, tag="run.moved"):
    """The run is for code of another label from now on (empty: of any worker), and in `queue` (empty: in the same as
    before). Who drives it now goes on until it lets go of it.
    """

    DURABLE: ClassVar[bool] = True
    code: str
    before: str = ""
    queue: str = ""
    by: Actor = RUNTIME


class RunThawed(JournalEvent, frozen=True, kw_only=True, tag="run.thawed"):
    DURABLE: ClassVar[bool] = True
    by: Actor = RUNTIME


class RewindRequested(JournalEvent, frozen=True, kw_only=True, tag="run.rewind_requested"):
    """An operator wants the run to go on from a node as if what came at it and after it had not been. The drive lets go
    first, then drops; `changes` are for the node when it runs again: `model`, `arguments`.
    """

    DURABLE: ClassVar[bool] = True
    changes: dict[str, Any] = msgspec.field(default_factory=dict)
    reason: str = ""
    by: Actor = RUNTIME


class RunRewound(JournalEvent, frozen=True, kw_only=True, tag="run.rewound"):
    """A node, its descendants and everything later in its sequential ancestors were dropped: so many nodes."""

    DURABLE: ClassVar[bool] = True
    changes: dict[str, Any] = msgspec.field(default_factory=dict)
    dropped: int = 0
    reason: str = ""
    by: Actor = RUNTIME


class SwarmLoaded(JournalEvent, frozen=True, kw_only=True, tag="run.loaded"):
    """The swarm's file is imported. Written only in a life whose forerunner ended with its process before anything of a
    node was recorded: if this one ends so too, it was not the import.
    """


class ClockSetBack(JournalEvent, frozen=True, kw_only=True, tag="run.clock_set_back"):
    """The clock was set back under waits that go on: those that began in what is now the future end so much earlier."""

    seconds: float


class ClockStepped(JournalEvent, frozen=True, kw_only=True, tag="run.clock_stepped"):
    """The clock was set forward by so many seconds (back, below 0) while a process ran that saw by how much: what waits
    for an instant waits as long as it would have.
    """

    seconds: float


class BreakpointSet(JournalEvent, frozen=True, kw_only=True, tag="run.breakpoint_set"):
    """The run waits before a tool or an agent whose name matches `pattern` (shell wildcards)."""

    what: Literal["tool", "agent"]
    pattern: str
    by: Actor = RUNTIME


class BreakpointCleared(JournalEvent, frozen=True, kw_only=True, tag="run.breakpoint_cleared"):
    what: Literal["tool", "agent"]
    pattern: str
    by: Actor = RUNTIME


class MessageInjected(JournalEvent, frozen=True, kw_only=True, tag="run.message_injected"):
    """A message for an agent, to be read at its next turn. `agent` is its name; the node narrows it to one place."""

    DURABLE: ClassVar[bool] = True
    injection_id: str
    agent: str
    text: str
    by: Actor = RUNTIME


class MessageDelivered(JournalEvent, frozen=True, kw_only=True, tag="node.message_delivered"):
    """An agent got injected messages at the beginning of a turn; a later life gives it the same at the same turn."""

    turn: int
    texts: tuple[str, ...]
    injection_ids: tuple[str, ...]
