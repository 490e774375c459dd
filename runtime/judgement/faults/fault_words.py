"""What a failure says of itself, in words that may be shown: without secrets, and cut where it is long."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from orbiter.parsing.nesting import is_deeper
from orbiter.redaction import REDACTED, Redactor, redact
from runtime.judgement.faults import cause_text
from runtime.judgement.faults.evidence import MAX_TEXT, Evidence, as_text
from runtime.record.state.fault_taxonomy import Cause

_QUOTED_KEY = re.compile(
    r"(?i)(\b(?:api[ _-]?key|token|credential|password)s?(?: provided)?\s?[:=]\s?)(?!\d+\b)['\"]?[^\s'\",]{8,}"
)
_MAX_CONTEXT = 40
_MAX_LEVELS = 20
# Entries of an error's context that are kept.
_ANSWER_FIELDS = frozenset(
    {
        "provider", "status", "status_code", "type", "headers", "body", "retry_after", "where", "model", "code",
        "raw_response", "api_error_code", "api_error_type", "classification", "agent_name", "is_retryable",
        "suggested_action",
    }
)  # fmt: skip
# What an adapter notes of a provider's answer: evidence, whose facts have fields of their own here.


def error_context(found: Evidence, secrets: Sequence[str] = ()) -> dict[str, Any]:
    """What an error carries, as JSON without secrets; what has no form in JSON as text."""
    known = _ANSWER_FIELDS if "ModelError" in found.names else frozenset()
    kept = {as_text(name)[:100]: value for name, value in found.context.items() if name not in known}
    first = dict(list(kept.items())[:_MAX_CONTEXT])
    plain = plain_json(first)
    masked = Redactor(secrets=secrets, addresses=False).value(plain)
    return {name: _cut_long(value) for name, value in masked.items()}


def plain_json(facts: Mapping[Any, Any]) -> dict[str, Any]:
    """Facts that user code gives, as JSON; what has no form there, or is nested beyond `_MAX_LEVELS`, as text."""
    try:
        plain = json.loads(json.dumps(dict(facts), default=as_text, allow_nan=False, skipkeys=True))
    except (ValueError, TypeError, RecursionError):
        plain = {as_text(name): as_text(value) for name, value in facts.items()}
    return {name: as_text(value) if is_deeper(value, _MAX_LEVELS) else value for name, value in plain.items()}


def _cut_long(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= MAX_TEXT else shortened(text)


def shortened(text: str) -> str:
    """A text of user code as it is kept for lists and pages: of a long one its beginning, and how long it was. Secrets
    are masked before it: half of one is not found.
    """
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text):,} characters)"


def error_message(exc: BaseException) -> str:
    """What an error says; its class where it says nothing."""
    return str(exc) or type(exc).__name__


def redact_words(text: str) -> str:
    """`text` without secrets, also without keys that a provider quotes back in part."""
    return _QUOTED_KEY.sub(lambda found: found[1] + REDACTED, redact(text))


def user_message(found: Evidence, cause: Cause) -> str:
    """What happened, in one sentence: the cause, and the first line of what the failure says."""
    sentence = cause_text.CAUSE_TEXT[cause]
    first = next((line.strip() for line in found.message.splitlines() if line.strip()), "")
    said = redact_words(first)
    if not said or said.lstrip().startswith(("<", "{")):
        return f"{sentence}." if not found.provider else f"{sentence} ({found.provider})."
    return f"{sentence}: {said[:300]}"


def technical_message(found: Evidence) -> str:
    """The type, status, code and place of a failure, with all of its words."""
    parts = [
        found.names[0] if found.names else "",
        f"HTTP {found.status}" if found.status else "",
        found.code,
        f"during {found.where}" if found.where else "",
    ]
    facts = ", ".join(p for p in parts if p)
    words = redact_words(found.message or found.text)
    return f"{facts}: {words}" if facts and words else facts or words


def all_suggestions(found: Evidence, cause: Cause, ruled: tuple[str, ...]) -> tuple[str, ...]:
    """What may be done: as the failure itself says, then its rule, then its cause; each once."""
    own = (redact_words(found.suggestion),) if found.suggestion else ()
    return tuple(dict.fromkeys([*own, *ruled, *cause_text.CAUSE_ADVICE.get(cause, ())]))
