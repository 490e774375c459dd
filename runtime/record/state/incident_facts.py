"""An open incident as lists have it: all that `IncidentOpened` has, checked without pydantic.

Apart from the events: a console that opens shows its first decisions before it has loaded their vocabulary. What
is accepted here `IncidentOpened` accepts, too: a test compares their fields.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from runtime.record.state.fault_axes import Cause, Effect, Impact, Limit, Origin, Persistence, Remedy
from runtime.record.state.incident_title import incident_title
from runtime.record.state.summary import Instant

OptionNeed = Literal["", "text", "arguments", "model", "seconds", "amount"]
"""The parameter that an option takes; empty: none."""


class FaultFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A fault (`runtime.record.state.fault_taxonomy.Classification`)."""

    origin: Origin
    cause: Cause
    persistence: Persistence
    effect: Effect = Effect.UNKNOWN
    impact: Impact = Impact.NODE
    exhausted: bool = False
    retry_after_s: Annotated[float, msgspec.Meta(ge=0)] | None = None
    hint_source: str = ""
    provider: str = ""
    http_status: int | None = None
    code: str = ""
    exception: str = ""
    node_path: tuple[str, ...] = ()
    limit: Limit | None = None
    proposal: Remedy | None = None
    recoverable: bool | None = None
    user_message: str = ""
    rule_message: str = ""
    technical: str = ""
    suggestions: tuple[str, ...] = ()
    rule_id: str = ""
    metadata: dict[str, Any] = {}
    context: dict[str, Any] = {}


class OptionFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An option that is offered (`runtime.record.state.incident_events.Option`)."""

    id: str
    label: str
    needs: OptionNeed = ""
    hint: str = ""
    standing: bool = False


class IncidentFacts(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="incident.opened"
):
    """An open incident (`runtime.record.state.incident_events.IncidentOpened`)."""

    incident_id: str
    ts: Instant
    fault: FaultFacts
    v: int = 1
    seq: int = 0
    run_id: str = ""
    node_id: str = ""
    parent_id: str = ""
    revision: int = 1
    error_type: str = ""
    message: str = ""
    traceback: str = ""
    fingerprint: str = ""
    options: tuple[OptionFacts, ...] = ()
    safe: str = "abort"
    deadline: Instant | None = None
    in_doubt: bool = False
    lineage: tuple[str, ...] = ()
    task: str = ""
    action: dict[str, Any] = {}
    question: str = ""
    answer_schema: dict[str, Any] | None = None
    url: str = ""
    retryable: bool = True
    arguments_schema: dict[str, Any] | None = None
    result_schema: dict[str, Any] | None = None
    causes: tuple[str, ...] = ()
    unattended: bool = False
    copied: bool = False
    secret_key: str = ""

    @property
    def what(self) -> str:
        """As `IncidentOpened.what`."""
        return incident_title(self.question, self.message, self.fault.user_message, self.fault.rule_message)
