"""The workspace: where its state is kept, its journal, its runtime."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

from console.checks.finding import CheckContext, Finding
from runtime.daemon import daemon, sockets
from runtime.record import workspace_lock
from runtime.record.journal import JournalError, NewerJournal
from runtime.record.places import journal_address, journal_exists, journal_name, open_journal
from runtime.record.state import events as ev
from runtime.service.program_version import program_version as our_program
from runtime.worker.rescue import rescue_directories
from screens.render.formatting import pluralize
from screens.render.sanitize import sanitize_line

_MIB: Final = 1024 * 1024
_LOW_SPACE_BYTES: Final = 1024 * _MIB
_NO_SPACE_BYTES: Final = 64 * _MIB
_LONG_AGO: Final = timedelta(days=30)
_RESTORE: Final = "keep a copy of the file, and restore a backup (doctor --backup FILE makes one)"
_RESTORE_DATABASE: Final = "keep a copy of the database (pg_dump), and restore a backup of it"
_NETWORK_FILE_SYSTEMS: Final = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "drvfs", "virtiofs")
)
"""File systems on which SQLite's write-ahead log cannot be relied upon: it needs memory that all its users share
(https://sqlite.org/wal.html, "All processes using a database must be on the same host computer").
"""


def check_state_directory(world: CheckContext) -> Iterator[Finding]:
    """Whether it is ours, and can be written; and what was kept of one that was taken away."""
    state = world.place.state
    yield from _rescued(state)
    if not state.exists():
        above = _existing(state)
        good = os.access(above, os.W_OK | os.X_OK)
        told = f"{state} does not exist yet: nothing was run here" + ("" if good else f"; {above} cannot be written")
        advice = "" if good else "name a directory of yours with --state DIR, or ORBITER_STATE"
        yield Finding("state", "ok" if good else "fail", told, advice)
        return
    found = state.stat()
    mode = f"mode {stat.S_IMODE(found.st_mode):04o}"
    if not stat.S_ISDIR(found.st_mode):
        yield Finding("state", "fail", f"{state} must be a directory", "move it away, or name another with --state DIR")
    elif not os.access(state, os.W_OK | os.X_OK):
        advice = "take it over (chown, chmod u+rwx), or name another with --state DIR"
        yield Finding("state", "fail", f"{state} cannot be written ({mode}, uid {found.st_uid})", advice)
    elif found.st_mode & 0o077:
        told = f"{state} is open to others ({mode}), who could read what models and tools said"
        yield Finding("state", "warn", told, f"chmod 700 {state}")
    else:
        yield Finding("state", "ok", f"{state} ({mode})")


def check_disk(world: CheckContext) -> Iterator[Finding]:
    """Room, and the kind of file system."""
    place = _existing(world.place.state)
    free = shutil.disk_usage(place).free
    kind = _file_system(place)
    told = f"{free // _MIB:,} MiB free" + (f" on {kind}" if kind else "")
    if free < _LOW_SPACE_BYTES:
        advice = "make room: orbiter-console prune --older-than 30d forgets finished runs"
        yield Finding("disk", "fail" if free < _NO_SPACE_BYTES else "warn", told, advice)
    elif kind in _NETWORK_FILE_SYSTEMS or kind.startswith("fuse."):
        advice = "keep the state on a disk of this machine (--state DIR): over a network the journal can be damaged"
        yield Finding("disk", "warn", told, advice)
    else:
        yield Finding("disk", "ok", told)


def check_runtime(world: CheckContext) -> Iterator[Finding]:
    """Whether one works here, which, and whether its sockets are ours alone. Starts none."""
    state = world.place.state
    try:
        told = daemon.status(state) if state.exists() else None
    except OSError as exc:  # it does not answer, or its socket must not be trusted: the message says what to do
        advice = "orbiter-console stop ends it, and opening the console starts another; its runs stay as they are"
        yield Finding("runtime", "fail", str(exc), advice)
        return
    held = workspace_lock.holder(state) if state.exists() else None
    if told is None and held is not None:
        yield Finding("runtime", "ok", f"driven by {held}, which serves no other console")
    elif told is None:
        yield Finding("runtime", "ok", "none works here now; opening the console, or serve, starts one")
    else:
        theirs, paths = told.program, [sockets.socket_path(at, "operator") for at in sockets.socket_directories(state)]
        where = next((f"{path} (mode {stat.S_IMODE(path.stat().st_mode):04o})" for path in paths if path.exists()), "")
        same = theirs == our_program()
        advice = "" if same else f"this is {our_program()}: orbiter-console stop, and open the console again"
        found = f"{theirs}, pid {told.pid or (held and held.pid)}, at {where}"
        yield Finding("runtime", "ok" if same else "warn", found, advice)
        if told.draining:
            runs = ", ".join(told.draining)
            what = f"another program is installed; it starts as soon as {runs} can be handed over"
            yield Finding("runtime", "warn", what, "it takes a minute at most; orbiter-console stop cuts it short")
        for blocked in told.held_up:
            what = f"run {blocked.run_id} cannot be carried on: " if blocked.run_id else ""
            what += sanitize_line(blocked.reason, limit=300)
            advice = f"it is tried again by itself ({blocked.times} times so far); the journal's check below says more"
            if not blocked.times:
                advice = "correct the code; an import gets an incident after [runtime] import_limit_s"
            yield Finding("held up", "fail", what, advice)


def check_journal(world: CheckContext) -> Iterator[Finding]:
    """Every page, event and value of it."""
    place = world.place.state
    if not journal_exists(place):
        yield Finding("journal", "ok", f"{journal_name(place)} does not exist yet")
        return
    on_postgres = journal_address(place) is not None
    advice = _RESTORE_DATABASE if on_postgres else _RESTORE
    try:
        found, wrong, lost, reread, stuck = asyncio.run(_read(place))
    except NewerJournal as exc:
        yield Finding("journal", "fail", str(exc), "the file is not damaged: update the program, or name another")
        return
    except JournalError as exc:
        # What a database refuses says itself what to do.
        instead = "" if on_postgres else _instead(exc, shutil.disk_usage(place).free) or advice
        yield Finding("journal", "fail", str(exc), instead)
        return
    yield Finding("journal", "ok", found)
    if stuck:
        runs = f"{len(stuck)} {'run waits' if len(stuck) == 1 else 'runs wait'} for nothing: {', '.join(stuck[:20])}"
        again = "a runtime drives them again by itself: open the console, or orbiter-console serve"
        yield Finding("lost runs", "warn", runs, again)
    for sentence in lost:
        look = "runs are frozen until an operator has looked: orbiter-console show RUN, then thaw RUN, or thaw --all"
        yield Finding("journal", "warn", sentence, look)
    for sentence in reread:
        yield Finding("permissions", "warn", sentence, "grant it again, or change the rule, if it must cover more")
    for sentence in wrong:
        yield Finding("integrity", "fail", sentence, advice)
    if not wrong:
        yield Finding("integrity", "ok", "every page, event, value and incident is where it should be")


def _rescued(state: Path) -> Iterator[Finding]:
    """What runtimes kept whose state directory was taken away while they worked."""
    for kept in rescue_directories(state):
        told = f"{kept} holds what a runtime had recorded whose state directory was removed, moved or replaced"
        advice = f"orbiter-console --state {kept} runs shows it; move it away or remove it when it is not needed"
        yield Finding("rescued", "warn", told, advice)


def _instead(exc: JournalError, free: int) -> str:
    """What to do where the file is not to blame that it cannot be read; empty where it may be."""
    if any(word in str(exc) for word in ("readonly", "unable to open")):
        return "the file is not damaged: to read it, this user must be able to write in its directory"
    if free < _MIB and "no space" in str(exc):
        return "make room first: reading it needs a few KiB beside it; nothing says that it is damaged"
    return ""


async def _read(place: Path) -> tuple[str, list[str], list[str], list[str], list[str]]:
    """What is in the journal, in words; what is wrong with it; what it has lost; which patterns are read in another way
    now; ids of runs that wait for nothing.
    """
    async with await open_journal(place, readonly=True) as found:
        runs, waiting = await found.runs(limit=10_000), await found.incidents()
        last = await found.latest(ev.WORKSPACE_RUN_ID, limit=3, marks=('"type":"journal.events_lost"',))
        found_out = [each.event for each in last if isinstance(each.event, ev.EventsLost)]
        lost = [
            f"on {each.ts.astimezone():%Y-%m-%d %H:%M} its newest events were found to be missing: {each.detail}"
            for each in found_out
            if ev.utc_now() - each.ts < _LONG_AGO
        ]
        if missing := await found.look_for_loss():
            lost.append(f"its newest events are missing: {missing}")
        last = await found.latest(ev.WORKSPACE_RUN_ID, limit=50, marks=('"type":"permission.pattern_reread"',))
        reread = [
            f"{each.event.what} became stricter. Before: {each.event.before}. Now: {each.event.now}"
            for each in last
            if isinstance(each.event, ev.PatternReread) and ev.utc_now() - each.event.ts < _LONG_AGO
        ]
        told = f"{await found.describe()}, {pluralize(len(runs), 'run')}, {pluralize(len(waiting), 'open incident')}"
        return told, await found.check(), lost, reread, await found.stranded()


def _existing(path: Path) -> Path:
    """The path, or the nearest directory above it that is there."""
    return next(found for found in (path, *path.parents) if found.exists())


def _file_system(path: Path, table: Path = Path("/proc/self/mountinfo")) -> str:
    """The type of the file system that a path lies on, as Linux tells it; empty elsewhere."""
    if not table.exists():
        return ""
    found, kind = "", ""
    for line in table.read_text("utf-8", "replace").splitlines():
        mount, _, described = line.partition(" - ")  # proc_pid_mountinfo(5)
        at = mount.split()[4].encode().decode("unicode_escape")
        if len(at) >= len(found) and path.resolve().is_relative_to(at):
            found, kind = at, described.split()[0]
    return kind
