"""The option `--state`, wherever it stands: what it names must be a directory, or not be there yet."""

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


def missing_state(path: str) -> str:
    """What is told of a state directory that was named to read from and is missing; empty where it is there.

    The verb goes on: the first run makes the directory, and programs ask while they wait for that run.
    """
    if os.path.lexists(path):
        return ""
    return f"--state names a directory that is missing: {path}. Nothing was run there yet, or it is mistyped."
