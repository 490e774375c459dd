"""The axes of the taxonomy of faults, each a closed enumeration: origin, cause, persistence, effect, impact; and
remedies, severities and limits.

Apart from the model of a fault: lists show faults before pydantic is loaded. All values are strings, so that JSON has
them as they stand.
"""

from __future__ import annotations

from enum import StrEnum


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
