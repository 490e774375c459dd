"""Events of incidents: opened with what may be answered, answered, closed, analysed."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Literal, Self, TypedDict, Unpack

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from runtime.record.state.event_base import RUNTIME, Actor, JournalEvent
from runtime.record.state.fault_taxonomy import Classification
from runtime.record.state.incident_facts import IncidentFacts, OptionNeed, incident_title
from runtime.record.state.operator_terms import Reach


class Option(BaseModel):
    """One thing an operator may answer. `id` as in DESIGN section 6; `needs` names the parameter it takes, if any."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)
    id: str
    label: str
    needs: OptionNeed = ""
    hint: str = ""
    standing: bool = False
    """Has effects beyond this incident (a grant that lasts): asks for a second confirmation."""


class IncidentOpened(JournalEvent):
    """A fault waits for a person or a rule. `incident_id` is unique in the workspace."""

    type: Literal["incident.opened"] = "incident.opened"
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
    deadline: datetime | None = None
    in_doubt: bool = False
    lineage: tuple[str, ...] = ()
    """Names from the swarm down to the failing node."""
    task: str = ""
    action: dict[str, Any] = Field(default_factory=dict)
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
    def facts(self) -> IncidentFacts:
        """As lists have it."""
        return msgspec.convert(self, IncidentFacts, from_attributes=True)

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


class IncidentAnswered(JournalEvent):
    """The first answer to an incident; later ones are refused."""

    type: Literal["incident.answered"] = "incident.answered"
    DURABLE: ClassVar[bool] = True
    incident_id: str
    revision: int
    option: str
    params: dict[str, Any] = Field(default_factory=dict)
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


class AnswerProposed(JournalEvent):
    """An agent proposes an answer to an incident; it decides nothing."""

    type: Literal["incident.answer_proposed"] = "incident.answer_proposed"
    incident_id: str
    revision: int
    option: str
    params: dict[str, Any] = Field(default_factory=dict)
    reason: str = ""
    by: Actor = RUNTIME


class IncidentClosed(JournalEvent):
    """An incident that no longer matters, with the reason; it was not answered."""

    type: Literal["incident.closed"] = "incident.closed"
    incident_id: str
    reason: str


class AnalysisStarted(JournalEvent):
    """A model is being asked about an incident; what comes of it is an `AnalysisAdded`, in this life or a later one."""

    type: Literal["incident.analysis_started"] = "incident.analysis_started"
    incident_id: str
    model: str


class AnalysisAdded(JournalEvent):
    """A model's view of an incident; a fixed sentence where none could be had."""

    type: Literal["incident.analysed"] = "incident.analysed"
    incident_id: str
    fingerprint: str = ""
    """The incident's: equal ones get the same, also after a restart."""
    text: str
    model: str = ""
    fallback: bool = False
    cost_usd: float | None = None
    reason: str = ""
    """Why no model answered, where none did."""
