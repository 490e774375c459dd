"""What we are called, for locks, logs and hello. Apart from `serve`: a console says it without loading a runtime."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def program() -> str:
    """Our name and version."""
    try:
        return f"orbiter-console {version('orbiter-console')}"
    except PackageNotFoundError:
        return "orbiter-console"
