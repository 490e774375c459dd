"""Ids of runs, incidents, grants, freezes: of all that is recorded under a name of its own."""

from __future__ import annotations

import secrets

_ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


def new_id(length: int = 8) -> str:
    """A short random id without letters that are read as one another."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
