"""What is kept of a provider's answer in an error: its body, cut and without secrets, and telling headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from orbiter.redaction import redact

MAX_BODY = 16 * 1024
"""Characters of an error body that are kept; more is a web page, not a message."""

_HEADERS_KEPT = re.compile(
    r"""(?ix)^(?:
      (?:x-[a-z-]{0,20})?retry-after(?:-ms)? | x-should-retry
    | (?:[a-z]{1,20}-){0,3}rate-?limit.{0,60}
    | (?:x-)?request-id | x-amzn-requestid | apim-request-id | x-ms-request-id | x-ms-region | cf-ray
    | date | content-type
    )$"""
)
REQUEST_ID_HEADERS = ("request-id", "x-request-id", "apim-request-id", "x-amzn-requestid", "x-ms-request-id", "cf-ray")
"""Where providers name a request, most telling first (Anthropic, OpenAI and most others, Azure, Bedrock, a proxy)."""


def redacted_body(text: str, secrets: Iterable[str] = ()) -> str:
    """An error's body as it may be kept: redacted, and cut to `MAX_BODY` characters with a note of what is gone."""
    # Cut with a margin first (redaction of megabytes is slow), and exactly after redaction, so that no key is halved.
    clean = redact(text[: 2 * MAX_BODY], secrets)
    if len(clean) <= MAX_BODY and len(text) <= 2 * MAX_BODY:
        return clean
    return f"{clean[:MAX_BODY]} … [{len(text) - MAX_BODY} more characters]"


def select_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an answer that say when to come back and how to name the request; names in lower case."""
    return {name.lower(): redact(value) for name, value in headers.items() if _HEADERS_KEPT.match(name)}


def request_id_of(headers: Mapping[str, str]) -> str:
    """The provider's id of the request, empty if no known header carries one. `headers` with lower-case names."""
    return next((headers[name] for name in REQUEST_ID_HEADERS if headers.get(name)), "")
