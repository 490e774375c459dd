"""Ids of runs, incidents, grants and freezes."""

from __future__ import annotations

import secrets

_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


def new_id(length: int = 8) -> str:
    """A short random id without letters that are read as one another."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
