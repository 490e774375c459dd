"""Every error of the framework: one tree under `OrbiterError`.

The classes of seed 000 (documented there at other import paths, which re-export them from here) and the classes
of seed 003 (`MarsysError` and its families) are one tree: 003's names are aliases or leaves of it. Two names shadow
builtins on purpose, because seed 003 says so: `TimeoutError` and `PermissionError`. Each is also an instance of the
builtin that it shadows, so code that knows only the builtin still catches it.

`GraphError` (orbiter._internal.graph) stands outside the tree, as seed 000 wants it.
"""

from __future__ import annotations

import builtins
import inspect
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

__all__ = [
    "APIError",
    "ActionValidationError",
    "AgentConfigurationError",
    "AgentError",
    "AgentExecutionError",
    "AgentFrameworkError",
    "AgentPermissionError",
    "CallRunnerError",
    "ConfigurationError",
    "ExecutionError",
    "GroupError",
    "HandoffLimitError",
    "HookError",
    "JoinError",
    "LoopDetectedError",
    "MarsysError",
    "MessageFormatError",
    "ModelAPIError",
    "ModelError",
    "ModelRateLimitError",
    "ModelTimeoutError",
    "NestedSwarmError",
    "OrbiterError",
    "OutputParseError",
    "PermissionError",
    "PoolExhaustedError",
    "RateLimitError",
    "RegistryError",
    "SwarmError",
    "TimeoutError",
    "ToolCallError",
    "ToolError",
    "ToolExecutionError",
    "TopologyError",
    "ValidationError",
]


class OrbiterError(Exception):
    """Base exception for all Orbiter errors.

    `str()` is the message alone; what to do about it is in `suggestion` (also readable and settable as ``hint``).
    Subclasses declare fields of their own as annotated class attributes with
    defaults; each may be given as a keyword and then stands both as attribute and in `context`.

    Args:
        message: What went wrong, where.
        error_code: A stable code for programs; the class's name if not given.
        context: Facts about the failure, JSON-able.
        suggestion: What to do instead.
        recoverable: Whether the same operation can be made to succeed; the class's default if not given.
        hint: Another name of `suggestion`.
        **fields: Values for the class's own fields; every error may name its agent as ``agent_name``.

    Raises:
        TypeError: A keyword that the class does not declare.
    """

    recoverable: bool = False
    agent_name: str | None = None
    _fields: ClassVar[frozenset[str]] = frozenset({"agent_name"})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {name for name in inspect.get_annotations(cls) if name in vars(cls)}
        inherited: list[frozenset[str]] = [getattr(base, "_fields", frozenset()) for base in cls.__bases__]
        cls._fields = frozenset(own - {"recoverable", "_fields"}).union(*inherited)

    def __init__(
        self,
        message: object = "",
        error_code: str | None = None,
        context: Mapping[str, Any] | None = None,
        suggestion: str | None = None,
        recoverable: bool | None = None,
        *,
        hint: str | None = None,
        **fields: Any,
    ) -> None:
        # Not super(): an error that is also of a foreign class must not run that class's __init__.
        Exception.__init__(self, message)
        self.message = str(message)
        self.error_code = error_code or type(self).__name__
        self.context: dict[str, Any] = dict(context) if context else {}
        self.suggestion = suggestion if suggestion is not None else hint
        self.timestamp = datetime.now(UTC)
        if recoverable is not None:
            self.recoverable = recoverable
        for name, value in fields.items():
            if name not in self._fields:
                known = ", ".join(sorted(self._fields)) or "none"
                raise TypeError(f"{type(self).__name__} has no field '{name}'; its own fields: {known}")
            setattr(self, name, value)
            if value is not None:
                self.context.setdefault(name, value)

    @property
    def hint(self) -> str | None:
        """What to do instead; another name of `suggestion`."""
        return self.suggestion

    @hint.setter
    def hint(self, value: str | None) -> None:
        self.suggestion = value

    def to_dict(self) -> dict[str, Any]:
        """The error for a log: type, code, message, context, suggestion, recoverable and time stamp (ISO 8601, UTC)."""
        return {
            "error_type": type(self).__name__,
            "error_code": self.error_code,
            "message": self.message,
            "context": dict(self.context),
            "suggestion": self.suggestion,
            "recoverable": self.recoverable,
            "timestamp": self.timestamp.isoformat(),
        }


MarsysError = OrbiterError
AgentFrameworkError = OrbiterError


# --- seed 000 -------------------------------------------------------------------------------------------------------


class AgentError(OrbiterError):
    """Agent-level failures: duplicate tools, missing provider, retries spent, context length exceeded."""


class ToolError(OrbiterError):
    """Raised when a tool execution fails."""


class CallRunnerError(OrbiterError):
    """An agent's run failed, or its tool calls go round in a circle."""


class LoopDetectedError(CallRunnerError):
    """The same tool calls were repeated `count` times in a row, and `threshold` is the limit."""

    count: int = 0
    threshold: int = 0


class SwarmError(OrbiterError):
    """Swarm configuration and orchestration failures."""


class HandoffLimitError(SwarmError):
    """More transitions between agents than `max_handoffs` allows."""

    max_handoffs: int = 0


class RegistryError(OrbiterError):
    """A registry holds the name already, or does not hold it."""


class OutputParseError(OrbiterError):
    """A model's output cannot be parsed: malformed tool arguments, or structured output that breaks its schema."""

    raw: str | None = None

    def __init__(self, *args: Any, expected: Any = None, **more: Any) -> None:
        super().__init__(*args, **more)
        # A type, so no fact for `context`: what structured output should have been.
        self.expected = expected


class GroupError(OrbiterError):
    """A parallel or serial group is configured wrongly, or a member of it failed."""


class JoinError(GroupError):
    """A group's or team's join policy is not met. `failed` maps member names to error texts."""

    policy: str = ""
    failed: Mapping[str, str] = {}
    succeeded: tuple[str, ...] = ()


class NestedSwarmError(OrbiterError):
    """A `SwarmNode` was given something that is not a swarm, or the swarm inside it failed."""


class HookError(OrbiterError, ValueError):
    """A hook is not usable: not callable, at no known hook point, or not where it is to be removed from."""


# --- seed 003: validation, configuration, execution, permission -------------------------------------------------------


class ValidationError(OrbiterError):
    """Input or output does not have the form it must have."""


class MessageFormatError(ValidationError):
    """A message is malformed."""

    invalid_content: str | None = None
    expected_format: str | None = None


class ActionValidationError(ValidationError):
    """Invalid agent actions."""

    action: str | None = None
    valid_actions: tuple[str, ...] | list[str] | None = None
    action_input: Any = None


class ConfigurationError(OrbiterError):
    """Configuration problems."""

    config_field: str | None = None
    config_value: Any = None


class AgentConfigurationError(ConfigurationError):
    """Agent setup errors."""


class TopologyError(ConfigurationError):
    """Topology definition errors."""

    topology_issue: str | None = None
    affected_nodes: tuple[str, ...] | list[str] | None = None


class ExecutionError(OrbiterError):
    """Runtime execution failures."""


class AgentExecutionError(ExecutionError):
    """Agent execution failures."""


class TimeoutError(ExecutionError, builtins.TimeoutError):  # noqa: A001 - seed 003 names it so
    """Operation timeout. Times in seconds."""

    operation: str | None = None
    timeout_seconds: float | None = None
    elapsed_seconds: float | None = None


class PoolExhaustedError(ExecutionError):
    """No thread is left for a blocking call: too many abandoned calls never came back, or too many wait for others."""

    recoverable = True
    total: int | None = None
    abandoned: int | None = None


class PermissionError(OrbiterError, builtins.PermissionError):  # noqa: A001 - seed 003 names it so
    """Access control violations."""

    permission: str | None = None


class AgentPermissionError(PermissionError):
    """Agent invocation denied."""

    target_agent: str | None = None
    allowed_agents: tuple[str, ...] | list[str] | None = None


# --- tools and models -------------------------------------------------------------------------------------------------


class ToolExecutionError(ToolError):
    """Tool function execution failures.

    Takes a message, or, as in seed 000's sample, the tool's name and what it raised: ``ToolExecutionError(name, exc)``.
    """

    tool_name: str | None = None
    tool_args: Mapping[str, Any] | None = None
    execution_error: str | None = None

    def __init__(
        self, message: object = "", error_code: str | BaseException | None = None, *args: Any, **kw: Any
    ) -> None:
        if isinstance(error_code, BaseException):
            kw.setdefault("tool_name", str(message))
            kw.setdefault("execution_error", str(error_code))
            message, error_code = f"Tool '{message}' failed: {error_code}", None
        super().__init__(message, error_code, *args, **kw)


class ToolCallError(ToolError):
    """Tool call format errors (malformed arguments, missing required fields). The model is told, and calls again."""

    recoverable = True
    tool_name: str | None = None
    available_tools: tuple[str, ...] | list[str] | None = None
    tool_call_id: str | None = None


class APIError(OrbiterError):
    """External API failures."""

    retry_after: float | None = None
    status_code: int | None = None


class RateLimitError(APIError):
    """API rate limit exceeded."""

    recoverable = True


class ModelError(OrbiterError):
    """A model provider's failure. `str()` is ``[{model}] {msg}``, or ``{msg}`` where no model is known.

    Args:
        msg: The failure in words, without the model's name.
        model: The model's name.
        code: The provider's own code (``context_length_exceeded``, ``overloaded_error``, …).
        provider: The provider's name, as in a model string.
        status: HTTP status; None where no response came. Also in `context` as ``status_code``.
        type: The provider's own error type.
        headers: Response headers that matter (retry hints, request ids), names in lower case.
        request_id: The provider's id of the request.
        body: The response's body as text, redacted.
        retry_after: The server's hint, in seconds.
        where: The stretch of the call that failed: ``connect``, ``request``, ``first_token``, ``stream``, ….
        **rest: As for `OrbiterError`.
    """

    provider: str = ""
    status: int | None = None
    type: str = ""
    headers: Mapping[str, str] = {}
    request_id: str = ""
    body: str = ""
    retry_after: float | None = None
    where: str = ""

    def __init__(self, msg: object = "", *args: Any, model: str = "", code: str = "", **rest: Any) -> None:
        super().__init__(msg, *args, **{name: value for name, value in rest.items() if value is not None})
        self.model = model
        self.code = code
        if self.status is not None:
            self.context.setdefault("status_code", self.status)
        for name, value in (("model", model), ("code", code)):
            if value:
                self.context.setdefault(name, value)
        self.args = (f"[{model}] {msg}" if model else msg,)


class ModelAPIError(ModelError, APIError):
    """A provider answered with an error, under the names that seed 003 uses.

    `classification` is a word such as ``request_too_large`` or ``rate_limit``. `status_code`, `api_error_code`,
    `api_error_type` and `raw_response` are other names of `status`, `code`, `type` and `body`.
    """

    api_endpoint: str | None = None
    classification: str = "unknown"
    is_retryable: bool = False
    suggested_action: str | None = None

    def __init__(
        self,
        msg: object = "",
        *args: Any,
        status_code: int | None = None,
        api_error_code: str | None = None,
        api_error_type: str | None = None,
        raw_response: str | None = None,
        **rest: Any,
    ) -> None:
        for name, value in (("status", status_code), ("type", api_error_type), ("body", raw_response)):
            if value is not None:
                rest.setdefault(name, value)
        if api_error_code:
            rest.setdefault("code", api_error_code)
        super().__init__(msg, *args, **rest)
        self.status_code = self.status

    @property
    def api_error_code(self) -> str:
        """The provider's own code."""
        return self.code

    @property
    def api_error_type(self) -> str:
        """The provider's own error type."""
        return self.type

    @property
    def raw_response(self) -> str:
        """The response's body, redacted."""
        return self.body


class ModelRateLimitError(ModelAPIError, RateLimitError):
    """A provider's rate limit: a `ModelError` that ``except RateLimitError`` catches too."""

    classification: str = "rate_limit"
    is_retryable: bool = True


class ModelTimeoutError(ModelError, TimeoutError):
    """A deadline of ours passed while a provider was silent. Times in seconds."""

    recoverable = True


def text_of(exc: BaseException) -> str:
    """`str(exc)`, whatever it takes: some exceptions raise from ``__str__``, even what would end the process."""
    try:
        return str(exc)
    except BaseException as problem:
        if isinstance(problem, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise  # Ctrl-C arrives there, and nowhere else
        try:
            return " ".join(str(a) for a in exc.args)
        except BaseException:
            return ""
