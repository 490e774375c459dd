"""Masking secrets in texts and values: one table of what a secret looks like, for everything that is stored, logged,
analysed, exported and shown.

A secret is found by its value (`secrets`), by its own shape (`shapes`), or by what it is called (`labels`, `names`); in
the text as it stands, with the escapes of JSON, URLs and HTML undone, and inside Base64. All that reads a text takes
time in proportion to its length. Masking what is masked changes nothing.

Imports the standard library only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orbiter.redaction.held_secrets import held_secrets, hold_secrets
from orbiter.redaction.known_secrets import MIN_LENGTH_ANYWHERE, MIN_SECRET_LENGTH, environment_secrets, mask_secrets
from orbiter.redaction.spans import REDACTED

if TYPE_CHECKING:
    from orbiter.redaction.redactor import BadPattern, Redactor, redact

__all__ = [
    "MIN_LENGTH_ANYWHERE",
    "MIN_SECRET_LENGTH",
    "REDACTED",
    "BadPattern",
    "Redactor",
    "environment_secrets",
    "held_secrets",
    "hold_secrets",
    "mask_secrets",
    "redact",
]


def __getattr__(name: str) -> Any:
    if name not in {"BadPattern", "Redactor", "redact"}:
        raise AttributeError(f"module 'orbiter.redaction' has no attribute {name!r}")
    from orbiter.redaction import redactor  # its patterns are compiled where something is masked

    return getattr(redactor, name)
