"""Every failure of a model call as one `ModelError`, built in one place for real providers and for the scripted one.

Facts only: status, the provider's own type and code, its words, its headers. What a failure means and what may be
done about it is judged elsewhere. Where a provider gives no code, ours says what was seen: `truncated`, `timeout`,
`connection_error`, `bad_response`, `context_length`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from orbiter.errors import ModelTimeoutError, cause_of
from orbiter.models.error_classes import api_error
from orbiter.models.redact import redacted_body, request_id_of, select_headers
from orbiter.models.status import phrase
from orbiter.models.types import ModelError
from orbiter.redaction import redact

Where = Literal["client", "connect", "response", "first_token", "stream"]
"""How far the call had come: before the network, connecting, at the answer, before its first content, or inside it."""

_CONTEXT_LENGTH = re.compile(
    r"""(?ix)
      prompt\ is\ too\ long                                   # Anthropic
    | input\ length\ and\ `?max_tokens`?\ exceed\ context     # Anthropic
    | exceeds?\ (?:the\ )?(?:available\ |model(?:'s)?\ |maximum\ )?context\ (?:length|size|window|limit)
    | maximum\ context\ length\ (?:is|was|of)\b              # OpenAI, OpenRouter, vLLM
    | context\ (?:length|window)\ exceed
    | context_length_exceeded
    | input\ token\ count\b.*\bexceeds                        # Gemini
    | (?:prompt|input)\ is\ too\ long\ for                    # Bedrock
    | reduce\ the\ length\ of\ the\ (?:messages|input\ prompt|prompt)
    | maximum\ prompt\ length\ is                             # xAI
    | prompt\ token\ count\ of\ \d+\ exceeds                  # GitHub Copilot
    | current\ length\ is\ \d+\ while\ limit\ is\ \d+          # Cerebras
    | expected\ maxLength:\ \d+,\ actual:\ \d+               # Bedrock
    """
)
_TITLE = re.compile(r"(?is)<title[^>]*>(.*?)</title>")


@dataclass(slots=True, frozen=True)
class CallContext:
    """Which call failed: named in every error of it."""

    provider: str
    model: str
    secrets: tuple[str, ...] = ()
    """Keys in use, never to appear in an error."""

    def build_error(
        self,
        message: str,
        *,
        code: str = "",
        type: str = "",  # noqa: A002 - the provider's word for it
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        request_id: str = "",
        body: str = "",
        where: Where = "response",
        deadline: float | None = None,
    ) -> ModelError:
        """A `ModelError` with everything redacted and the retry hint read from the headers."""
        kept = select_headers(headers or {})
        clean = " ".join(redact(message[:8000], self.secrets).split())
        if not code and status is not None and _CONTEXT_LENGTH.search(clean):
            code = "context_length"
        fields: dict[str, Any] = {
            "model": self.model,
            "code": code,
            "provider": self.provider,
            "status": status,
            "type": type,
            "headers": kept,
            "request_id": request_id or request_id_of(kept),
            "body": redacted_body(body, self.secrets),
            "retry_after": retry_after(kept),
            "where": where,
        }
        if deadline is not None:
            return ModelTimeoutError(clean, operation="model call", timeout_seconds=deadline, **fields)
        return api_error(clean, fields)

    def http_error(
        self, status: int, headers: Mapping[str, str], body: str, *, where: Where = "response", request_id: str = ""
    ) -> ModelError:
        """The provider answered with an error: an HTTP error response, or (status 200) an error event in a stream."""
        said = read_error_body(body)
        if status < 300 and not said.message and _SILENT_ERROR.fullmatch(body):
            said = ErrorBody("An error came in place of the reply, and says nothing", code="bad_response")
        return self.build_error(
            said.message or _status_text(status, body),
            code=said.code if said.code != str(status) else "",
            type=said.type,
            status=status,
            headers=headers,
            request_id=request_id or request_id_of(select_headers(headers)) or said.request_id,
            body=body,
            where=where,
        )

    def body_error(self, error: Any) -> ModelError:
        """An error body that came with status 200: its numeric code, if it has one, is the status that was meant."""
        body = error if isinstance(error, dict) else {"message": str(error)}
        code = body.get("code")
        status = code if isinstance(code, int) and 400 <= code <= 599 else 200
        where: Where = "stream" if status == 200 else "response"
        return self.http_error(status, {}, json.dumps({"error": body}, default=str), where=where)

    def truncated_error(
        self, *, request_id: str = "", headers: Mapping[str, str] | None = None, got: int = 0
    ) -> ModelError:
        """The reply ended without saying why it stopped: what came is not an answer. `got`: characters received."""
        came = f"after {got} characters" if got else "before any content"
        return self.build_error(
            f"The reply broke off {came}: it ended without a stop reason",
            code="truncated",
            type="truncated",
            status=200,
            headers=headers,
            request_id=request_id,
            where="stream",
        )

    def invalid_reply_error(self, what: str, *, status: int = 200, headers: Mapping[str, str], body: str) -> ModelError:
        """The status is good but the answer no reply of the API: a proxy's page, a captive portal, a wrong base URL."""
        page = _status_text(status, body) if _is_html(body) else ""
        return self.build_error(
            f"{what}{f' ({page})' if page else ''}; is base_url an endpoint of this API, and is a proxy in between?",
            code="bad_response",
            type="bad_response",
            status=status,
            headers=headers,
            body=body,
        )

    def timeout_error(
        self, what: str, seconds: float, *, where: Where, headers: Mapping[str, str] | None = None
    ) -> ModelError:
        """Nothing came for too long. `what` names the deadline: connect, first token, next content."""
        return self.build_error(
            f"No {what} within {seconds:g} s",
            code="timeout",
            type="timeout",
            headers=headers,
            where=where,
            deadline=seconds,
        )

    def connection_error(
        self, exc: BaseException, *, where: Where, headers: Mapping[str, str] | None = None, kind: str = ""
    ) -> ModelError:
        """The connection could not be made, or broke. The type is that of the network library's exception."""
        root = root_cause(exc)
        kind = kind or type_name(root)
        verb = "Could not connect" if where == "connect" else "The connection broke"
        return self.build_error(
            f"{verb}: {str(root) or kind}", code="connection_error", type=kind, headers=headers, where=where
        )


@dataclass(slots=True, frozen=True)
class ErrorBody:
    """What an error body says, whichever shape it has."""

    message: str = ""
    type: str = ""
    code: str = ""
    request_id: str = ""


_SILENT_ERROR = re.compile(
    r'\s*\{(?:"type":\s*"error",\s*)?"error":\s*(?:null|\{\s*\})(?:,\s*"request_id":[^,{}]*)?\s*\}\s*'
)
"""An error event without a word: ``{"type": "error", "error": null}``."""


def read_error_body(body: str) -> ErrorBody:
    """Message, type and code of an error body.

    Shapes: `{"error": {message, type, code}}` (OpenAI and compatible; Anthropic inside `{"type": "error"}`; Google with
    `status` for type, and in a list), `{"error": "text"}` (Ollama), `{message, type, code}` (Mistral, OpenAI's inner
    error), `{"detail": …}` (FastAPI, vLLM). OpenRouter's true cause in `metadata.raw` is appended to the message.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        text = "" if _is_html(body) else " ".join(body.split())
        return ErrorBody(message=text[:2000])
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return ErrorBody(message=str(data)[:2000] if data else "")
    inner = data.get("error")
    if isinstance(inner, str):
        return ErrorBody(message=inner, type=_text(data.get("type")), code=_text(data.get("code")))
    error: dict[str, Any] = inner if isinstance(inner, dict) else data
    message = _text(error.get("message")) or _text(error.get("detail")) or _text(data.get("message"))
    if not message and "detail" in error:
        message = json.dumps(error["detail"], ensure_ascii=False)
    raw = error.get("metadata", {}).get("raw") if isinstance(error.get("metadata"), dict) else None
    if raw:
        message = f"{message}: {raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)}"
    details = error.get("details")
    code = _text(error.get("code"))
    if not code and isinstance(details, dict):
        code = _text(details.get("error_code"))
    return ErrorBody(
        message=message,
        type=_text(error.get("type")) or _text(error.get("status")),
        code=code,
        request_id=_text(data.get("request_id")),
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the standard headers say; None where they say nothing usable.

    `retry-after-ms` wins over `retry-after` (Azure sends both, the first is finer); seconds may be fractional, dates
    are HTTP dates (RFC 9110, 10.2.3), taken relative to the answer's own `date` a wrong clock here does no harm.
    Negative numbers and nonsense say nothing. `headers` with lower-case names.
    """
    ms = _number(headers.get("retry-after-ms"))
    if ms is not None:
        return ms / 1000.0
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    then = _http_date(value)
    if then is None:
        return None
    now = _http_date(headers.get("date", "")) or datetime.now(UTC)
    return max(0.0, (then - now).total_seconds())


def type_name(exc: BaseException) -> str:
    """``httpx2.ReadError``: the top package and the class, as tables of errors name them."""
    kind = type(exc)
    package = kind.__module__.partition(".")[0]
    return kind.__qualname__ if package == "builtins" else f"{package}.{kind.__qualname__}"


def root_cause(exc: BaseException) -> BaseException:
    """The network library's exception behind an SDK's wrapper of it, which says no more than "Connection error."."""
    cause = cause_of(exc)
    wrapped = type(exc).__module__.partition(".")[0] in {"anthropic", "openai"}
    return cause if wrapped and isinstance(cause, Exception) else exc


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value else None
    except ValueError:
        return None
    # nan and inf are numbers to `float`, but no time to wait.
    return number if number is not None and 0.0 <= number < 1e9 else None


def _http_date(value: str) -> datetime | None:
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError):
        return None
    return when if when.tzinfo is not None else when.replace(tzinfo=UTC)


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _is_html(body: str) -> bool:
    return body.lstrip()[:200].lower().startswith(("<!doctype html", "<html", "<head", "<body"))


def _status_text(status: int, body: str) -> str:
    """Words for an answer that brings none of its own: an HTML page's title, else the status' name."""
    title = _TITLE.search(body[:20_000]) if _is_html(body) else None
    if title and title.group(1).strip():
        return " ".join(title.group(1).split())
    name = phrase(status)
    return f"{status} {name}" if name else f"HTTP status {status}"
