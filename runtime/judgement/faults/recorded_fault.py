"""A failure that was recorded, raised again: it is judged as it was when it happened."""

from __future__ import annotations

from orbiter.errors import ModelError, ToolError
from runtime.record.state.fault_taxonomy import Classification


class RecordedFault(Exception):
    """The cause of an error that a replay raises: the facts of the failure, as they were recorded."""

    def __init__(self, fault: Classification) -> None:
        super().__init__(fault.technical or fault.user_message)
        self.fault = fault


def recorded_fault(exc: BaseException) -> Classification | None:
    """The recorded facts of an error; None where it was not raised from a record."""
    cause = exc.__cause__
    return cause.fault if isinstance(cause, RecordedFault) else None


def error_from_record(fault: Classification, kind: str, model: str = "") -> Exception:
    """The error that a step raises again, of the class that user code catches; raise it as it is.

    Args:
        fault: The recorded facts.
        kind: The step's kind: `llm`, `tool` or `value`.
        model: The model that was asked; empty for other steps.
    """
    text = fault.technical or fault.user_message
    error: Exception
    if kind == "llm":
        error = ModelError(
            text,
            model=model,
            code=fault.code,
            status=fault.http_status,
            provider=fault.provider,
            retry_after=fault.retry_after_s,
        )
    else:
        error = ToolError(text)
    error.__cause__ = RecordedFault(fault)
    return error
