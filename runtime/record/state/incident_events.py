"""Events of incidents: opened with what may be answered, answered, closed, analysed."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self, TypedDict, Unpack

import msgspec

from runtime.record.state.clock import Instant
from runtime.record.state.event_base import RUNTIME, Actor, JournalEvent
from runtime.record.state.fault_taxonomy import Classification
from runtime.record.state.operator_terms import Reach

OptionNeed = Literal["", "text", "arguments", "model", "seconds", "amount"]
"""The parameter that an option takes; empty: none."""


class Option(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing an operator may answer. `id` as in DESIGN section 6; `needs` names the parameter it takes, if any."""

    id: str
    label: str
    needs: OptionNeed = ""
    hint: str = ""
    standing: bool = False
    """Has effects beyond this incident (a grant that lasts): asks for a second confirmation."""


def incident_title(question: str, message: str, user_message: str, rule_message: str) -> str:
    """The question; the author's words; else the error's own text.

    Args:
        question: What is asked of a person; empty where nothing is.
        message: The error's own text.
        user_message: The fault's sentence for people.
        rule_message: The sentence of the rules, where `user_message` has the author's words; else empty.
    """
    return question or (user_message if rule_message else "") or message or user_message


class IncidentOpened(JournalEvent, frozen=True, kw_only=True, tag="incident.opened"):
    """A fault waits for a person or a rule. `incident_id` is unique in the workspace."""

    DURABLE: ClassVar[bool] = True
    incident_id: str
    revision: int = 1
    fault: Classification
    error_type: str = ""
    message: str = ""
    traceback: str = ""
    fingerprint: str = ""
    options: tuple[Option, ...] = ()
    safe: str = "abort"
    """The option that takes effect at the deadline; never a grant."""
    deadline: Instant | None = None
    in_doubt: bool = False
    lineage: tuple[str, ...] = ()
    """Names from the swarm down to the failing node."""
    task: str = ""
    action: dict[str, Any] = msgspec.field(default_factory=dict)
    """What exactly was to be done, in its canonical form: tool and arguments, model, permission with its object."""
    question: str = ""
    answer_schema: dict[str, Any] | None = None
    """JSON schema of the answer to `question`; None: free text."""
    url: str = ""
    """An address that the person is asked to open; shown as text."""
    retryable: bool = True
    arguments_schema: dict[str, Any] | None = None
    """JSON schema of a tool's arguments, for the form of `edit` and for the check before an edit is taken."""
    result_schema: dict[str, Any] | None = None
    """JSON schema of a result given by hand, checked before it is taken; None: anything."""
    causes: tuple[str, ...] = ()
    """The chain of errors, outermost first, each as ``Type: message``."""
    unattended: bool = False
    """No operator may be asked: the safe default takes effect at once."""
    copied: bool = False
    """Of a fork: it was its origin's incident, and is here with the answer that it got there. Nothing waits for it."""
    secret_key: str = ""
    """Where the answer is a secret: what it is sealed with on its way (`runtime.judgement.recovery.secret_box`)."""

    @property
    def what(self) -> str:
        """The first sentence wherever it is shown: the question; the author's words; else the error's own text."""
        return incident_title(self.question, self.message, self.fault.user_message, self.fault.rule_message)

    @property
    def said(self) -> str:
        """What is said of the failure, the author's words first."""
        return incident_title("", self.message, self.fault.user_message, self.fault.rule_message)


class _Given(TypedDict, total=False):
    """The fields of an answer that its incident does not tell."""

    params: dict[str, Any]
    reach: Reach
    reason: str
    by: Actor


class IncidentAnswered(JournalEvent, frozen=True, kw_only=True, tag="incident.answered"):
    """The first answer to an incident; later ones are refused."""

    DURABLE: ClassVar[bool] = True
    incident_id: str
    revision: int
    option: str
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    reach: Reach = "attempt"
    reason: str = ""
    by: Actor = RUNTIME

    @classmethod
    def of(
        cls, opened: IncidentOpened, run_id: str, option: str, *, revision: int | None = None, **given: Unpack[_Given]
    ) -> Self:
        """The answer to an incident as it stands now, at its node.

        Args:
            opened: The incident.
            run_id: The run that it belongs to.
            option: The option's id.
            revision: Of the incident as it was seen; None: as it stands now.
            **given: The other fields.
        """
        return cls(
            run_id=run_id,
            node_id=opened.node_id,
            parent_id=opened.parent_id,
            incident_id=opened.incident_id,
            option=option,
            revision=opened.revision if revision is None else revision,
            **given,
        )


class AnswerProposed(JournalEvent, frozen=True, kw_only=True, tag="incident.answer_proposed"):
    """An agent proposes an answer to an incident; it decides nothing."""

    incident_id: str
    revision: int
    option: str
    params: dict[str, Any] = msgspec.field(default_factory=dict)
    reason: str = ""
    by: Actor = RUNTIME


class IncidentClosed(JournalEvent, frozen=True, kw_only=True, tag="incident.closed"):
    """An incident that no longer matters, with the reason; it was not answered."""

    incident_id: str
    reason: str


class AnalysisStarted(JournalEvent, frozen=True, kw_only=True, tag="incident.analysis_started"):
    """A model is being asked about an incident; what comes of it is an `AnalysisAdded`, in this life or a later one."""

    incident_id: str
    model: str


class AnalysisAdded(JournalEvent, frozen=True, kw_only=True, tag="incident.analysed"):
    """A model's view of an incident; a fixed sentence where none could be had."""

    incident_id: str
    fingerprint: str = ""
    """The incident's: equal ones get the same, also after a restart."""
    text: str
    model: str = ""
    fallback: bool = False
    cost_usd: float | None = None
    reason: str = ""
    """Why no model answered, where none did."""

    @property
    def why_missing(self) -> str:
        """What is said in place of an analysis, where no model answered."""
        return self.reason or self.text
