"""Masking secrets in texts and values: one table of what a secret looks like, for everything that is stored, logged,
analysed, exported and shown.

A secret is found by its value (`secrets`), by its own shape (`shapes`), or by what it is called (`labels`, `names`); in
the text as it stands, with the escapes of JSON, URLs and HTML undone, and inside Base64. All that reads a text takes
time in proportion to its length. Masking what is masked changes nothing.

Imports the standard library only.
"""

from orbiter.redaction.held_secrets import held_secrets, hold_secrets
from orbiter.redaction.known_secrets import MIN_LENGTH_ANYWHERE, MIN_SECRET_LENGTH, environment_secrets, mask_secrets
from orbiter.redaction.redactor import BadPattern, Redactor, redact
from orbiter.redaction.spans import REDACTED

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
