"""No verb at all: the console, on the workspace of the current directory or on those of other machines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from console.cli import BAD_INPUT, FAILED
from console.open import open_console
from console.output import note
from console.workspace import workspace
from orbiter.errors import ConfigurationError, OrbiterError
from themes.choice import ThemeError, chosen
from themes.shelf import Shelf, places


def has_screen() -> bool:
    """Whether a screen can be painted: a terminal on both sides, and one that can do more than write lines."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")


def open_it(
    *, hosts: Sequence[str], viewer: bool, start: bool, embedded: bool, mouse: bool | None, theme: str | None
) -> int:
    """Open the console, here or on hosts; its exit code."""
    if hosts and embedded:
        note("--embedded keeps the runtime here, --host has it elsewhere: give one of them")
        return BAD_INPUT
    if not hosts:
        if viewer or start:
            note("--viewer and --start are for --host")
            return BAD_INPUT
        return open_here(embedded=embedded, mouse=mouse, theme=theme)
    from console.remote import open_hosts  # what a console on this machine does without, and is there sooner for it
    from console.verbs.hosts import transports
    from runtime.link.ssh import BadHost
    from runtime.work.configuration import load

    try:
        ways = transports(hosts, load(workspace().root), viewer=viewer)
    except (BadHost, ConfigurationError) as exc:
        note(str(exc))
        return BAD_INPUT
    return _opened(theme, lambda looks: open_hosts(ways, start=start, mouse=mouse, theme=looks))


def open_here(*, embedded: bool = False, mouse: bool | None = None, run_id: str = "", theme: str | None = None) -> int:
    """Open the console, at `run_id` if one is named; its exit code. What keeps it from opening is said on stderr."""
    return _opened(
        theme, lambda looks: open_console(workspace(), embedded=embedded, mouse=mouse, run_id=run_id, theme=looks)
    )


def _opened(theme: str | None, console: Callable[[str], int]) -> int:
    try:
        looks = chosen(os.environ, theme, Shelf(places(os.environ, workspace().state)).own)
    except ThemeError as exc:
        note(str(exc))
        return BAD_INPUT
    if not has_screen():
        note("the console needs a terminal; without one there are: orbiter-console runs, incidents, answer, run")
        return BAD_INPUT
    try:
        return console(looks)
    except ThemeError as exc:
        note(str(exc))
        return BAD_INPUT
    except (OrbiterError, OSError, ValueError) as exc:
        note(str(exc))
        return FAILED
