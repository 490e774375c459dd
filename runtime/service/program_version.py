"""The version of the program, for locks, logs and hello.

Apart from `serve`: a console says it without loading a runtime.
"""

from __future__ import annotations

import hashlib
from importlib.metadata import PackageNotFoundError, distribution, version

PROGRAM_NAME = "orbiter-console"


def program_version() -> str:
    """Our name and version."""
    try:
        return f"{PROGRAM_NAME} {version(PROGRAM_NAME)}"
    except PackageNotFoundError:
        return PROGRAM_NAME


def installed_fingerprint() -> str:
    """What is installed under our name at this moment: its version, and a digest of the list of its files with their
    digests. Empty where nothing is, as in the middle of an upgrade.
    """
    try:
        found = distribution(PROGRAM_NAME)
        record = found.read_text("RECORD") or ""
        return f"{found.version} {hashlib.sha256(record.encode()).hexdigest()}"
    except (PackageNotFoundError, OSError, KeyError):
        return ""
