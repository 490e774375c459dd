"""Errors of a failed model call in plain `run`: which of them no retry can heal."""

from __future__ import annotations

import re

from orbiter._internal.error_causes import join_with_cause, unwrap_single_group
from orbiter.errors import CallRunnerError, text_of

_CONTEXT_CODES = frozenset({"context_length", "context_length_exceeded", "request_too_large", "payload_too_large"})
_AUTH_CODES = frozenset(
    {
        "authentication_error",
        "auth",
        "auth_error",
        "authentication",
        "unauthorized",
        "invalid_api_key",
        "missing_api_key",
        "missing_key",
        "permission_error",
        "permission_denied",
        "unknown_provider",
    }
)
_AUTH_TEXT = re.compile(
    r"\b(?:invalid|incorrect|missing|no) (?:x-)?api[ _-]?key\b"
    r"|\bauthentication (?:failed|error)\b"
    r"|^(?:error code: )?40[13]\b",
    re.IGNORECASE,
)
_AUTH_STATUSES = (401, 403)


def is_context_length_error(exc: BaseException) -> bool:
    """The conversation is too long for the model (seed 000: more context will not fix it), by code or by words."""
    if getattr(exc, "code", None) in _CONTEXT_CODES:
        return True
    text = text_of(exc).lower()
    return "context_length" in text or "context length" in text


def is_authentication_error(exc: BaseException) -> bool:
    """The key is missing, wrong or not allowed to do this: by status, by the provider's code or type, or by words."""
    for name in ("status", "status_code"):
        if getattr(exc, name, None) in _AUTH_STATUSES:
            return True
    if getattr(exc, "code", None) in _AUTH_CODES or getattr(exc, "type", None) in _AUTH_CODES:
        return True
    said = getattr(exc, "message", None)
    return _AUTH_TEXT.search(text_of(exc) if said is None else str(said)) is not None


def is_not_retryable(exc: Exception) -> bool:
    """Plain `run` raises these at once, all others it tries again."""
    return is_context_length_error(exc) or is_authentication_error(exc)


def wrap_run_error(name: str, exc: Exception) -> Exception:
    """`exc` as a `CallRunnerError` that is also of its own class; one that is so already stays as it is."""
    cause = unwrap_single_group(exc)
    if isinstance(cause, CallRunnerError) or not isinstance(cause, Exception):
        return exc if not isinstance(cause, Exception) else cause
    return join_with_cause(CallRunnerError, f"Call runner failed for agent '{name}': {text_of(cause)}", cause)
