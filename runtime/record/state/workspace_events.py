"""Events of the workspace, which belong to no run: grants, freezes, breakers, looks, losses, notices."""

from __future__ import annotations

from typing import ClassVar, Literal

from runtime.record.state.clock import Instant
from runtime.record.state.event_base import RUNTIME, Actor, JournalEvent


class GrantAdded(JournalEvent, frozen=True, kw_only=True, tag="grant.added"):
    """A permission. `subject` is an agent's name, or `*`; it lasts for a run, for a swarm (`ref`), or until revoked."""

    DURABLE: ClassVar[bool] = True
    grant_id: str
    subject: str
    verb: str
    pattern: str
    lifetime: Literal["run", "swarm", "always"]
    scope: str = ""
    """The run id or the swarm's reference that the lifetime names."""
    until: Instant | None = None
    incident_id: str = ""
    by: Actor = RUNTIME
    reading: int = 1
    """How its pattern was read when it was given (`runtime.judgement.permissions.changed_patterns`)."""


class GrantUsed(JournalEvent, frozen=True, kw_only=True, tag="grant.used"):
    """A grant let a step pass. Stands in the run's stream, at the step."""

    grant_id: str
    need: str


class GrantRevoked(JournalEvent, frozen=True, kw_only=True, tag="grant.revoked"):
    DURABLE: ClassVar[bool] = True
    grant_id: str
    by: Actor = RUNTIME


class FreezeSet(JournalEvent, frozen=True, kw_only=True, tag="freeze.set"):
    """Runs that begin from now on are frozen: those of the swarm `ref`, or all where it is empty."""

    DURABLE: ClassVar[bool] = True
    ref: str = ""
    reason: str = ""
    by: Actor = RUNTIME


class FreezeLifted(JournalEvent, frozen=True, kw_only=True, tag="freeze.lifted"):
    """The freeze of a swarm is over; with an empty `ref` every one is."""

    DURABLE: ClassVar[bool] = True
    ref: str = ""
    by: Actor = RUNTIME


class AgentRefused(JournalEvent, frozen=True, kw_only=True, tag="agent.refused"):
    """An agent wanted to act, and might not. `act` is the request's name; `subject_run` the run that it was about."""

    act: str
    option: str = ""
    incident_id: str = ""
    subject_run: str = ""
    why: str = ""
    reason: str = ""
    by: Actor = RUNTIME


class BreakerChanged(JournalEvent, frozen=True, kw_only=True, tag="breaker.changed"):
    """A circuit breaker is in another state. `key`: ``model:provider:name`` or ``tool:name``; times in epoch seconds;
    `opened_at` None: closed. The fields are those of `runtime.judgement.recovery.breaker.Breaker`.
    """

    key: str
    failures: int = 0
    opened_at: float | None = None
    prober: str = ""
    probed_at: float = 0.0
    reason: str = ""
    by: Actor = RUNTIME


class OperatorLooked(JournalEvent, frozen=True, kw_only=True, tag="operator.looked"):
    """An operator has seen what there was up to now: the next digest begins here."""

    by: Actor


class EventsLost(JournalEvent, frozen=True, kw_only=True, tag="journal.events_lost"):
    """The newest events of the journal were found to be missing: its file was damaged, taken away, or put back as it
    had been. What was lost is not known.
    """

    DURABLE: ClassVar[bool] = True
    detail: str


class PatternReread(JournalEvent, frozen=True, kw_only=True, tag="permission.pattern_reread"):
    """A pattern of a grant or a rule is read in another way by this version of the program. Told once."""

    what: str
    """The grant with its id, or the rule with its verdict."""
    before: str
    now: str


class TracesSent(JournalEvent, frozen=True, kw_only=True, tag="traces.sent"):
    """The receiver of traces has accepted all spans that end up to a position of the journal: it goes on from there."""

    position: int
    spans: int = 0


class TracesHeldBack(JournalEvent, frozen=True, kw_only=True, tag="traces.held_back"):
    """The receiver of traces does not accept any. Written once, until it does again."""

    reason: str


class NoticeSent(JournalEvent, frozen=True, kw_only=True, tag="notice.sent"):
    """A channel was told of incidents, each at a revision; a notice that a crash kept from being noted is sent
    again.
    """

    channel: str
    incidents: tuple[tuple[str, int], ...]
