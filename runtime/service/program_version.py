"""What we are called, for locks, logs and hello. Apart from `serve`: a console says it without loading a runtime."""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError, distribution, version

NAME = "orbiter-console"


def program() -> str:
    """Our name and version."""
    try:
        return f"{NAME} {version(NAME)}"
    except PackageNotFoundError:
        return NAME


def installed() -> str:
    """What is installed under our name at this moment: its version, and a digest of the list of its files with their
    digests. Empty where nothing is, as in the middle of an upgrade.
    """
    try:
        found = distribution(NAME)
        record = found.read_text("RECORD") or ""
        return f"{found.version} {hashlib.sha256(record.encode()).hexdigest()}"
    except (PackageNotFoundError, OSError, KeyError):
        return ""
