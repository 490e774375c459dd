"""Errors of calls: tools, services, models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orbiter._internal.errors.agents import ToolError
from orbiter._internal.errors.base import OrbiterError
from orbiter._internal.errors.categories import TimeoutError  # noqa: A004 - seed 003 names it so


class ToolExecutionError(ToolError):
    """Tool function execution failures.

    Takes a message, or, as in seed 000's sample, the tool's name and what it raised: ``ToolExecutionError(name, exc)``.

    Args:
        message: What went wrong, or the tool's name where `error_code` is an exception.
        error_code: A stable code for programs, or the exception that the tool raised.
        *args: As of `OrbiterError`.
        **kw: As of `OrbiterError`, and the attributes below.

    Attributes:
        tool_name: The tool's name.
        tool_args: What it was called with.
        execution_error: The text of what it raised.

    Examples:
        >>> from orbiter.errors import ToolExecutionError
        >>> str(ToolExecutionError("search", ValueError("no index")))
        "Tool 'search' failed: no index"
    """

    tool_name: str | None = None
    tool_args: Mapping[str, Any] | None = None
    execution_error: str | None = None

    def __init__(
        self, message: object = "", error_code: str | BaseException | None = None, *args: Any, **kw: Any
    ) -> None:
        if isinstance(error_code, BaseException):
            kw.setdefault("tool_name", str(message))
            said = str(error_code) or type(error_code).__name__
            kw.setdefault("execution_error", said)
            message, error_code = f"Tool '{message}' failed: {said}", None
        super().__init__(message, error_code, *args, **kw)


class ToolCallError(ToolError):
    """Tool call format errors (malformed arguments, missing required fields). The model is told, and calls again.

    Attributes:
        tool_name: The tool that the model named.
        available_tools: The tools that there are.
        tool_call_id: The id of the call.

    Examples:
        >>> from orbiter.errors import ToolCallError
        >>> ToolCallError("'text' is missing", tool_name="search").recoverable
        True
    """

    recoverable = True
    tool_name: str | None = None
    available_tools: tuple[str, ...] | list[str] | None = None
    tool_call_id: str | None = None


class APIError(OrbiterError):
    """External API failures.

    Attributes:
        retry_after: The server's hint, in seconds.
        status_code: HTTP status; None where no answer came.

    Examples:
        >>> from orbiter.errors import APIError
        >>> APIError("The service is down", status_code=503).context
        {'status_code': 503}
    """

    retry_after: float | None = None
    status_code: int | None = None


class RateLimitError(APIError):
    """API rate limit exceeded.

    Examples:
        >>> from orbiter.errors import RateLimitError
        >>> error = RateLimitError("10000 tokens a minute are used up", retry_after=60)
        >>> error.context["retry_after"], error.recoverable
        (60, True)
    """

    recoverable = True


class ModelError(OrbiterError):
    """A model provider's failure. `str()` is ``[{model}] {msg}``, or ``{msg}`` where no model is known.

    Args:
        msg: The failure in words, without the model's name.
        model: The model's name.
        code: The provider's own code (``context_length_exceeded``, ``overloaded_error``, …).
        **rest: The attributes below, and what `OrbiterError` takes.

    Attributes:
        provider: The provider's name, as in a model string.
        status: HTTP status; None where no response came. Also in `context` as ``status_code``.
        type: The provider's own error type.
        headers: Response headers that matter (retry hints, request ids), names in lower case.
        request_id: The provider's id of the request.
        body: The response's body as text, redacted.
        retry_after: The server's hint, in seconds.
        where: The part of the call that failed: ``connect``, ``request``, ``first_token``, ``stream``, ….

    Examples:
        >>> from orbiter.errors import ModelError
        >>> str(ModelError("Overloaded", model="claude-sonnet-4-5", status=529))
        '[claude-sonnet-4-5] Overloaded'
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
        super().__init__(msg, *args, **{name: value for name, value in rest.items() if value not in (None, "")})
        self.model = model
        self.code = code
        if self.status is not None:
            self.context.setdefault("status_code", self.status)
        for name, value in (("model", model), ("code", code)):
            if value:
                self.context.setdefault(name, value)
        self.args = (f"[{model}] {msg}" if model else msg,)


class ModelAPIError(ModelError, APIError):
    """A provider's service failed: it answered with an error, or could not be reached. The names are seed 003's.

    `classification` is a word such as ``request_too_large`` or ``rate_limit``. `status_code`, `api_error_code`,
    `api_error_type` and `raw_response` are other names of `status`, `code`, `type` and `body`.

    Args:
        msg: The failure in words.
        *args: As of `ModelError`.
        status_code: Another name of `status`.
        api_error_code: Another name of `code`.
        api_error_type: Another name of `type`.
        raw_response: Another name of `body`.
        **rest: As of `ModelError`, and the attributes below.

    Attributes:
        api_endpoint: The address that was asked.
        classification: What happened, in a word of seed 003.
        is_retryable: Whether the same request can succeed later.
        suggested_action: What to do, in the provider's words.

    Examples:
        >>> from orbiter import Agent, run
        >>> from orbiter.errors import ModelAPIError
        >>> from orbiter.models import Fault, script
        >>> _ = script("full", [Fault(413)])
        >>> try:
        ...     run.sync(Agent(name="clerk", model="scripted:full"), "Read all of it.", max_retries=1)
        ... except ModelAPIError as error:
        ...     print(error.classification)
        request_too_large
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
    """A provider's rate limit: a `ModelError` that ``except RateLimitError`` catches too.

    Attributes:
        classification: Always ``rate_limit``.
        is_retryable: Always True.
    """

    classification: str = "rate_limit"
    is_retryable: bool = True


class ModelTimeoutError(ModelError, TimeoutError):
    """A deadline of ours passed while a provider was silent. Times in seconds."""

    recoverable = True
