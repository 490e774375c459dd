"""Taking secrets out of what a provider sent back: error texts quote keys, and they are stored, shown and analysed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from urllib.parse import quote

MARK = "[redacted]"
MAX_BODY = 16 * 1024
"""Characters of an error body that are kept; more is a web page, not a message."""

_KEY_SHAPES = re.compile(
    r"""
      \b(?:sk|pk|rk)-[A-Za-z0-9_*.…-]{6,}          # OpenAI, Anthropic and others; starred, as in OpenAI's 401
    | \b(?:gsk|xai|hf|gh[pousr]|github_pat|csk|nvapi|pplx|r8|fw|tvly|jina|lsv2_(?:pt|sk)|pcsk)[-_][A-Za-z0-9_*-]{8,}
    | \bAIza[0-9A-Za-z_-]{20,}                      # Google API key
    | \bya29\.[0-9A-Za-z._-]{10,}                   # Google access token
    | \bA(?:KIA|SIA)[0-9A-Z]{12,}                   # AWS access key id
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)?   # JSON web token
    """,
    re.VERBOSE,
)
_LABELLED = re.compile(
    r"""(?ix)
    ( (?<![a-z0-9]) (?:[a-z0-9]{1,32}[_-]){0,4}   # OPENAI_API_KEY, aws_secret_access_key, x-goog-api-key
      (?:authorization|api[_-]?key|access[_-]?(?:key|token)|(?:auth|session|refresh|id|bot|csrf)[_-]token|
        client[_-]?secret|password|passwd|pwd|passphrase|secret(?:[_-]key)?|private[_-]key|account[_-]?key|
        shared[_-]?access[_-]?key|[a-z0-9]{1,32}[_-]token)
      \\?["']? \s* [:=] \s* \\?["']?
      (?:(?:bearer|basic|token)\s+)?
    | \b(?:set-)?cookie: \s* [^\s=;]{1,64}=
    | \bbearer\s+
    | [?&](?:key|api[-_]?key|token|sig|signature)=
    )
    (?!\[redacted\])
    [^\s"'&,;<>\\]{6,}
    """
)
_URL_PASSWORD = re.compile(r"(?i)(\b[a-z][a-z0-9+.-]*://[^\s/:@]+:)[^\s/@]+@")

_HEADERS_KEPT = re.compile(
    r"""(?ix)^(?:
      retry-after(?:-ms)? | x-should-retry
    | (?:x-|anthropic-)?ratelimit-.* | x-ratelimit
    | (?:x-)?request-id | x-amzn-requestid | apim-request-id | x-ms-request-id | x-ms-region | cf-ray
    | date | content-type
    )$"""
)
REQUEST_ID_HEADERS = ("request-id", "x-request-id", "apim-request-id", "x-amzn-requestid", "x-ms-request-id", "cf-ray")
"""Where providers name a request, most telling first (Anthropic, OpenAI and most others, Azure, Bedrock, a proxy)."""


ANYWHERE = 6
"""Characters from which on a secret is masked wherever it occurs; a shorter one only where it stands by itself: not as
a piece of a word or number, or it would be found all over a report.
"""
SHORTEST = 4
"""Characters from which on a secret is masked at all: a PIN has four. A shorter one is a word or number of any text."""


def without(text: str, secrets: Iterable[str]) -> str:
    """`text` with `secrets` masked, as they are and as JSON and URLs write them; the longest first, for one may be a
    piece of another.
    """
    pattern = _pattern_of(tuple(secrets))
    return pattern.sub(MARK, text) if pattern is not None else text


@lru_cache(maxsize=8)
def _pattern_of(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
    found = "|".join(_standing(form) for form in sorted(forms, key=len, reverse=True))
    return re.compile(found) if found else None


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quote(secret, safe="", errors="replace")


def _standing(secret: str) -> str:
    """A pattern for a secret: anywhere if it is long, else where no letter or digit goes on at either end."""
    if len(secret) >= ANYWHERE:
        return re.escape(secret)
    before, after = r"(?<!\w)" if _is_word(secret[0]) else "", r"(?!\w)" if _is_word(secret[-1]) else ""
    return f"{before}{re.escape(secret)}{after}"


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` without anything that looks like a key, and without any of `secrets` (the keys known to be in use)."""
    text = without(text, secrets)
    text = _LABELLED.sub(lambda found: found.group(1) + MARK, text)
    text = _KEY_SHAPES.sub(MARK, text)
    return _URL_PASSWORD.sub(lambda found: f"{found.group(1)}{MARK}@", text)


def redacted_body(text: str, secrets: Iterable[str] = ()) -> str:
    """An error's body as it may be kept: redacted, and cut to `MAX_BODY` characters with a note of what is gone."""
    # Cut with a margin first (redaction of megabytes is slow), and exactly after redaction, so that no key is halved.
    clean = redact(text[: 2 * MAX_BODY], secrets)
    if len(clean) <= MAX_BODY and len(text) <= 2 * MAX_BODY:
        return clean
    return f"{clean[:MAX_BODY]} … [{len(text) - MAX_BODY} more characters]"


def telling_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of an answer that say when to come back and how to name the request; names in lower case."""
    return {name.lower(): redact(value) for name, value in headers.items() if _HEADERS_KEPT.match(name)}


def request_id_of(headers: Mapping[str, str]) -> str:
    """The provider's id of the request, empty if no known header carries one. `headers` with lower-case names."""
    return next((headers[name] for name in REQUEST_ID_HEADERS if headers.get(name)), "")
