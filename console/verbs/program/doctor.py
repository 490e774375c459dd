"""`doctor`: whether this installation, this terminal and this workspace are in order, one line for each thing."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final

import click

from console.checks import (
    installation,
    mcp_servers,
    queue,
    settings,
    state,
    terminal,
    traces,
)
from console.checks.finding import (
    Check,
    CheckContext,
    Finding,
    TimedChecks,
)
from console.exit_codes import FAILED
from console.output import print_json, print_line, supports_unicode
from console.verbs.base import verb
from console.workspace import workspace
from runtime.record.journal import JournalError
from runtime.record.places import journal_exists, journal_name, open_journal
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS

CHECKS: Final[dict[str, Check]] = {
    "python": installation.check_python,
    "program": installation.check_program,
    "terminal": terminal.check_terminal,
    "colours": terminal.check_colors,
    "locale": terminal.check_locale,
    "multiplexer": terminal.check_multiplexer,
    "state": state.check_state_directory,
    "disk": state.check_disk,
    "runtime": state.check_runtime,
    "journal": state.check_journal,
    "queue": queue.check_queue,
    "settings": settings.check_settings,
    "keymap": settings.check_keymap,
    "theme": settings.check_themes,
    "keys": settings.check_provider_keys,
    "ssh": settings.check_ssh,
    "mcp": mcp_servers.check_mcp_servers,
    "traces": traces.check_traces,
}
CHECK_LIMIT_S: Final = {"journal": 300.0, "mcp": 120.0}
"""Seconds for those that have work to do; the others only ask."""


@verb()
@click.option("--backup", metavar="FILE", help="Also write a copy of the journal to this file; runs go on meanwhile.")
@click.option("--rebuild", is_flag=True, help="Also make the summaries of all runs again from their events.")
async def doctor(*, backup: str | None, rebuild: bool, as_json: bool) -> int:
    """Check this installation, this terminal and this workspace, and say what to do.

    Python and packages, colours and locale, the state directory and every page and event of the journal, the runtime,
    orbiter.toml, keys and themes, the keys of providers (that they are there, not that they are valid), ssh, and
    whether the approved MCP servers answer. It starts no runtime, and changes nothing except with --backup and
    --rebuild. Exits with 1 if a check fails.
    """
    tell = emit_finding if as_json else finding_printer()
    limited = TimedChecks(CheckContext(os.environ, workspace()))
    worst = 0
    for finding in _all(limited):
        tell(finding)
        worst = FAILED if finding.state == "fail" else worst
    if backup is not None or rebuild:
        async for finding in _maintain_journal(backup, rebuild=rebuild):
            tell(finding)
            worst = FAILED if finding.state == "fail" else worst
    if limited.left:
        sys.stdout.flush()
        os._exit(worst)  # what does not come back would be waited for
    return worst


def _all(limited: TimedChecks) -> Iterator[Finding]:
    for name, check in CHECKS.items():
        yield from limited.findings(name, check, CHECK_LIMIT_S.get(name, 20.0))


def emit_finding(finding: Finding) -> None:
    """As one line of JSON."""
    print_json(finding._asdict())


def finding_printer() -> Callable[[Finding], None]:
    """Prints findings for a reader: sign and word, what was found, and below it what to do."""
    glyphs = UNICODE_GLYPHS if supports_unicode() else ASCII_GLYPHS
    signs = {"ok": glyphs.state["succeeded"], "warn": glyphs.warning, "fail": glyphs.state["failed"]}
    styles = {"ok": "", "warn": "yellow", "fail": "red"}

    def tell(finding: Finding) -> None:
        print_line(
            f"{signs[finding.state]} {finding.state:5}{finding.id}: {finding.detail}", style=styles[finding.state]
        )
        if finding.advice:
            print_line(f"       -> {finding.advice}")

    return tell


async def _maintain_journal(backup: str | None, *, rebuild: bool) -> AsyncIterator[Finding]:
    place, name = workspace().state, "backup" if backup is not None else "summaries"
    if not journal_exists(place):
        yield Finding(name, "fail", f"{journal_name(place)} does not exist", "nothing was run here yet")
        return
    try:
        async with await open_journal(place) as journal:
            if backup is not None:
                await journal.backup(backup)
                yield Finding("backup", "ok", f"written to {backup}")
            if rebuild:
                yield Finding("summaries", "ok", f"{await journal.rebuild_summaries()} made again from their events")
    except JournalError as exc:
        yield Finding(name, "fail", str(exc))
