"""Open incidents and permissions in force as lists have them: all that `IncidentOpened` and `GrantAdded` have, checked
without pydantic; and the axes of faults.

Apart from the events: a console that opens shows its first picture before it has loaded their vocabulary. What is
accepted here the events accept, too: a test compares their fields.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec

_Instant = Annotated[datetime, msgspec.Meta(tz=True)]

OptionNeed = Literal["", "text", "arguments", "model", "seconds", "amount"]
"""The parameter that an option takes; empty: none."""


class Origin(StrEnum):
    """Which part of the system failed."""

    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"
    SWARM = "swarm"
    GRAPH = "graph"
    REGISTRY = "registry"
    PARSER = "parser"
    RUNNER = "runner"
    HOOK = "hook"
    STORE = "store"
    QUEUE = "queue"
    TELEMETRY = "telemetry"
    HUMAN = "human"
    CONSOLE = "console"


class Cause(StrEnum):
    """What went wrong."""

    RATE_LIMITED = "rate_limited"
    QUOTA_EXHAUSTED = "quota_exhausted"
    AUTH_FAILED = "auth_failed"
    PERMISSION_DENIED = "permission_denied"
    POLICY_DENIED = "policy_denied"
    MODEL_UNKNOWN = "model_unknown"
    BAD_REQUEST = "bad_request"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    CONTEXT_OVERFLOW = "context_overflow"
    SERVICE_UNAVAILABLE = "service_unavailable"
    NETWORK = "network"
    TIMEOUT = "timeout"
    EMPTY_COMPLETION = "empty_completion"
    REFUSED = "refused"
    OUTPUT_INVALID = "output_invalid"
    ARGS_INVALID = "args_invalid"
    WRONG_TARGET = "wrong_target"
    MISSING_INPUT = "missing_input"
    TOOL_FAILED = "tool_failed"
    DEPENDENCY_FAILED = "dependency_failed"
    CIRCUIT_OPEN = "circuit_open"
    LOOP_DETECTED = "loop_detected"
    LIMIT_REACHED = "limit_reached"
    CONFIG_INVALID = "config_invalid"
    NOT_FOUND = "not_found"
    POOL_EXHAUSTED = "pool_exhausted"
    CANCELLED = "cancelled"
    HUMAN_TIMEOUT = "human_timeout"
    INTERNAL = "internal"
    UNKNOWN = "unknown"


class Persistence(StrEnum):
    """Whether the same call can succeed later. Nothing but `TRANSIENT` is ever repeated without being asked."""

    TRANSIENT = "transient"
    NEEDS_CHANGE = "needs_change"
    PERMANENT = "permanent"
    UNKNOWN = "unknown"


class Effect(StrEnum):
    """What the failed call may have done to the world; decides whether repeating it is safe."""

    NOT_ATTEMPTED = "not_attempted"
    NONE = "none"
    UNKNOWN = "unknown"
    APPLIED = "applied"


class Impact(StrEnum):
    """How far the failure reaches if nothing is done about it."""

    ABSORBED = "absorbed"
    NODE = "node"
    RUN = "run"
    PROCESS = "process"


class Remedy(StrEnum):
    """What is done about a fault: the decision, never part of the facts."""

    RETRY = "retry"
    WAIT_RETRY = "wait_retry"
    FEED_BACK = "feed_back"
    COMPACT_RETRY = "compact_retry"
    REPLAN = "replan"
    REROUTE = "reroute"
    FALLBACK = "fallback"
    ASK_HUMAN = "ask_human"
    DEGRADE = "degrade"
    IGNORE = "ignore"
    STOP = "stop"


class Severity(StrEnum):
    """How loudly a fault is shown. Derived from impact, never stored on its own."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"
    FATAL = "fatal"


class Limit(StrEnum):
    """Which limit was hit, where the cause is `Cause.LIMIT_REACHED`."""

    STEPS = "steps"
    TOOL_CALLS = "tool_calls"
    LLM_CALLS = "llm_calls"
    COST = "cost"
    TOKENS = "tokens"
    WALL_TIME = "wall_time"
    HANDOFFS = "handoffs"
    DEPTH = "depth"
    ATTEMPTS = "attempts"
    OTHER = "other"


def incident_title(question: str, message: str, user_message: str, rule_message: str) -> str:
    """The question; the author's words; else the error's own text.

    Args:
        question: What is asked of a person; empty where nothing is.
        message: The error's own text.
        user_message: The fault's sentence for people.
        rule_message: The sentence of the rules, where `user_message` has the author's words; else empty.
    """
    return question or (user_message if rule_message else "") or message or user_message


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
    ts: _Instant
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
    deadline: _Instant | None = None
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


class ActorFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who did something (`runtime.record.state.event_base.Actor`)."""

    name: str = ""
    channel: Literal["console", "cli", "rule", "runtime", "mcp"] = "runtime"


class GrantFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="grant.added"):
    """A permission (`runtime.record.state.workspace_events.GrantAdded`)."""

    grant_id: str
    subject: str
    verb: str
    pattern: str
    lifetime: Literal["run", "swarm", "always"]
    ts: _Instant
    v: int = 1
    seq: int = 0
    run_id: str = ""
    node_id: str = ""
    parent_id: str = ""
    scope: str = ""
    until: _Instant | None = None
    incident_id: str = ""
    by: ActorFacts = ActorFacts()
    reading: int = 1
