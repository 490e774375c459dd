"""`doctor`: whether this installation and this workspace are in order, one line for each thing looked at."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from collections.abc import AsyncIterator
from importlib.metadata import PackageNotFoundError, version
from typing import Literal, NamedTuple

import click

from console.cli import FAILED
from console.output import emit, say, speaks_unicode
from console.verbs.frame import verb
from console.workspace import workspace
from runtime.record import lock
from runtime.record.journal import JournalError
from runtime.record.sqlite import SqliteJournal

PACKAGES = ("textual", "rich", "pydantic", "httpx", "anthropic", "openai", "aiosqlite", "click")
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")


class Finding(NamedTuple):
    id: str
    state: Literal["ok", "note", "failed"]
    detail: str


@verb()
@click.option("--backup", metavar="FILE", help="Also write a copy of the journal there, while others work on.")
@click.option("--rebuild", is_flag=True, help="Also make the summaries of all runs anew from their events.")
async def doctor(*, backup: str | None, rebuild: bool, as_json: bool) -> int:
    """Check this installation and this workspace: versions, keys, and every page and event of the journal."""
    worst = 0
    async for finding in _findings(backup, rebuild=rebuild):
        if as_json:
            emit(finding._asdict())
        else:
            say(f"{finding.state:7}{finding.id}: {finding.detail}")
        worst = FAILED if finding.state == "failed" else worst
    return worst


async def _findings(backup: str | None, *, rebuild: bool) -> AsyncIterator[Finding]:
    good = sys.version_info >= (3, 11)
    yield Finding("python", "ok" if good else "failed", f"{platform.python_version()} at {sys.executable}")
    yield Finding("sqlite", "ok", sqlite3.sqlite_version)
    for name in PACKAGES:
        try:
            yield Finding(name, "ok", version(name))
        except PackageNotFoundError:
            yield Finding(
                name, "failed", "is not installed in this environment: make .venv, or pip install orbiter-console"
            )
    for name in KEYS:
        present = bool(os.environ.get(name))
        yield Finding(
            name, "ok" if present else "note", "is set" if present else "is not set: its models cannot be used"
        )
    unicode = speaks_unicode()
    detail = f"encoding {sys.stdout.encoding}, TERM {os.environ.get('TERM', 'not set')}"
    yield Finding("terminal", "ok" if unicode else "note", detail if unicode else f"{detail}: ASCII signs are used")
    async for finding in _workspace():
        yield finding
    if backup is not None or rebuild:
        async for finding in _care(backup, rebuild=rebuild):
            yield finding


async def _workspace() -> AsyncIterator[Finding]:
    place = workspace()
    if not place.state.exists():
        yield Finding("workspace", "note", f"{place.state} does not exist yet: nothing was run here")
        return
    writable = os.access(place.state, os.W_OK | os.X_OK)
    yield Finding(
        "workspace", "ok" if writable else "failed", f"{place.state}{'' if writable else ' cannot be written'}"
    )
    try:
        held = lock.holder(place.state)
        yield Finding("runtime", "ok", f"driven by {held}" if held is not None else "nothing drives this workspace now")
        if not place.journal.exists():
            yield Finding("journal", "note", f"{place.journal} does not exist yet")
            return
        async with await SqliteJournal.open(place.journal, readonly=True) as journal:
            runs, waiting = await journal.runs(limit=10_000), await journal.incidents()
            yield Finding("journal", "ok", f"{place.journal}: {len(runs)} runs, {len(waiting)} open incidents")
            wrong = await journal.check()
        for sentence in wrong:
            yield Finding("integrity", "failed", f"{sentence}; keep a copy of the file, and restore a backup")
        if not wrong:
            yield Finding("integrity", "ok", "every page, event, value and incident is where it should be")
    except JournalError as exc:
        yield Finding("journal", "failed", str(exc))


async def _care(backup: str | None, *, rebuild: bool) -> AsyncIterator[Finding]:
    place = workspace()
    if not place.journal.exists():
        yield Finding("backup" if backup is not None else "summaries", "failed", f"there is no journal {place.journal}")
        return
    try:
        async with await SqliteJournal.open(place.journal) as journal:
            if backup is not None:
                await journal.backup(backup)
                yield Finding("backup", "ok", f"written to {backup}")
            if rebuild:
                yield Finding("summaries", "ok", f"{await journal.rebuild_summaries()} made anew from their events")
    except JournalError as exc:
        yield Finding("backup" if backup is not None else "summaries", "failed", str(exc))
