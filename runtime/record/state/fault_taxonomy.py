"""The taxonomy of faults: origin, cause, persistence, effect, impact; and remedies, kept apart.

The four vocabularies of the seeds (000 errors, 002 severities, 003 `recoverable`, 004 policies) each mix axes.
Here every axis is a closed enumeration of its own, and `Classification` holds one value of each.
It is a fact: once recorded it does not change. What is done about it, a `Remedy`, is decided later, from configuration
and history. A classification is JSON as it stands.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import msgspec


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


class Classification(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The facts of one fault.

    `retry_after_s` is the server's hint in seconds from the moment of classification, `hint_source` where it was
    read ("retry-after header", "message"). `proposal` is a remedy that the author of the code asked for
    (`classify_error` of seed 002: replan, reroute); deciding whether it is taken is not this model's business.
    `recoverable` is what was said where the error was raised (seed 003); None: nothing was.
    `technical` may quote a provider; secrets in it are already masked. `metadata` is the author's, as JSON; `context`
    is what the error itself carried (``limit``, ``used``), masked. Where an author's words stand in `user_message`,
    `rule_message` has the sentence of the rules.
    """

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
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    context: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def author_message(self) -> str:
        """The words of the author's `classify_error`; empty where it said none."""
        return self.user_message if self.rule_message else ""

    @property
    def severity(self) -> Severity:
        """How loudly it is shown: by impact; what was absorbed is a warning unless no act is needed (telemetry)."""
        if self.impact is Impact.ABSORBED:
            return Severity.INFO if self.origin is Origin.TELEMETRY else Severity.WARNING
        return _SEVERITY[self.impact]

    @property
    def repeatable(self) -> bool:
        """Whether it may be repeated without asking anybody: transient, and the failed call changed nothing."""
        return self.persistence is Persistence.TRANSIENT and self.safe_to_repeat

    @property
    def safe_to_repeat(self) -> bool:
        """Whether repeating all of the step does no harm, as far as is known.

        A tool that could not connect, or whose call a service refused for a rate limit, did nothing by that call; what
        its code did before that call is not known, so a person, its author (`idempotent=True`, RETRIABLE) or the agent
        decides whether it runs again.
        """
        unsent = self.effect is Effect.NOT_ATTEMPTED and self.cause in _NOTHING_DONE_BY_THIS_CALL
        if unsent and self.origin in (Origin.TOOL, Origin.HOOK) and self.proposal is not Remedy.RETRY:
            return False
        return self.effect in (Effect.NOT_ATTEMPTED, Effect.NONE)


_NOTHING_DONE_BY_THIS_CALL = frozenset({Cause.NETWORK, Cause.TIMEOUT, Cause.RATE_LIMITED, Cause.QUOTA_EXHAUSTED})

_SEVERITY = {Impact.NODE: Severity.ERROR, Impact.RUN: Severity.CRITICAL, Impact.PROCESS: Severity.FATAL}
