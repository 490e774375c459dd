"""Requests about incidents: answer, look at what an answer would mean, read."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from msgspec import Meta, Struct, field

from runtime.judgement.comparison.file_write import FileComparison
from runtime.judgement.permissions.permitted_action import PermittedAction
from runtime.operations.requests.incident_results import IncidentRow, OpenIncident, ReportRow
from runtime.operations.requests.struct import ActorRow, Instant, JsonObject, Request, Text
from runtime.record.state.operator_terms import Reach

PROOF_TIMEOUT_S: Final = 60.0
"""Seconds that the first of several equal answers may take to prove right."""
MAX_PROOF_S: Final = 600.0


class TakenAnswer(Struct, frozen=True, kw_only=True):
    """`id` is that of the incident; `params` without secrets."""

    id: str
    state: str
    run_id: str
    option: str
    params: JsonObject
    reach: str
    reason: str
    by: ActorRow
    ts: Instant


class AnswerIncident(Request[TakenAnswer], frozen=True):
    """Answer an incident. The first answer counts.

    `params`: see `runtime.operations.answer_params`. `revision`: of the incident as the operator saw it; an answer to
    an older one is refused.
    """

    verb: ClassVar[str] = "answer"
    acts: ClassVar[bool] = True

    incident_id: Text
    option: Text
    params: JsonObject = field(default_factory=dict)
    reach: Reach | None = None
    revision: int | None = None
    reason: str = ""


class ProposedAnswer(Struct, frozen=True, kw_only=True):
    """`id` is that of the incident, which stays open."""

    id: str
    state: str
    run_id: str
    option: str
    params: JsonObject
    reason: str
    by: ActorRow


class ProposeAnswer(Request[ProposedAnswer], frozen=True):
    """Propose an answer to an open incident. It decides nothing: it stands in the prompt of the person who decides, who
    adopts it or not. A later proposal of the same agent replaces it.
    """

    verb: ClassVar[str] = "propose"
    acts: ClassVar[bool] = True

    incident_id: Text
    option: Text
    params: JsonObject = field(default_factory=dict)
    revision: int | None = None
    reason: str = ""


class BulkOutcome(Struct, frozen=True, kw_only=True):
    """What came of the answer to one of several incidents. `state`: see `runtime.operations.bulk_answers`."""

    id: str
    state: str
    run_id: str
    detail: str = ""


class AnswerEqual(Request[tuple[BulkOutcome, ...]], frozen=True):
    """Answer an incident; once its step went on, answer the open ones that are the same in the same way.

    `only`: those that may be answered besides the first; empty: all. `looked_at`: those that a person looked at, and
    what may have happened had not. `proof_s`: seconds that the first may take to go on.
    """

    verb: ClassVar[str] = "answer_like"
    acts: ClassVar[bool] = True

    incident_id: Text
    option: Text
    params: JsonObject = field(default_factory=dict)
    only: tuple[str, ...] = ()
    looked_at: tuple[str, ...] = ()
    reason: str = ""
    proof_s: Annotated[float, Meta(ge=0, le=MAX_PROOF_S)] = PROOF_TIMEOUT_S


class Precedent(Struct, frozen=True, kw_only=True):
    """The latest answer that an incident with the same fingerprint got, and what came of it by now."""

    id: str
    option: str
    state: str
    run_id: str = ""
    params: JsonObject = field(default_factory=dict)
    by: str = ""
    ts: Instant | None = None
    detail: str = ""


class FindPrecedent(Request[Precedent | None], frozen=True):
    """How an incident that is the same was answered; nothing where none was."""

    verb: ClassVar[str] = "precedent"

    incident_id: Text


class ProposedGrant(Struct, frozen=True, kw_only=True):
    subject: str
    verb: str
    pattern: str
    lifetime: str
    scope: str = ""
    until: Instant | None = None


class GrantPreview(Struct, frozen=True, kw_only=True):
    """What a grant would say and cover, the latest action last."""

    grant: ProposedGrant
    sentence: str
    past: tuple[PermittedAction, ...] = ()
    pending: tuple[PermittedAction, ...] = ()


class PreviewGrant(Request[GrantPreview], frozen=True):
    """What a standing grant would have covered. `params` as for the answer `grant`: `for`, `subject`, `pattern`,
    `until`.
    """

    verb: ClassVar[str] = "preview"

    incident_id: Text
    params: JsonObject = field(default_factory=dict)


class CompareWrite(Request[FileComparison], frozen=True):
    """What a permission to write a file would change, beside the file as it is now where the runtime is."""

    verb: ClassVar[str] = "compare_write"

    incident_id: Text


class ListIncidents(Request[tuple[OpenIncident, ...]], frozen=True):
    """The open incidents, oldest first; of one run, if one is named."""

    verb: ClassVar[str] = "incidents"
    all_hosts: ClassVar[bool] = True

    run_id: str = ""


class ShowIncident(Request[IncidentRow], frozen=True):
    """An incident with its answer, if it has one."""

    verb: ClassVar[str] = "incident"

    incident_id: Text


class ShowReport(Request[ReportRow], frozen=True):
    """The report of an incident (`runtime.judgement.reports.incident_report`), also as `markdown` and as `text`."""

    verb: ClassVar[str] = "report"

    incident_id: Text
