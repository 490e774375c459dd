"""The fingerprint of an incident: equal ones have the same cause, origin, message template and place.

A template is a message without what differs from one time to the next: numbers, ids, paths, quoted values.
"""

from __future__ import annotations

import hashlib
import re

from runtime.record.state.fault_taxonomy import Classification

_VARIABLE = re.compile(
    r"""
    (?P<uuid>[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})
  | (?P<time>\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?)
  | (?P<url>https?://[^\s'"<>]+)
  | (?P<id>\b[a-z]{2,8}[_-][A-Za-z0-9]{10,}\b)
  | (?P<hex>\b(?:0x)?[0-9a-fA-F]{8,}\b)
  | (?P<path>(?<![\w.])(?:~|\.{1,2})?/[\w.@%+-]+(?:/[\w.@%+-]*)*)
  | (?P<text>'[^'\n]{1,200}'|"[^"\n]{1,200}"|`[^`\n]{1,200}`)
  | (?P<duration>(?<![A-Za-z\d])(?:\d+(?:\.\d+)?(?:ms|us|[hms]))+\b)
  | (?P<number>(?<![A-Za-z])\d+(?:[.,:]\d+)*)
    """,
    re.VERBOSE,
)
_MAX_TEMPLATE_CHARS = 2_000
"""Characters of a message that are looked at: enough to tell faults apart, bounded for hostile ones."""


def message_template(message: str) -> str:
    """`message` with what varies replaced by its kind: ``took <number> ms for <path>``."""
    return " ".join(_VARIABLE.sub(lambda m: f"<{m.lastgroup}>", message[:_MAX_TEMPLATE_CHARS]).split())


def fingerprint(fault: Classification, message: str, place: str) -> str:
    """Sixteen hex digits. `place` is where in the swarm it happened (agent and tool or model), without ordinals."""
    text = "\x1f".join((fault.cause.value, fault.origin.value, message_template(message), place))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
