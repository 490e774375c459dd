"""Events of the workspace, which belong to no run: grants, freezes, breakers, looks, losses, notices."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Literal

import msgspec

from runtime.record.state.event_base import RUNTIME, Actor, JournalEvent
from runtime.record.state.incident_facts import GrantFacts


class GrantAdded(JournalEvent):
    """A permission. `subject` is an agent's name, or `*`; it lasts for a run, for a swarm (`ref`), or until revoked."""

    type: Literal["grant.added"] = "grant.added"
    DURABLE: ClassVar[bool] = True
    grant_id: str
    subject: str
    verb: str
    pattern: str
    lifetime: Literal["run", "swarm", "always"]
    scope: str = ""
    """The run id or the swarm's reference that the lifetime names."""
    until: datetime | None = None
    incident_id: str = ""
    by: Actor = RUNTIME
    reading: int = 1
    """How its pattern was read when it was given (`runtime.judgement.permissions.changed_patterns`)."""

    @property
    def facts(self) -> GrantFacts:
        """As the link has it."""
        return msgspec.convert(self, GrantFacts, from_attributes=True)


class GrantUsed(JournalEvent):
    """A grant let a step pass. Stands in the run's stream, at the step."""

    type: Literal["grant.used"] = "grant.used"
    grant_id: str
    need: str


class GrantRevoked(JournalEvent):
    type: Literal["grant.revoked"] = "grant.revoked"
    DURABLE: ClassVar[bool] = True
    grant_id: str
    by: Actor = RUNTIME


class FreezeSet(JournalEvent):
    """Runs that begin from now on are frozen: those of the swarm `ref`, or all where it is empty."""

    type: Literal["freeze.set"] = "freeze.set"
    DURABLE: ClassVar[bool] = True
    ref: str = ""
    reason: str = ""
    by: Actor = RUNTIME


class FreezeLifted(JournalEvent):
    """The freeze of a swarm is over; with an empty `ref` every one is."""

    type: Literal["freeze.lifted"] = "freeze.lifted"
    DURABLE: ClassVar[bool] = True
    ref: str = ""
    by: Actor = RUNTIME


class AgentRefused(JournalEvent):
    """An agent wanted to act, and might not. `act` is the request's name; `subject_run` the run that it was about."""

    type: Literal["agent.refused"] = "agent.refused"
    act: str
    option: str = ""
    incident_id: str = ""
    subject_run: str = ""
    why: str = ""
    reason: str = ""
    by: Actor = RUNTIME


class BreakerChanged(JournalEvent):
    """A circuit breaker is in another state. `key`: ``model:provider:name`` or ``tool:name``; times in epoch seconds;
    `opened_at` None: closed. The fields are those of `runtime.judgement.recovery.breaker.Breaker`.
    """

    type: Literal["breaker.changed"] = "breaker.changed"
    key: str
    failures: int = 0
    opened_at: float | None = None
    prober: str = ""
    probed_at: float = 0.0
    reason: str = ""
    by: Actor = RUNTIME


class OperatorLooked(JournalEvent):
    """An operator has seen what there was up to now: the next digest begins here."""

    type: Literal["operator.looked"] = "operator.looked"
    by: Actor


class EventsLost(JournalEvent):
    """The newest events of the journal were found to be missing: its file was damaged, taken away, or put back as it
    had been. What was lost is not known.
    """

    type: Literal["journal.events_lost"] = "journal.events_lost"
    DURABLE: ClassVar[bool] = True
    detail: str


class PatternReread(JournalEvent):
    """A pattern of a grant or a rule is read in another way by this version of the program. Told once."""

    type: Literal["permission.pattern_reread"] = "permission.pattern_reread"
    what: str
    """The grant with its id, or the rule with its verdict."""
    before: str
    now: str


class TracesSent(JournalEvent):
    """The receiver of traces has accepted all spans that end up to a position of the journal: it goes on from there."""

    type: Literal["traces.sent"] = "traces.sent"
    position: int
    spans: int = 0


class TracesHeldBack(JournalEvent):
    """The receiver of traces does not accept any. Written once, until it does again."""

    type: Literal["traces.held_back"] = "traces.held_back"
    reason: str


class NoticeSent(JournalEvent):
    """A channel was told of incidents, each at a revision; a notice that a crash kept from being noted is sent
    again.
    """

    type: Literal["notice.sent"] = "notice.sent"
    channel: str
    incidents: tuple[tuple[str, int], ...]
