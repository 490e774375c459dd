"""What state is made of: nodes and incidents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from runtime.record.state import events as ev
from runtime.record.state.clock import Instant
from runtime.record.state.fault_taxonomy import Classification
from runtime.record.state.summary import NODE_TERMINAL, NodePhase

NodeKind = Literal["swarm", "group", "agent", "tool", "llm", "value"]


MAX_PROPOSALS = 5
"""Proposals that are kept of an incident."""


class Incident(msgspec.Struct, omit_defaults=True):
    """A fault that waits, or waited, for a person or a rule."""

    opened: ev.IncidentOpened
    answer: ev.IncidentAnswered | None = None
    closed: str = ""
    analysing: ev.AnalysisStarted | None = None
    """A model is being asked, and since when; None before and once `analysis` is there."""
    analysis: ev.AnalysisAdded | None = None
    proposals: list[ev.AnswerProposed] = msgspec.field(default_factory=list)
    """What agents propose, the latest last; one of each agent for each revision."""

    @property
    def proposal(self) -> ev.AnswerProposed | None:
        """The latest that fits the incident as it is now, while it is open."""
        fitting = [each for each in self.proposals if each.revision == self.opened.revision]
        return fitting[-1] if fitting and self.open else None

    @property
    def open(self) -> bool:
        return self.answer is None and not self.closed

    @property
    def state(self) -> Literal["open", "answered", "closed"]:
        return "open" if self.open else "answered" if self.answer is not None else "closed"


def with_proposal(known: Sequence[ev.AnswerProposed], added: ev.AnswerProposed) -> list[ev.AnswerProposed]:
    """The proposals after one more: it replaces what the same agent proposed for the same revision. One that comes
    late, for a revision that is past, leaves what fits.
    """
    return [*(each for each in known if (each.by, each.revision) != (added.by, added.revision)), added][-MAX_PROPOSALS:]


class FailedAttempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """An attempt of a step that failed; `wait_s` and `wait_source` are of the wait that came after it, if one did."""

    attempt: int
    ended_at: Instant
    seconds: float
    cause: str
    message: str
    wait_s: float | None = None
    wait_source: str = ""
    seq: int = 0
    """The event that says so."""


MAX_DEATHS = 3
"""How many processes must end at the same place of a run before it is set aside."""
MAX_FAILED_ATTEMPTS = 50
"""Failed attempts of a step that are remembered, the latest ones."""


NOTHING: Final[dict[Any, Any]] = {}
"""In place of an empty dict of its own, for the many nodes that have nothing there. One that gets something gets a
dict of its own.
"""


@dataclass(slots=True)
class Node:
    """An element of the run's tree; its id is its path. Steps (llm, tool, value) are leaves, the rest are scopes.

    A run may have thousands of steps, most of which have none of what the tuples are for: they cost nothing then.
    """

    id: str
    parent_id: str
    kind: NodeKind
    name: str
    agent: str = ""
    phase: NodePhase = "running"
    info: dict[str, Any] = field(default_factory=dict)
    children: Sequence[str] = ()
    """A list once there are any."""
    open_children: int = 0
    """How many of them have not ended."""
    opened_at: Instant | None = None
    closed_at: Instant | None = None
    output: str = ""
    error: str = ""
    warnings: tuple[str, ...] = ()
    incidents: tuple[str, ...] = ()
    returned: ev.ControlReturned | None = None
    """Its failure went back into the swarm, as decided here."""
    active_at_open: float = 0.0
    """The run's active seconds when it opened."""
    opened_seq: int = 0
    """The event that introduced it."""
    closed_seq: int = 0
    """The event that ended it; 0 while it is open."""
    changed_seq: int = field(default=0, compare=False)
    """The last event that changed it and no other node (`RunData.changed_seq`); no part of what is told of a run."""
    is_step: bool = False
    # what follows is of steps only
    requested: dict[str, Any] = field(default_factory=dict)
    effective: dict[str, Any] = field(default_factory=dict)
    permissions: tuple[str, ...] = ()
    idempotent: bool = False
    attempts: int = 0
    """Attempts begun, over all lives."""
    resumed: int = 0
    """Of these, how many took up a call that was open when its run left memory, since what it runs was not done."""
    round: int = 0
    """Attempts begun since the last answer of an operator: what a retry policy counts."""
    in_flight: int | None = None
    """Epoch in which an attempt began that has no end yet."""
    recorded: bool = False
    """A result is recorded and the POST hooks have run: the step will not be carried out again."""
    hooks_due: bool = False
    result: Any = None
    fault: Classification | None = None
    by: ev.Actor | None = None
    edits: dict[str, Any] | None = None
    delivered: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Injected messages that an agent got, by turn."""
    retry: ev.RetryScheduled | None = None
    tries: tuple[FailedAttempt, ...] = ()
    secret: bool = False
    """Its result was given and is kept nowhere: a later life asks again."""
    fell_back: tuple[ev.StepFellBack, ...] = ()
    """Models that stood in for one another, in order."""
    deaths: int = 0
    """How many processes have ended while an attempt was under way, since one last came to its end."""
    compactions: int = 0
    """How often its conversation was made smaller."""
    compacted: tuple[ev.StepCompacted, ...] = ()
    """Each time that it was, in order."""
    began_at: Instant | None = None
    """When its latest attempt began."""
    began_seq: int = 0
    """The event that says so."""
    cancel: ev.CancelRequested | None = None
    """An operator wants the latest attempt cancelled."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None

    @property
    def under_way(self) -> bool:
        """Whether it is a step with an attempt that has begun and not ended, and does not itself wait for a person."""
        return self.in_flight is not None and self.phase == "running"

    @property
    def tries_begun(self) -> int:
        """Attempts begun, without those that only took up again what an earlier one had left open."""
        return self.attempts - self.resumed

    @property
    def terminal(self) -> bool:
        return self.phase in NODE_TERMINAL

    @property
    def holds(self) -> bool:
        """Whether it runs only in that something below it is open."""
        return self.phase == "running" and self.open_children > 0
