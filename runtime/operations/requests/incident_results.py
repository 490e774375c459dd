"""An incident and its report as results. The fields of an event or a fault in them are those of its struct in
`runtime.record.state`, which leaves out what stands at its default: a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from runtime.judgement.reports.report_types import OfferedOption, ReportFacts
from runtime.operations.requests.struct import ActorRow, Instant, JsonObject

IncidentState = Literal["open", "answered", "closed"]


class FaultRow(Struct, frozen=True, kw_only=True):
    """A fault (`runtime.record.state.fault_taxonomy.Classification`)."""

    origin: str
    cause: str
    persistence: str
    effect: str = "unknown"
    impact: str = "node"
    exhausted: bool = False
    retry_after_s: float | None = None
    hint_source: str = ""
    provider: str = ""
    http_status: int | None = None
    code: str = ""
    exception: str = ""
    node_path: tuple[str, ...] = ()
    limit: str | None = None
    proposal: str | None = None
    recoverable: bool | None = None
    user_message: str = ""
    rule_message: str = ""
    technical: str = ""
    suggestions: tuple[str, ...] = ()
    rule_id: str = ""
    metadata: JsonObject = {}
    context: JsonObject = {}


class ProposalRow(Struct, frozen=True, kw_only=True):
    """An answer that an agent proposes."""

    ts: Instant
    revision: int
    option: str
    params: JsonObject = {}
    reason: str = ""
    by: ActorRow = ActorRow()


class AnswerRow(Struct, frozen=True, kw_only=True):
    """The answer of an incident; `params` without secrets."""

    ts: Instant
    option: str
    reach: str = "attempt"
    reason: str = ""
    by: ActorRow = ActorRow()
    params: JsonObject = {}


class IncidentRow(Struct, frozen=True, kw_only=True):
    """An incident: what it waits for (`runtime.record.state.incident_events.IncidentOpened`) and, if it has one, its
    answer. `copied`: it came with its answer from the run that this one is a fork of.
    """

    id: str
    state: IncidentState
    run_id: str
    opened_at: Instant
    node_id: str
    parent_id: str
    revision: int
    fault: FaultRow
    error_type: str = ""
    message: str = ""
    traceback: str = ""
    fingerprint: str = ""
    options: tuple[OfferedOption, ...] = ()
    safe: str = "abort"
    deadline: Instant | None = None
    in_doubt: bool = False
    lineage: tuple[str, ...] = ()
    task: str = ""
    action: JsonObject = {}
    question: str = ""
    answer_schema: JsonObject | None = None
    url: str = ""
    retryable: bool = True
    arguments_schema: JsonObject | None = None
    result_schema: JsonObject | None = None
    causes: tuple[str, ...] = ()
    unattended: bool = False
    secret_key: str = ""
    copied: bool = False
    proposals: tuple[ProposalRow, ...] = ()
    answer: AnswerRow | None = None


class OpenIncident(IncidentRow, frozen=True, kw_only=True):
    """An open incident. `title`: that of its run; `like_this`: how many that are open are the same, with this one."""

    title: str = ""
    like_this: int = 1


class SentenceRow(Struct, frozen=True, kw_only=True):
    """A sentence, and the `seq` of the events that say it."""

    text: str
    events: tuple[int, ...] = ()


class ModelNoteRow(Struct, frozen=True, kw_only=True):
    """What came of asking a model (`runtime.judgement.reports.explanation.model_note`)."""

    state: str
    model: str = ""
    words: str = ""


class ExplanationRow(Struct, frozen=True, kw_only=True):
    """What an operator decides from (`runtime.judgement.reports.explanation.explain.Explanation`). `lines`: the same as
    labelled lines, in their order.
    """

    kind: str
    what: SentenceRow
    why: tuple[SentenceRow, ...] = ()
    tried: SentenceRow | None = None
    option: str = ""
    because: SentenceRow | None = None
    act: SentenceRow | None = None
    otherwise: str = ""
    calls: tuple[SentenceRow, ...] = ()
    other: str = ""
    wish: str = ""
    amount: float | int | None = None
    models: tuple[str, ...] = ()
    consequences: Mapping[str, SentenceRow] = {}
    model: ModelNoteRow
    lines: Mapping[str, str] = {}


class ReportRow(ReportFacts, frozen=True, kw_only=True):
    """The report of an incident, its explanation, and all of it as `markdown` and as `text`."""

    id: str
    state: IncidentState
    explanation: ExplanationRow
    markdown: str = ""
    text: str = ""
