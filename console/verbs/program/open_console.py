"""The console as the verb that runs without a name, on this workspace or on remote ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec.structs import replace

from console.exit_codes import BAD_INPUT, FAILED
from console.open import open_console
from console.output import print_note
from console.preferences.loader import workspace_preferences
from console.preferences.schema import Preferences
from console.preferences.state_file import saved_theme
from console.workspace import workspace
from orbiter.errors import ConfigurationError, OrbiterError
from screens.shell import streams
from themes.choice import THEME_ENV, ThemeError, UnknownTheme, choose_theme

if TYPE_CHECKING:
    from runtime.judgement.reports.export_file import Export


def has_screen() -> bool:
    """Whether a screen can be painted: a terminal on both sides, and one that can do more than write lines."""
    return streams.stdin().isatty() and streams.stdout().isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")


def open_for_terminal(
    *,
    hosts: Sequence[str],
    viewer: bool,
    start: bool,
    embedded: bool,
    mouse: bool | None,
    theme: str | None,
    linear: bool = False,
) -> int:
    """Open the console, here or on hosts; its exit code. In lines if it is to be so, or where no screen can be painted
    and yet a person is there to be asked.
    """
    if hosts and embedded:
        print_note("--embedded keeps the runtime here, --host has it elsewhere: give one of them")
        return BAD_INPUT
    if not hosts:
        if viewer or start:
            print_note("--viewer and --start are for --host")
            return BAD_INPUT
        if linear or not has_screen():
            from console.linear.operators import has_person  # what a screen does without, and is there sooner for it
            from console.verbs.base import run_verb
            from console.verbs.decisions.inbox import inbox

            if linear or has_person():
                return run_verb(inbox)
        return open_here(embedded=embedded, mouse=mouse, theme=theme)
    from console.remote import open_hosts  # what a console on this machine does without, and is there sooner for it
    from console.verbs.program.hosts import host_transports
    from runtime.config.loader import load_configuration
    from runtime.link.transports.ssh_host import InvalidHost

    try:
        ways = host_transports(hosts, load_configuration(workspace().root), viewer=viewer)
    except (InvalidHost, ConfigurationError) as exc:
        print_note(str(exc))
        return BAD_INPUT
    return _opened(
        theme,
        lambda chosen, preferred: open_hosts(ways, start=start, mouse=mouse, theme=chosen, preferences=preferred),
    )


def open_here(
    *,
    embedded: bool = False,
    mouse: bool | None = None,
    run_id: str = "",
    theme: str | None = None,
    guide: bool = True,
) -> int:
    """Open the console, at `run_id` if one is named; its exit code. What keeps it from opening is said on stderr.
    `guide`: whether the demo's tour is shown.
    """
    return _opened(
        theme,
        lambda chosen, preferred: open_console(
            workspace(),
            embedded=embedded,
            mouse=mouse,
            run_id=run_id,
            theme=chosen,
            preferences=replace(preferred, guide=guide),
        ),
    )


def open_export(export: Export, path: str, *, mouse: bool | None = None, theme: str | None = None) -> int:
    """Open the console on an export: its run, and nothing to act on. The exit code."""
    from console.open import make_client, run_app
    from runtime.service.export_viewer import ExportViewer

    with ExitStack() as stack:
        return _opened(
            theme,
            lambda chosen, preferred: run_app(
                lambda: make_client(stack.enter_context(ExportViewer(export, path)).transport()),
                run_id=export.header.run_id,
                mouse=mouse,
                theme=chosen,
                preferences=preferred,
                goes_on=False,
                opening="reading the export",
                who_may="this is an export, a file: no run is behind it",
            ),
        )


def _opened(theme: str | None, console: Callable[[str, Preferences], int]) -> int:
    try:
        preferred = workspace_preferences()
        chosen = _theme(theme, preferred)
    except (ThemeError, ConfigurationError) as exc:
        print_note(str(exc))
        return BAD_INPUT
    if not has_screen():
        print_note("the console needs a terminal; without one there are: orbiter-console runs, incidents, answer, run")
        return BAD_INPUT
    try:
        return console(chosen, preferred)
    except ThemeError as exc:
        print_note(str(exc))
        return BAD_INPUT
    except (OrbiterError, OSError, ValueError) as exc:
        print_note(str(exc))
        return FAILED


def _theme(asked: str | None, preferred: Preferences) -> str:
    """The theme to show: asked for now, configured, chosen in the console the last time, or by the terminal."""
    own = workspace().themes(os.environ).own
    if asked is not None or os.environ.get(THEME_ENV) or os.environ.get("NO_COLOR"):
        return choose_theme(os.environ, asked, own)
    if preferred.theme:
        try:
            return choose_theme(os.environ, preferred.theme, own)
        except UnknownTheme as exc:
            place = f"{preferred.source('console', 'theme')}: console.theme"
            raise UnknownTheme(str(exc).replace("--theme", place, 1)) from exc
    try:
        return choose_theme(os.environ, saved_theme(os.environ) or None, own)
    except UnknownTheme:  # it was the user's own, and is gone
        return choose_theme(os.environ, None, own)
