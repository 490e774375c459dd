"""The option `--state`, wherever it stands: what it names must be a directory, or not be there yet; for a verb that
only reads it must be there.
"""

from __future__ import annotations

import os

import click


def check_state(path: str) -> None:
    """Refuse what is something else than a directory.

    Raises:
        click.UsageError: it is.
    """
    if os.path.lexists(path) and not os.path.isdir(path):  # noqa: PTH112 - pathlib costs start-up time
        raise click.UsageError(
            f"{path} must be a directory, in which all that is kept of a workspace lies: move the file away, or name"
            " another with --state DIR"
        )


def check_state_exists(path: str) -> None:
    """Refuse a state directory that was named to read from, and cannot be: it may be mistyped.

    Raises:
        click.UsageError: it is missing, or cannot be looked at.
    """
    try:
        os.stat(path)  # noqa: PTH116 - as above
    except OSError as exc:
        raise click.UsageError(f"cannot read what --state names: {exc.strerror or exc}: {path}") from exc
