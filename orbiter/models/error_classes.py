"""Which class of seed 003 a provider's answer is, with the words and flags that its ``except`` clauses read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orbiter.errors import ModelAPIError, ModelRateLimitError

_BY_STATUS = {
    400: "invalid_request",
    401: "authentication_failed",
    402: "insufficient_credits",
    403: "permission_denied",
    404: "invalid_model",
    408: "timeout",
    413: "request_too_large",
    422: "invalid_request",
    429: "rate_limit",
    503: "service_unavailable",
    504: "timeout",
    529: "service_unavailable",
}
_BY_CODE = {
    "insufficient_quota": "insufficient_credits",
    "billing_hard_limit_reached": "insufficient_credits",
    "billing_error": "insufficient_credits",
    "context_length": "context_length",
    "context_length_exceeded": "context_length",
    "request_too_large": "request_too_large",
    "payload_too_large": "request_too_large",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "authentication_error": "authentication_failed",
    "invalid_api_key": "authentication_failed",
    "permission_error": "permission_denied",
    "not_found_error": "invalid_model",
    "model_not_found": "invalid_model",
    "overloaded_error": "service_unavailable",
    "timeout_error": "timeout",
    "connection_error": "network_error",
    "truncated": "network_error",
}
_VAGUE = frozenset({"api_error", "server_error"})
"""Words that say less than a status: servers and proxies send them with a refused key and with a rate limit too."""
_TOO_LARGE = ("request_too_large", "payload too large", "request exceeds the maximum", "request body is too large")
"""Words by which seed 003 knows a payload that is too large, whatever the status is."""
_RETRYABLE = frozenset({"rate_limit", "server_error", "service_unavailable", "timeout", "network_error"})
_SUGGESTIONS = {
    "rate_limit": "Wait {wait} or use a different API key.",
    "insufficient_credits": "Add credit to the provider's account, or use another model.",
    "authentication_failed": "Check the API key of the provider.",
    "permission_denied": "Check what the API key may do, and the provider's message.",
    "invalid_model": "Check the model's name.",
    "invalid_request": "Correct the request as the provider's message says.",
    "request_too_large": "Send less: fewer or smaller messages and images.",
    "context_length": "Shorten the conversation, or use a model with a longer context.",
    "server_error": "Wait {wait} and try again.",
    "service_unavailable": "Wait {wait} and try again.",
    "timeout": "Wait {wait} and try again.",
    "network_error": "Check the connection to the provider, and try again.",
}


def api_error(message: str, fields: Mapping[str, Any]) -> ModelAPIError:
    """The error of a call that a service failed: `ModelRateLimitError` where it limits the rate.

    Args:
        message: What the provider said, or what was seen.
        fields: What `ModelError` takes: `status`, `code`, `type`, `retry_after`, …
    """
    word = _classification(message, fields)
    retry_after = fields.get("retry_after")
    wait = f"{retry_after:g} s" if retry_after is not None else "a little"
    kind = ModelRateLimitError if word == "rate_limit" else ModelAPIError
    return kind(
        message,
        error_code=fields.get("code") or fields.get("type") or None,
        recoverable=word in _RETRYABLE,
        classification=word,
        is_retryable=word in _RETRYABLE,
        suggested_action=_SUGGESTIONS[word].format(wait=wait) if word in _SUGGESTIONS else None,
        **fields,
    )


def _classification(message: str, fields: Mapping[str, Any]) -> str:
    """The provider's own code and type before the status: a spent quota comes with the status of a rate limit."""
    text = message.lower()
    if any(words in text for words in _TOO_LARGE):
        return "request_too_large"
    said = [str(fields.get(name) or "").lower() for name in ("code", "type")]
    for word in said:
        if word in _BY_CODE:
            return _BY_CODE[word]
    status = fields.get("status") or 0
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return "server_error" if 500 <= status < 600 or not _VAGUE.isdisjoint(said) else "unknown"
